//! What is taken for a provider ID is written again byte for byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcm_migration_core::domain::{LegacyProviderId, StackitProviderId};

fuzz_target!(|text: &str| {
    if let Some(id) = LegacyProviderId::parse(text) {
        assert_eq!(id.to_string(), text);
    }
    if let Ok(id) = StackitProviderId::parse(text) {
        assert_eq!(id.to_string(), text);
    }
});
