//! What may stand in a label.

use std::sync::LazyLock;

use regex::Regex;

/// Which keys are accepted. Whatever the mode, a value is at most 63 characters long, and a key neither begins with `stackit-`
/// nor has `stackit.cloud`, or a subdomain of it, as its domain prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelMode {
    /// What the vendor's own clients rely on: the alphabet of [`LabelMode::Strict`] and `/`, at most 63 characters in all
    /// (`preview/routingtables` in the specification, `kubernetes.io/machine` in the machine-controller-manager provider).
    #[default]
    Observed,
    /// What the specification behind the Python client `stackit-iaas` 1.7.0 says: an optional domain prefix of up to 250
    /// characters and `/` in front of a name of up to 63.
    Prefixed,
    /// What the specification said before: no `/`, at most 63 characters.
    Strict,
}

const KEY: &str = "^(?=.{1,63}$)([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";
const VALUE: &str = "^(?=.{0,63}$)(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])*$";
const LONGEST: usize = 63;
const LONGEST_PREFIX: usize = 250;
const RESERVED: &str = "stackit-";
const RESERVED_DOMAIN: &str = "stackit.cloud";

// The crate has no look-ahead, so length and alphabet are two checks.
static PLAIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$").ok());
static WITH_SLASH: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$").ok());
static DOMAIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$").ok());

fn fits(pattern: &LazyLock<Option<Regex>>, longest: usize, text: &str) -> bool {
    text.len() <= longest && pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

impl LabelMode {
    /// The message of the 400 if the key is not acceptable. Its wording is that of a refusal by the live service
    /// (Terraform provider, issue 646).
    pub(crate) fn check_key(self, key: &str) -> Result<(), String> {
        let (domain, name) = match key.split_once('/') {
            Some((domain, name)) => (Some(domain), name),
            None => (None, key),
        };
        let good = match self {
            Self::Observed => fits(&WITH_SLASH, LONGEST, key),
            Self::Prefixed => {
                !name.is_empty()
                    && fits(&PLAIN, LONGEST, name)
                    && domain.is_none_or(|domain| fits(&DOMAIN, LONGEST_PREFIX, domain))
            }
            Self::Strict => !key.is_empty() && fits(&PLAIN, LONGEST, key),
        };
        if !good {
            return Err(format!("does not match regex {KEY}: key {key}"));
        }
        let reserved = domain.is_some_and(|domain| {
            domain.strip_suffix(RESERVED_DOMAIN).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        });
        if reserved || key.starts_with(RESERVED) {
            return Err(format!("label key is reserved for system use: key {key}"));
        }
        Ok(())
    }

    /// The message of the 400 if the value is not acceptable.
    pub(crate) fn check_value(value: &str) -> Result<(), String> {
        if fits(&PLAIN, LONGEST, value) { Ok(()) } else { Err(format!("does not match regex {VALUE}: value {value}")) }
    }
}
