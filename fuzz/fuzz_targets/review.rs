//! No body makes the parser or a decision panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcm_migration_core::decide::{Known, NamespaceFacts, decide_machine, decide_worker};
use mcm_migration_core::review;

fuzz_target!(|body: &[u8]| {
    let facts = NamespaceFacts::default();
    if let Ok(request) = review::parse(body) {
        let machine = decide_machine(request.operation, &request.object, Known::Fresh(&facts));
        let worker = decide_worker(request.operation, &request.object, Known::Fresh(&facts));
        // Nothing is known of the namespace, so every gate is closed.
        assert!(machine.patch.is_empty() && worker.patch.is_empty());
    }
});
