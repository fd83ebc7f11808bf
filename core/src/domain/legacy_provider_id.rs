use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use super::ServerId;

/// The single definition of the legacy format. The OpenStack provider writes `openstack:///<region>/<serverID>`
/// and never anything else (machine-controller-manager-provider-openstack `pkg/driver/executor/utils.go`).
static FORMAT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"\Aopenstack:///(?P<region>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)/",
        r"(?P<server>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\z",
    ))
    .ok()
});

/// A Machine's provider ID as the OpenStack provider wrote it: `openstack:///<region>/<server>`.
///
/// The region is at most 63 letters, digits, `.`, `_` and `-` (the ID is kept in an annotation, which must not grow without bound); the server is a plain lower-case UUID. Node objects use
/// other strings (`openstack:///<id>`, `openstack://<region>/<id>`); they are not this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyProviderId<'a> {
    region: &'a str,
    server: ServerId,
}

impl<'a> LegacyProviderId<'a> {
    /// Takes exactly the legacy format, nothing before or after it.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let parts = FORMAT.as_ref()?.captures(text)?;
        Some(Self {
            region: parts.name("region")?.as_str(),
            server: ServerId::parse(parts.name("server")?.as_str()).ok()?,
        })
    }

    /// The region as OpenStack calls it, for example `RegionOne`.
    #[must_use]
    pub fn region(&self) -> &'a str {
        self.region
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> ServerId {
        self.server
    }
}

impl fmt::Display for LegacyProviderId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "openstack:///{}/{}", self.region, self.server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "5d3e0fd2-1f0e-4b1c-9c52-8c1d6a1b2c3d";

    #[test]
    fn the_pattern_compiles() {
        assert!(FORMAT.is_some());
    }

    #[test]
    fn takes_the_legacy_format() {
        let text = format!("openstack:///RegionOne/{SERVER}");
        let id = LegacyProviderId::parse(&text).map(|id| (id.region().to_owned(), id.server().to_string()));
        assert_eq!(id, Some(("RegionOne".to_owned(), SERVER.to_owned())));
    }

    #[test]
    fn refuses_everything_near_it() {
        for text in [
            format!("openstack:///{SERVER}"),
            format!("openstack://RegionOne/{SERVER}"),
            format!("openstack:////{SERVER}"),
            format!("openstack:///a/b/{SERVER}"),
            format!(" openstack:///RegionOne/{SERVER}"),
            format!("openstack:///RegionOne/{SERVER}\n"),
            format!("openstack:///Region One/{SERVER}"),
            format!("openstack:///RegionOne/{}", SERVER.to_uppercase()),
            format!("openstack:///RegionOne/{{{SERVER}}}"),
            "openstack:///RegionOne/".to_owned(),
            format!("OpenStack:///RegionOne/{SERVER}"),
            format!("openstack:///../{SERVER}"),
            format!("openstack:///{}/{SERVER}", "r".repeat(64)),
        ] {
            assert_eq!(LegacyProviderId::parse(&text), None, "{text:?}");
        }
    }
}
