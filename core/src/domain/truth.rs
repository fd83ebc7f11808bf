/// Whether an annotation's value counts as set: the strings that Go's `strconv.ParseBool` takes for true.
///
/// ```
/// use mcm_migration_core::domain::is_true;
/// assert!(is_true("true") && is_true("T") && is_true("1"));
/// assert!(!is_true("yes") && !is_true("") && !is_true("tRuE"));
/// ```
#[must_use]
pub fn is_true(value: &str) -> bool {
    matches!(value, "1" | "t" | "T" | "TRUE" | "true" | "True")
}
