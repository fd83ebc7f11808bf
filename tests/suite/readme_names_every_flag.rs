//! The flags table of the README is the command line's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

type Flags = BTreeSet<(String, String)>;

/// Command and flag of each row.
fn documented() -> Flags {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let rows = readme.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let flag = cells.get(2)?.strip_prefix("`--")?.strip_suffix('`')?.to_owned();
        Some(cells[1].split(", ").map(move |command| (command.to_owned(), flag.clone())).collect::<Vec<_>>())
    });
    rows.flatten().collect()
}

/// Command and flag as `--help` has them.
fn known() -> Flags {
    let mut known = Flags::new();
    for command in ["serve", "review", "arm", "rollback", "sweep", "export", "restore", "certs"] {
        let help =
            Command::new(env!("CARGO_BIN_EXE_mcm-migration-webhook")).args([command, "--help"]).output().unwrap();
        for line in String::from_utf8(help.stdout).unwrap().lines() {
            let option = line.trim_start().trim_start_matches("-h, ").trim_start_matches("-V, ");
            if let Some(flag) = option.strip_prefix("--").filter(|_| line.starts_with("  ")) {
                let flag: String = flag.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
                known.insert((command.to_owned(), flag));
            }
        }
    }
    known.retain(|(_, flag)| flag != "help" && flag != "version");
    known
}

#[test]
fn the_table_and_the_command_line_name_the_same_flags() {
    let (documented, known) = (documented(), known());
    assert!(known.len() > 20, "{known:?}");
    assert_eq!(documented, known);
}
