#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| mcm_migration_fuzz_properties::token_answer(text));
