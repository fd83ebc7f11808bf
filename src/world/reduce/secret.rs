use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcm_migration_core::domain::{ProjectId, keys};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::metadata::{Text, or_default};
use super::{Fact, Metadata, View};

/// `Secret` of `v1`. Of its content only a `project-id` that is a plain UUID is ever kept; everything else is skipped while
/// it is read, so it reaches neither the caches nor an error message.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Secret {
    metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    data: Data,
    #[serde(default, deserialize_with = "or_default")]
    string_data: StringData,
}

/// `data`: values in base64.
#[derive(Default)]
struct Data(Option<ProjectId>);

/// `stringData`: plain values, as people write them into files. An API server never shows it.
#[derive(Default)]
struct StringData {
    /// Whether there is a `project-id`, which then counts instead of the one in `data`.
    present: bool,
    project: Option<ProjectId>,
}

impl View for Secret {
    fn reduce(self) -> (Metadata, Option<Fact>) {
        let ours = &*self.metadata.name == keys::CLOUDPROVIDER_SECRET;
        let project = if self.string_data.present { self.string_data.project } else { self.data.0 };
        (self.metadata, ours.then_some(Fact::Project(project)))
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        map.deserialize_any(ProjectIdOf).map(|value| {
            // The provider takes the value raw and untrimmed, and so is it judged.
            let bytes = value.flatten().and_then(|text| STANDARD.decode(text.as_bytes()).ok());
            Self(bytes.and_then(|bytes| ProjectId::parse(std::str::from_utf8(&bytes).ok()?).ok()))
        })
    }
}

impl<'de> Deserialize<'de> for StringData {
    fn deserialize<D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        map.deserialize_any(ProjectIdOf).map(|value| Self {
            present: value.is_some(),
            project: value.flatten().and_then(|text| ProjectId::parse(&text).ok()),
        })
    }
}

/// Finds the value of `project-id`: none when there is none, `Some(None)` when it is no text. Takes every type and fails on
/// none, since a message about an unexpected value would quote it.
struct ProjectIdOf;

impl<'de> Visitor<'de> for ProjectIdOf {
    type Value = Option<Option<String>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the content of a Secret")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(Text(key)) = map.next_key()? {
            if key == keys::PROJECT_ID {
                found = Some(map.next_value::<MaybeText>()?.0);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// A text, or anything else.
struct MaybeText(Option<String>);

impl<'de> Deserialize<'de> for MaybeText {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Other(IgnoredAny),
        }
        Ok(Self(match Either::deserialize(value)? {
            Either::Text(text) => Some(text),
            Either::Other(_) => None,
        }))
    }
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use super::super::ObjectOf;
    use super::super::reduced::{fact, seen};
    use super::*;
    use crate::world::Resource;
    use serde::de::DeserializeSeed;
    use serde_json::{Value, json};

    const PROJECT: &str = "0b8b1a0e-1111-4222-8333-444455556666";

    fn project(data: &Value, string_data: &Value) -> Option<ProjectId> {
        let object = json!({"metadata": {"name": "cloudprovider"}, "data": data, "stringData": string_data});
        match fact(Resource::Secrets, &object) {
            Some(Fact::Project(project)) => project,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_project_is_the_raw_untrimmed_project_id() {
        let right = ProjectId::parse(PROJECT).ok();
        let base64 = |text: &str| json!({"project-id": STANDARD.encode(text)});
        assert_eq!(project(&base64(PROJECT), &json!(null)), right);
        for wrong in [&format!("{PROJECT}\n"), &PROJECT.to_uppercase(), "", "x"] {
            assert_eq!(project(&base64(wrong), &json!(null)), None, "{wrong:?}");
        }
        for wrong in [
            json!({"project-id": PROJECT}),
            json!({"project-id": null}),
            json!({"project-id": 7}),
            json!({}),
            json!("x"),
        ] {
            assert_eq!(project(&wrong, &json!(null)), None, "{wrong}");
        }
    }

    #[test]
    fn string_data_of_a_file_counts_before_data() {
        let other = json!({"project-id": STANDARD.encode("99999999-1111-4222-8333-444455556666")});
        assert_eq!(project(&other, &json!({"project-id": PROJECT})), ProjectId::parse(PROJECT).ok());
        assert_eq!(project(&other, &json!({"project-id": "x"})), None);
        assert_eq!(project(&other, &json!({"a": "b"})), ProjectId::parse("99999999-1111-4222-8333-444455556666").ok());
    }

    #[test]
    fn nothing_else_of_the_content_is_kept_or_quoted_in_an_error() {
        let hidden = "hush-hush";
        let object = json!({
            "metadata": {"name": "cloudprovider", "namespace": "n",
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": hidden}},
            "data": {"project-id": STANDARD.encode(PROJECT), "serviceaccount.json": STANDARD.encode(hidden)},
            "stringData": {"serviceaccount.json": hidden},
        });
        let kept = format!("{:?}", seen(Resource::Secrets, &object));
        assert!(kept.contains(PROJECT) && !kept.contains(hidden) && !kept.contains(&STANDARD.encode(hidden)), "{kept}");

        for text in [
            r#"{"metadata": {"name": "cloudprovider"}, "data": "hush-hush"}"#,
            r#"{"metadata": {"name": "cloudprovider"}, "data": {"project-id": {"hush-hush": "hush-hush"}}}"#,
            r#"{"metadata": {"name": "cloudprovider"}, "stringData": ["hush-hush"]}"#,
            r#"{"metadata": {"name": "cloudprovider"}, "data": {"serviceaccount.json": "hush-hush" "#,
        ] {
            let read = ObjectOf(Resource::Secrets).deserialize(&mut serde_json::Deserializer::from_str(text));
            assert!(!format!("{read:?}").contains(hidden), "{read:?}");
        }
    }

    #[test]
    fn a_secret_of_another_name_does_not_decide() {
        let object = json!({"metadata": {"name": "other"}, "data": {"project-id": STANDARD.encode(PROJECT)}});
        assert_eq!(fact(Resource::Secrets, &object), None);
    }
}
