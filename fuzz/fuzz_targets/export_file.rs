#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| mcm_migration_fuzz_properties::export_file(text));
