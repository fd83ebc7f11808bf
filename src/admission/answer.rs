use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcm_migration_core::decide::Patch;
use mcm_migration_core::review;
use serde::{Serialize, Serializer};

/// The HTTP status of a refusal, as the one who wrote sees it.
const FORBIDDEN: u16 = 403;

/// The `AdmissionReview` that goes back. A patch and its type stand together or not at all; a refusal has a code and a message.
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
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<Base64OfJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: BTreeMap<&'static str, String>,
}

/// `Status` of `meta.k8s.io/v1`.
#[derive(Debug, Serialize)]
struct Status {
    #[serde(rename = "status")]
    outcome: &'static str,
    reason: &'static str,
    code: u16,
    message: String,
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
        Self::of(Response {
            uid,
            allowed: true,
            status: None,
            patch_type: patch.map(|_| "JSONPatch"),
            patch: patch.map(Base64OfJson),
            warnings,
            audit_annotations,
        })
    }

    /// Lets the request `uid` in as it is, or refuses it where there is a message that says why.
    #[must_use]
    pub fn judge(
        uid: &'a str,
        refusal: Option<String>,
        warnings: Vec<String>,
        audit_annotations: BTreeMap<&'static str, String>,
    ) -> Self {
        Self::of(Response {
            uid,
            allowed: refusal.is_none(),
            status: refusal.map(|message| Status { outcome: "Failure", reason: "Forbidden", code: FORBIDDEN, message }),
            patch_type: None,
            patch: None,
            warnings,
            audit_annotations,
        })
    }

    fn of(response: Response<'a>) -> Self {
        Self { api_version: review::API_VERSION, kind: review::KIND, response }
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
