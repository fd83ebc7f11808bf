//! One shoot as a row of the table.

use crate::screen::{Screen, Style};

/// What is shown of a shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) shoot: String,
    /// How many Machines it has.
    pub(crate) total: usize,
    /// How many of them have an OpenStack ID.
    pub(crate) legacy: usize,
    /// How many of them have a STACKIT ID.
    pub(crate) rewritten: usize,
    /// How many of them are in quarantine, as its MachineMigration says.
    pub(crate) quarantined: u64,
    /// How many of their servers carry every label, as its MachineMigration says.
    pub(crate) labelled: u64,
    /// `marked`, `–` or `gone`
    pub(crate) worker: &'static str,
    /// Of its MachineMigration.
    pub(crate) phase: String,
    /// What its project was asked, and how often its servers or their interfaces were changed.
    pub(crate) calls: (usize, usize),
    /// The reason in its MachineMigration.
    pub(crate) waits_for: String,
}

/// The lines of the table, headed.
pub(crate) fn lines(rows: &[Row], screen: &Screen) -> Vec<String> {
    let head = format!(
        "  {:8}  {:>5}  {:>6}  {:>9}  {:>10}  {:>8}  {:10}  {:6}  {:9}  {:>5}  {:>7}  {}",
        "SHOOT",
        "TOTAL",
        "LEGACY",
        "REWRITTEN",
        "QUARANTINE",
        "LABELLED",
        "",
        "WORKER",
        "PHASE",
        "CALLS",
        "PATCHES",
        "WAITS FOR"
    );
    let mut lines = vec![screen.styled(Style::Dim, &head)];
    lines.extend(rows.iter().map(|row| line(row, screen)));
    lines
}

fn line(row: &Row, screen: &Screen) -> String {
    let Row { shoot, total, legacy, rewritten, quarantined, labelled, worker, phase, calls, waits_for } = row;
    let (asked, changed) = calls;
    let bar = screen.styled(Style::Green, &bar(row));
    let waits_for = screen.styled(Style::Yellow, waits_for);
    let line = format!(
        "  {shoot:8}  {total:>5}  {legacy:>6}  {rewritten:>9}  {quarantined:>10}  {labelled:>8}  {bar}  {worker:6}  {phase:9}  \
         {asked:>5}  {changed:>7}  {waits_for}"
    );
    line.trim_end().to_owned()
}

/// Half for the rewrite, half for the labels.
fn bar(row: &Row) -> String {
    const BAR: usize = 10;
    let labelled = usize::try_from(row.labelled).unwrap_or(usize::MAX).min(row.total);
    let full = ((row.rewritten + labelled) * BAR).checked_div(2 * row.total).unwrap_or(0);
    let all = if row.total == 0 { 0 } else { BAR };
    let bar = format!("{}{}", "█".repeat(full.min(all)), "░".repeat(all.saturating_sub(full)));
    format!("{bar:BAR$}")
}
