//! Standard output: steps, paragraphs, and a table that is redrawn in place on a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::time::Instant;

use anyhow::{Context as _, Result};

/// A style of ANSI terminals.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
}

/// Where everything is shown.
#[derive(Debug)]
pub(crate) struct Screen {
    /// Whether lines can be drawn over.
    terminal: bool,
    color: bool,
    /// The lines of the table that is being redrawn.
    drawn: Vec<String>,
}

/// A step that has begun.
#[derive(Debug)]
pub(crate) struct Step {
    began: Instant,
}

impl Screen {
    /// A terminal or not, whatever standard output is; colours as <https://no-color.org> says.
    pub(crate) fn of_stdout() -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let terminal = std::io::stdout().is_terminal() && !dumb;
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { terminal, color: terminal && !no_color, drawn: Vec::new() }
    }

    /// `text` in a style, where there are styles.
    pub(crate) fn styled(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Bold => 1,
            Style::Dim => 2,
            Style::Red => 31,
            Style::Green => 32,
            Style::Yellow => 33,
        };
        if self.color && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// A line as it is.
    #[expect(clippy::unused_self, reason = "whoever has no screen writes nothing")]
    pub(crate) fn line(&self, text: &str) -> Result<()> {
        write(&format!("{text}\n"))
    }

    /// The headline of a part.
    pub(crate) fn title(&self, text: &str) -> Result<()> {
        self.line(&format!("\n{}", self.styled(Style::Bold, text)))
    }

    /// Says what is being done, on a terminal; [`Self::done`] writes over it.
    pub(crate) fn step(&self, doing: &str) -> Result<Step> {
        if self.terminal {
            write(&format!("  {} {doing} …", self.styled(Style::Dim, "·")))?;
        }
        Ok(Step { began: Instant::now() })
    }

    /// Says what is being done while other programs may write too, or for so long that everybody should know.
    pub(crate) fn noisy_step(&self, doing: &str) -> Result<Step> {
        self.line(&format!("  {} {doing} …", self.styled(Style::Dim, "·")))?;
        Ok(Step { began: Instant::now() })
    }

    /// Says that it is done, and how long it took.
    #[expect(clippy::needless_pass_by_value, reason = "a step is done once")]
    pub(crate) fn done(&self, step: Step, what: &str) -> Result<()> {
        let took = self.styled(Style::Dim, &format!("{:5.1} s", step.began.elapsed().as_secs_f64()));
        let over = if self.terminal { "\r\x1b[K" } else { "" };
        write(&format!("{over}  {} {took}  {what}\n", self.styled(Style::Green, "✓")))
    }

    /// Shows a table: over the last one on a terminal, elsewhere only the lines that changed since. `footer` is for terminals.
    pub(crate) fn table(&mut self, lines: Vec<String>, footer: &str) -> Result<()> {
        let mut text = String::new();
        if self.terminal {
            if !self.drawn.is_empty() {
                // Up to the first line; the footer is one more.
                text = format!("\x1b[{}A", self.drawn.len() + 1);
            }
            // A line that is too long is cut instead of wrapped, which would spoil the count.
            text.push_str("\x1b[?7l");
            for line in lines.iter().map(String::as_str).chain([footer]) {
                text.push_str(line);
                text.push_str("\x1b[K\n");
            }
            text.push_str("\x1b[?7h");
        } else {
            for line in lines.iter().filter(|line| !self.drawn.contains(line)) {
                text.push_str(line);
                text.push('\n');
            }
        }
        self.drawn = lines;
        write(&text)
    }

    /// Says on standard error what went wrong.
    pub(crate) fn complain(&self, text: &str) {
        // Nobody is left to be told when that fails.
        let _ = writeln!(std::io::stderr(), "\n{}", self.styled(Style::Red, text));
    }
}

fn write(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")
}
