//! Labels: their three forms, what may stand in them, how a PATCH changes them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

/// Which keys are accepted. Keys and values are at most 63 characters long either way, and a key never begins with `stackit-`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelMode {
    /// What the live service is seen to accept: the documented alphabet and `/` in keys. The vendor's own clients send such keys
    /// (`preview/routingtables` in the specification, `kubernetes.io/machine` in the machine-controller-manager provider).
    #[default]
    Observed,
    /// What the specification says: no `/`.
    Strict,
}

const KEY: &str = "^(?=.{1,63}$)([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";
const VALUE: &str = "^(?=.{0,63}$)(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])*$";
const LONGEST: usize = 63;
const RESERVED: &str = "stackit-";

// The crate has no look-ahead, so length and alphabet are two checks.
static DOCUMENTED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$").ok());
static WITH_SLASH: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("^([A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)?$").ok());

fn matches(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    text.len() <= LONGEST && pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

impl LabelMode {
    /// The message of the 400 if the key is not acceptable.
    pub(crate) fn check_key(self, key: &str) -> Result<(), String> {
        let pattern = match self {
            Self::Observed => &WITH_SLASH,
            Self::Strict => &DOCUMENTED,
        };
        if key.is_empty() || !matches(pattern, key) {
            return Err(format!("does not match regex {KEY}: key {key}"));
        }
        if key.starts_with(RESERVED) {
            return Err(format!("label prefix {RESERVED} is reserved: key {key}"));
        }
        Ok(())
    }

    /// The message of the 400 if the value is not acceptable.
    pub(crate) fn check_value(value: &str) -> Result<(), String> {
        if matches(&DOCUMENTED, value) { Ok(()) } else { Err(format!("does not match regex {VALUE}: value {value}")) }
    }
}

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
        for (key, value) in change {
            if value.is_null() {
                self.remove(key);
            } else {
                self.set(key.clone(), value.clone());
            }
        }
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
