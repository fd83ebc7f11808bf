//! The Secret `cloudprovider`: nothing of it reaches a log or an error.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use mcm_migration_core::domain::{ProjectId, keys};
use serde::Deserialize;

use super::read::{describe, path};
use super::request::{get, parse};
use super::{ClusterError, Credentials};
use crate::world::Resource;

/// A Secret, of which only these two values are read; both are base64.
#[derive(Deserialize)]
struct Secret {
    #[serde(default)]
    data: Option<Data>,
}

#[derive(Default, Deserialize)]
struct Data {
    #[serde(default, rename = "project-id")]
    project: Option<String>,
    #[serde(default, rename = "serviceaccount.json")]
    key: Option<String>,
}

/// Reads the Secret `cloudprovider` of a namespace; none when it does not exist.
pub(crate) async fn read(client: &Client, namespace: &str) -> Result<Option<Credentials>, ClusterError> {
    let (resource, name) = (Resource::Secrets, keys::CLOUDPROVIDER_SECRET);
    let what = describe(resource, namespace, name);
    let Some(text) = get(client, &what, path(resource, namespace), name).await? else { return Ok(None) };
    credentials(&what, &text).map(Some)
}

fn credentials(what: &str, text: &str) -> Result<Credentials, ClusterError> {
    let data = parse::<Secret>(what, text)?.data.unwrap_or_default();
    // What is no text is as good as an empty one: present, and of no use.
    let plain = |value: String| String::from_utf8(STANDARD.decode(value).unwrap_or_default()).unwrap_or_default();
    Ok(Credentials {
        // The provider takes the value raw and untrimmed, and so is it judged.
        project: data.project.map(plain).and_then(|project| ProjectId::parse(&project).ok()),
        key: data.key.map(|key| plain(key).into()),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;
    use serde_json::{Value, json};

    const PROJECT: &str = "0b8b1a0e-1111-4222-8333-444455556666";

    fn of(data: &Value) -> Credentials {
        credentials("Secret n/cloudprovider", &json!({"data": data}).to_string()).unwrap()
    }

    #[test]
    fn project_and_key_are_what_the_secret_holds_raw() {
        let found =
            of(&json!({"project-id": STANDARD.encode(PROJECT), "serviceaccount.json": STANDARD.encode(" {} ")}));
        assert_eq!(found.project, ProjectId::parse(PROJECT).ok());
        assert_eq!(found.key.unwrap().expose_secret(), " {} ");
        for wrong in [format!("{PROJECT}\n"), PROJECT.to_uppercase(), String::new()] {
            assert_eq!(of(&json!({"project-id": STANDARD.encode(&wrong)})).project, None, "{wrong:?}");
        }
    }

    #[test]
    fn what_is_absent_is_none_and_what_is_no_text_is_no_key_either() {
        for data in [json!(null), json!({}), json!({"project-id": null, "serviceaccount.json": null})] {
            let found = of(&data);
            assert!(found.project.is_none() && found.key.is_none(), "{data}");
        }
        let found = of(&json!({"serviceaccount.json": STANDARD.encode([0xff, 0xfe])}));
        assert_eq!(found.key.unwrap().expose_secret(), "");
    }

    #[test]
    fn a_secret_is_never_quoted() {
        for text in [
            r#"{"data": "hush-hush"}"#,
            r#"{"data": {"project-id": {"hush-hush": 7}}}"#,
            r#"{"data": {"serviceaccount.json": "hush-hush"#,
            r#"{"data": {"serviceaccount.json": ["hush-hush"]}}"#,
        ] {
            let error = credentials("Secret n/cloudprovider", text).unwrap_err();
            let told = format!("{error} {error:?}");
            assert!(told.contains("n/cloudprovider") && !told.contains("hush"), "{told}");
        }
        let found = of(&json!({"serviceaccount.json": STANDARD.encode("hush-hush")}));
        assert!(!format!("{found:?}").contains("hush"), "{found:?}");
    }
}
