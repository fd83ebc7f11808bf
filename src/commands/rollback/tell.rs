//! The account on standard output, as it happens.

use std::io::Write;

use jiff::Timestamp;
use mcm_migration_core::decide::Because;
use mcm_migration_core::plan::way_back::{Line, State};
use serde_json::{Value, json};

use super::flags::Output;

/// So many objects are named in one line for people.
const NAMED: usize = 20;

/// Writes what happens to one shoot.
#[derive(Debug, Clone)]
pub(super) struct Teller {
    pub(super) output: Output,
    pub(super) namespace: String,
}

impl Teller {
    /// A step begins, is done, or fails.
    pub(super) fn step(&self, event: &str, step: &str, objects: &[String], why: Option<&str>) {
        match self.output {
            Output::Json => self.line(&json!({"event": event, "step": step, "objects": objects, "message": why})),
            Output::Text => {
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                self.text(&format!("{step:<12} {event}{}{why}", named(objects)));
            }
        }
    }

    /// What it waits for, or why it ends.
    pub(super) fn reasons(&self, event: &str, reasons: &[Because], more: &str) {
        match self.output {
            Output::Json => {
                let reasons: Vec<Value> = reasons.iter().map(reason).collect();
                self.line(&json!({"event": event, "reasons": reasons, "message": more}));
            }
            Output::Text => {
                let colon = if more.is_empty() { "" } else { ": " };
                self.text(&format!("{event}{colon}{more}"));
                for because in reasons {
                    let reason = because.reason;
                    self.text(&format!("  {because}: {} {}", reason.meaning(), reason.what_to_do()));
                }
            }
        }
    }

    /// One sentence.
    pub(super) fn say(&self, event: &str, objects: &[String], sentence: &str) {
        match self.output {
            Output::Json => self.line(&json!({"event": event, "objects": objects, "message": sentence})),
            Output::Text => self.text(&format!("{event}{}: {sentence}", named(objects))),
        }
    }

    /// A step of a dry run.
    pub(super) fn outline(&self, line: &Line, note: &str) {
        let (state, objects, reasons): (_, &[String], &[Because]) = match &line.state {
            State::Done => ("done", &[], &[]),
            State::Would(objects) => ("would", objects, &[]),
            State::Held(reasons) => ("held", &[], reasons),
        };
        match self.output {
            Output::Json => {
                let reasons: Vec<Value> = reasons.iter().map(reason).collect();
                self.line(&json!({"event": "plan", "step": line.step, "state": state, "objects": objects,
                    "reasons": reasons, "message": note}));
            }
            Output::Text => {
                self.text(format!("{:<12} {state:<6} {note}", line.step).trim_end());
                for object in objects {
                    self.text(&format!("  {object}"));
                }
                for because in reasons {
                    let reason = because.reason;
                    self.text(&format!("  {because}: {} {}", reason.meaning(), reason.what_to_do()));
                }
            }
        }
    }

    fn text(&self, text: &str) {
        write(&format!("{}  {text}\n", self.namespace));
    }

    fn line(&self, event: &Value) {
        let mut line = json!({"time": Timestamp::now().to_string(), "namespace": self.namespace});
        if let (Some(line), Some(event)) = (line.as_object_mut(), event.as_object()) {
            line.extend(event.clone());
        }
        write(&format!("{line}\n"));
    }
}

fn reason(because: &Because) -> Value {
    let reason = because.reason;
    json!({"reason": reason.name(), "subject": because.subject, "meaning": reason.meaning(), "todo": reason.what_to_do()})
}

/// ` (a, b and 7 more)`, or nothing.
pub(super) fn named(objects: &[String]) -> String {
    if objects.is_empty() {
        return String::new();
    }
    let shown = objects.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = objects.len().saturating_sub(NAMED);
    if more == 0 { format!(" ({shown})") } else { format!(" ({shown} and {more} more)") }
}

fn write(text: &str) {
    // Whoever closed standard output does not want to read on; the way back goes on all the same.
    let mut out = std::io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}
