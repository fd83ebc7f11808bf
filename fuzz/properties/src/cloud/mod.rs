//! The parsers of the STACKIT client, included as they stand. They are private to the product and stay so.
#![allow(dead_code, unreachable_pub, reason = "the product uses more of them than the properties do")]

#[path = "../../../../src/cloud/key.rs"]
pub(crate) mod key;
#[path = "../../../../src/cloud/list.rs"]
pub(crate) mod list;
#[path = "../../../../src/cloud/message.rs"]
pub(crate) mod message;
#[path = "../../../../src/cloud/rsa_key.rs"]
pub(crate) mod rsa_key;
#[path = "../../../../src/cloud/wire.rs"]
pub(crate) mod wire;

pub(crate) mod error_answer;
pub(crate) mod key_file;
pub(crate) mod list_answer;
pub(crate) mod token;
pub(crate) mod token_answer;
