//! Labels: their three forms, and how a PATCH changes them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::label_mode::LabelMode;

/// How many labels a resource can have, according to the specification behind the Python client `stackit-iaas` 1.7.0.
const MOST: usize = 64;

/// The labels of a server, network interface or volume. The API answers with any of the three forms, and they mean the same
/// unless the map has entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Labels {
    /// The member is missing.
    #[default]
    Absent,
    /// The member is `null`.
    Null,
    /// A map; its values are strings, but the specification does not say so.
    Map(BTreeMap<String, Value>),
}

impl Labels {
    /// The value of a label, whatever its type.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.map().and_then(|map| map.get(key))
    }

    /// The value of a label if it is a string.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    /// The entries, if there is a map.
    #[must_use]
    pub fn map(&self) -> Option<&BTreeMap<String, Value>> {
        match self {
            Self::Map(map) => Some(map),
            Self::Absent | Self::Null => None,
        }
    }

    /// The entries, in a map that is made if there is none.
    pub fn map_mut(&mut self) -> &mut BTreeMap<String, Value> {
        if !matches!(self, Self::Map(_)) {
            *self = Self::Map(BTreeMap::new());
        }
        match self {
            Self::Map(map) => map,
            Self::Absent | Self::Null => unreachable!("made above"),
        }
    }

    /// Sets a label.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        self.map_mut().insert(key.into(), value.into());
    }

    /// Removes a label, and says whether it was there.
    pub fn remove(&mut self, key: &str) -> bool {
        match self {
            Self::Map(map) => map.remove(key).is_some(),
            Self::Absent | Self::Null => false,
        }
    }

    pub(crate) fn write_to(&self, object: &mut Map<String, Value>) {
        match self {
            Self::Absent => {}
            Self::Null => {
                object.insert("labels".to_owned(), Value::Null);
            }
            Self::Map(map) => {
                let map = map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                object.insert("labels".to_owned(), Value::Object(map));
            }
        }
    }

    /// What a PATCH does: a key with `null` goes away, the others are set, and keys that are not named stay. The first key that
    /// is not acceptable refuses the whole.
    ///
    /// A client must not send `null` for the map itself, as nothing says what it means; here it is refused.
    pub(crate) fn patch(&mut self, mode: LabelMode, change: &Value) -> Result<(), String> {
        let Value::Object(change) = change else {
            return Err(schema_error("/labels", "value must be an object"));
        };
        for (key, value) in change {
            mode.check_key(key)?;
            match value {
                Value::Null => {}
                Value::String(value) => LabelMode::check_value(value)?,
                _ => return Err(schema_error(&format!("/labels/{key}"), "value must be a string")),
            }
        }
        let mut next = self.clone();
        for (key, value) in change {
            if value.is_null() {
                next.remove(key);
            } else {
                next.set(key.clone(), value.clone());
            }
        }
        let count = next.map().map_or(0, BTreeMap::len);
        if count > MOST && count > self.map().map_or(0, BTreeMap::len) {
            return Err(format!("a resource can have a maximum of {MOST} labels"));
        }
        *self = next;
        Ok(())
    }
}

impl<K: Into<String>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Labels {
    fn from(entries: [(K, V); N]) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl From<BTreeMap<String, Value>> for Labels {
    fn from(map: BTreeMap<String, Value>) -> Self {
        Self::Map(map)
    }
}

/// The wording of the request validator in the examples of the specification.
pub(crate) fn schema_error(pointer: &str, problem: &str) -> String {
    format!("request body has an error: doesn't match schema: Error at \"{pointer}\": {problem}")
}
