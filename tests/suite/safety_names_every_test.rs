//! Every test that docs/safety.md names exists, so that no case of its tables is shown by a test that somebody renamed or took away.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

/// The `file::function` pairs between back quotes.
fn named(text: &str) -> Vec<(&str, &str)> {
    text.split('`').filter_map(|word| word.split_once(".rs::")).collect()
}

#[test]
fn each_named_test_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/safety.md")).unwrap();
    let named = named(&text);
    assert!(named.len() > 50, "the tables of docs/safety.md name {} tests", named.len());
    let missing: Vec<String> = named
        .iter()
        .filter(|(file, function)| {
            let source = std::fs::read_to_string(root.join(format!("{file}.rs"))).unwrap_or_default();
            !is_a_test(&source, function)
        })
        .map(|(file, function)| format!("{file}.rs::{function}"))
        .collect();
    assert!(missing.is_empty(), "docs/safety.md names tests that do not exist: {missing:#?}");
}

/// Whether the function is there with a test's attribute in the lines before it, or within a `proptest!` block, which has one too.
fn is_a_test(source: &str, function: &str) -> bool {
    let Some(at) = source.find(&format!("fn {function}(")) else { return false };
    let before: Vec<&str> = source[..at].lines().rev().take(8).collect();
    before.iter().any(|line| line.contains("#[test]") || line.contains("::test"))
}

#[test]
fn a_test_is_told_from_another_function() {
    assert!(is_a_test("#[test]\nfn one() {}", "one"));
    assert!(is_a_test("#[tokio::test]\nasync fn one() {}", "one"));
    assert!(!is_a_test("fn one() {}", "one"));
    assert!(!is_a_test("#[test]\nfn one_more() {}", "one"));
}
