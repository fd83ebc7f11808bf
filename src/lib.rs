//! The webhook.
