use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcm_migration_core::decide::Patch;
use mcm_migration_core::review;
use serde::{Serialize, Serializer};

/// The `AdmissionReview` that goes back. Every request is let in; a patch and its type stand together or not at all.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<Base64OfJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: BTreeMap<&'static str, String>,
}

impl<'a> Answer<'a> {
    /// Lets the request `uid` in, changed by `patch` unless that is empty.
    #[must_use]
    pub fn allow(
        uid: &'a str,
        patch: &'a Patch,
        warnings: Vec<String>,
        audit_annotations: BTreeMap<&'static str, String>,
    ) -> Self {
        let patch = (!patch.is_empty()).then_some(patch);
        Self {
            api_version: review::API_VERSION,
            kind: review::KIND,
            response: Response {
                uid,
                allowed: true,
                patch_type: patch.map(|_| "JSONPatch"),
                patch: patch.map(Base64OfJson),
                warnings,
                audit_annotations,
            },
        }
    }
}

/// The contract's form of a `[]byte`: standard base64 in a string, never a list of numbers.
#[derive(Debug)]
struct Base64OfJson<'a>(&'a Patch);

impl Serialize for Base64OfJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = serde_json::to_vec(self.0).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&STANDARD.encode(json))
    }
}
