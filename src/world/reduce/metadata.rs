use std::borrow::Cow;
use std::fmt;

use mcm_migration_core::domain::{is_true, keys};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// The keys of labels and annotations that decide; all others are skipped.
const KEPT: [&str; 9] = [
    keys::GUARD,
    keys::MCM_POD_ROLE.0,
    keys::MIGRATED_MACHINE,
    keys::MACHINE_SHOULD_BE_MIGRATED,
    keys::SETTLED,
    keys::EXCEPTION,
    keys::PAUSED_BY_ROLLBACK,
    keys::WORKER_MIGRATED,
    keys::GARDENER_OPERATION,
];

/// `metadata`, of which the name must be there.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    #[serde(deserialize_with = "not_empty")]
    pub(super) name: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) namespace: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) uid: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) resource_version: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) labels: Kept,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) annotations: Kept,
    #[serde(default)]
    deletion_timestamp: Option<IgnoredAny>,
}

impl Metadata {
    /// Whether the object is being deleted.
    pub(super) fn terminating(&self) -> bool {
        self.deletion_timestamp.is_some()
    }
}

/// The entries of a string map that decide.
#[derive(Debug, Default)]
pub(super) struct Kept(Vec<(&'static str, Box<str>)>);

impl Kept {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(kept, _)| *kept == key).map(|(_, value)| &**value)
    }

    /// Whether the key is there with a value that counts as true.
    pub(super) fn is_set(&self, key: &str) -> bool {
        self.get(key).is_some_and(is_true)
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Kept;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kept, A::Error> {
                let mut kept = Vec::new();
                while let Some(Text(key)) = map.next_key()? {
                    match KEPT.iter().find(|known| **known == key) {
                        // A null value is the empty string, as in Go's decoder.
                        Some(known) => kept.push((*known, map.next_value::<Option<Box<str>>>()?.unwrap_or_default())),
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(Kept(kept))
            }
        }
        map.deserialize_map(V)
    }
}

/// A string that is borrowed where the text allows it; `Cow` by itself never is.
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        text.deserialize_str(V)
    }
}

/// Takes null for the default.
pub(super) fn or_default<'de, T, D>(value: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(value)?.unwrap_or_default())
}

fn not_empty<'de, D: Deserializer<'de>>(value: D) -> Result<Box<str>, D::Error> {
    let text = Box::<str>::deserialize(value)?;
    if text.is_empty() { Err(D::Error::custom("metadata.name is empty")) } else { Ok(text) }
}
