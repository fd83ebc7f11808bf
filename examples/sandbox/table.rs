//! The live table: drawn over itself on a terminal; elsewhere a line whenever a shoot moves.

use std::io::Write;

/// How wide a bar is, in characters.
const BAR: usize = 24;

/// One shoot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) namespace: String,
    pub(crate) phase: String,
    pub(crate) total: usize,
    pub(crate) legacy: usize,
    pub(crate) rewritten: usize,
}

/// What has been drawn.
pub(crate) struct Table {
    terminal: bool,
    shown: Vec<Row>,
}

impl Table {
    pub(crate) fn new(terminal: bool) -> Self {
        Self { terminal, shown: Vec::new() }
    }

    pub(crate) fn show(&mut self, rows: &[Row]) {
        let mut text = Vec::new();
        if self.shown.is_empty() {
            text.push(head());
        } else if self.terminal {
            // Up to the first row again.
            text.push(format!("\x1b[{}A", self.shown.len()));
        }
        for row in rows.iter().filter(|row| self.terminal || !self.shown.contains(row)) {
            let clear = if self.terminal { "\x1b[2K" } else { "" };
            text.push(format!("{clear}{}\n", line(row)));
        }
        let text = text.concat();
        // A closed pipe ends the show, not the migration.
        drop(std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush()));
        self.shown = rows.to_vec();
    }

    pub(crate) fn end(&self) {
        if self.terminal {
            println!();
        }
    }
}

fn head() -> String {
    format!("   {:<24} {:<8} {:>5} {:>6} {:>9}  progress\n", "namespace", "phase", "total", "legacy", "rewritten")
}

fn line(row: &Row) -> String {
    let done = (BAR * row.rewritten).checked_div(row.total).unwrap_or_default();
    let bar = format!("{}{}", "█".repeat(done), "░".repeat(BAR - done));
    format!("   {:<24} {:<8} {:>5} {:>6} {:>9}  {bar}", row.namespace, row.phase, row.total, row.legacy, row.rewritten)
}
