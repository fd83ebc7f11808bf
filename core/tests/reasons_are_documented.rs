//! `docs/reasons.md` holds the table of all reasons. `UPDATE_DOCS=1 cargo test -p mcm-migration-core --test reasons_are_documented`
//! writes it again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::path::Path;

use mcm_migration_core::domain::Reason;

const HEAD: &str = "# Reasons

Every decision names one of these. In logs (`reason`), metrics (label `reason`) and audit annotations (`reason` behind the name of
the webhook: `machine.`, `worker.` or `machineclass.mcm-migration.stackit.cloud/`) it has the name of the first column, in conditions
the one of the second. The *subject* beside it names the object that made it so. [audit.md](audit.md) has all that is recorded.

Some say what was done: `rewritten`, `worker-marked`, `settled`, `retired`, `armed`, `guarded`, `labelled`, `complete`,
`mark-taken-back`, `rolled-back`. Some say that nothing had to be done; their last column is *Nothing.* All others say why something was
not done: while such a reason holds, what it speaks of stays as it is. An un-rewritten Machine that is Running is harmless; its
deletion, its roll-out and its hibernation wait.

| reason | in conditions | what it means | what to do |
|---|---|---|---|
";

#[test]
fn the_table_of_reasons_is_the_enum() {
    let mut wanted = HEAD.to_owned();
    for reason in Reason::ALL {
        writeln!(
            wanted,
            "| `{}` | `{}` | {} | {} |",
            reason.name(),
            reason.camel_case(),
            reason.meaning(),
            reason.what_to_do()
        )
        .unwrap();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reasons.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&file).expect("docs/reasons.md is readable");
    assert!(found == wanted, "docs/reasons.md differs from the enum Reason; write it again with UPDATE_DOCS=1");
}
