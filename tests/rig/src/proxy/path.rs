//! Which resource a request of the Kubernetes API is about.

use http::Uri;

/// The plural of the resource that a request watches; `None` if it is no watch.
pub(super) fn watched(uri: &Uri) -> Option<&str> {
    let query = uri.query()?;
    let watch = query.split('&').any(|pair| matches!(pair, "watch" | "watch=1" | "watch=true"));
    if watch { plural(uri.path()) } else { None }
}

/// The plural in a path such as `/api/v1/pods` or `/apis/<group>/<version>/namespaces/<namespace>/<plural>`.
fn plural(path: &str) -> Option<&str> {
    let mut parts = path.trim_matches('/').split('/');
    match parts.next()? {
        "api" => parts.next()?,
        "apis" => parts.nth(1)?,
        _ => return None,
    };
    let rest: Vec<&str> = parts.collect();
    match rest[..] {
        ["namespaces", _, plural, ..] | [plural, ..] => Some(plural),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::watched;

    #[test]
    fn the_plural_of_a_watch_is_found() {
        for (uri, expected) in [
            ("/api/v1/pods?watch=true&labelSelector=a", Some("pods")),
            ("/api/v1/pods?watch=1", Some("pods")),
            ("/api/v1/pods?limit=500", None),
            ("/api/v1/pods", None),
            ("/api/v1/namespaces?allowWatchBookmarks=true&watch=true", Some("namespaces")),
            ("/api/v1/namespaces/default/secrets?watch=true&fieldSelector=metadata.name%3Dx", Some("secrets")),
            ("/apis/machine.sapcloud.io/v1alpha1/machines?&watch=true", Some("machines")),
            ("/apis/machine.sapcloud.io/v1alpha1/namespaces/a/machines?watch=true", Some("machines")),
            ("/version?watch=true", None),
        ] {
            assert_eq!(watched(&http::Uri::from_static(uri)), expected, "{uri}");
        }
    }
}
