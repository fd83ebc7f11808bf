//! Tokens: an assertion is signed with the key and given for an access token, which is kept for as long as it lives.

mod answer;
mod assertion;
mod cache;
mod expiry;

pub(super) use answer::{TokenAnswer, read};
pub(super) use assertion::sign;
pub(super) use cache::{AccessToken, TokenCache};
#[cfg(test)]
pub(super) use expiry::Ends;
