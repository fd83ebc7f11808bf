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
    pub(crate) worker_marked: bool,
    /// Of the MachineMigration, and whether it is paused.
    pub(crate) phase: String,
    /// The reason of the last write that was held.
    pub(crate) why_not: String,
}

/// The lines of the table, headed.
pub(crate) fn lines(rows: &[Row], screen: &Screen) -> Vec<String> {
    let head = format!(
        "  {:8}  {:>5}  {:>6}  {:>9}  {:12}  {:6}  {:14}  {}",
        "SHOOT", "TOTAL", "LEGACY", "REWRITTEN", "", "WORKER", "PHASE", "WHY NOT"
    );
    let mut lines = vec![screen.styled(Style::Dim, &head)];
    lines.extend(rows.iter().map(|row| line(row, screen)));
    lines
}

fn line(row: &Row, screen: &Screen) -> String {
    const BAR: usize = 12;
    let Row { shoot, total, legacy, rewritten, worker_marked, phase, why_not } = row;
    let full = (rewritten * BAR).checked_div(*total).unwrap_or(0);
    let bar = format!("{}{}", "█".repeat(full), "░".repeat(if *total == 0 { 0 } else { BAR - full }));
    let bar = screen.styled(Style::Green, &format!("{bar:BAR$}"));
    let worker = if *worker_marked { "marked" } else { "–" };
    let why_not = screen.styled(Style::Yellow, why_not);
    let line =
        format!("  {shoot:8}  {total:>5}  {legacy:>6}  {rewritten:>9}  {bar}  {worker:6}  {phase:14}  {why_not}");
    line.trim_end().to_owned()
}
