#[path = "../../../../src/cloud/token/answer.rs"]
pub(crate) mod answer;
#[path = "../../../../src/cloud/token/expiry.rs"]
pub(crate) mod expiry;
