//! What became of the shoots, and whether it is what should have become of them.

use std::collections::BTreeSet;

use anyhow::Result;
use mcm_migration_core::domain::Reason;
use serde_json::Value;

use crate::machine_diff::changes;
use crate::observe::{audited, held};
use crate::row::Row;
use crate::scene::Scene;
use crate::screen::{Screen, Style};
use crate::setup::Sandbox;
use crate::writes::{LABEL, Written};

/// Shows it; gives what is not as it should be.
pub(crate) fn show(sandbox: &Sandbox, rows: &[Row], written: &Written, screen: &Screen) -> Result<Vec<String>> {
    screen.title("Rewritten")?;
    rewritten(sandbox, rows, written, screen)?;
    screen.title("Held, by the replicas' audit lines")?;
    reasons(sandbox, screen)?;
    if let Some((before, after)) = &written.example {
        example(before, after, screen)?;
    }
    let mut wrong: Vec<String> =
        sandbox.scenes.iter().zip(rows).filter_map(|(scene, row)| complaint(scene, row)).collect();
    if written.failed_open > 0.0 {
        wrong.push(format!("{} calls of the webhook failed", written.failed_open));
    }
    screen.line("")?;
    for line in &wrong {
        screen.line(&screen.styled(Style::Red, &format!("✗ {line}")))?;
    }
    if wrong.is_empty() {
        screen.line(&screen.styled(Style::Green, "✓ Every shoot ended as it should."))?;
    }
    Ok(wrong)
}

fn rewritten(sandbox: &Sandbox, rows: &[Row], written: &Written, screen: &Screen) -> Result<()> {
    for row in rows.iter().filter(|row| row.rewritten > 0) {
        screen
            .line(&format!("  {:8} {} of {} Machines, each by its first write", row.shoot, row.rewritten, row.total))?;
    }
    for row in rows.iter().filter(|row| row.worker_marked) {
        screen.line(&format!("  {:8} its Worker is marked: it has no Machine left to migrate", row.shoot))?;
    }
    let mut micros: Vec<u64> = Vec::new();
    let mut answers = Vec::new();
    for replica in &sandbox.replicas {
        let lines = replica.logs();
        let before = micros.len();
        micros.extend(lines.iter().filter(|line| audited(line, "changed")).filter_map(duration));
        answers.push((micros.len() - before).to_string());
    }
    micros.sort_unstable();
    let median = micros.get(micros.len() / 2).copied().unwrap_or_default();
    let build = if cfg!(debug_assertions) { ", in a debug build" } else { "" };
    screen.paragraph(
        2,
        &format!(
            "{} writes, {} patches (replicas: {}; the API server keeps its connection to one), {} failed calls. A decision \
             took {median} µs (median{build}).",
            written.count,
            micros.len(),
            answers.join(" + "),
            written.failed_open,
        ),
    )
}

fn duration(line: &Value) -> Option<u64> {
    line.get("duration_us").or_else(|| line.get("fields")?.get("duration_us"))?.as_u64()
}

fn reasons(sandbox: &Sandbox, screen: &Screen) -> Result<()> {
    let held = held(sandbox);
    let found: BTreeSet<(&str, &str)> = held.iter().map(|line| (&*line.resource, &*line.reason)).collect();
    for (resource, reason) in found {
        let shoots: Vec<&str> = sandbox
            .scenes
            .iter()
            .filter(|scene| {
                let namespace = scene.shoot.namespace();
                held.iter()
                    .any(|line| line.namespace == namespace && line.resource == resource && line.reason == reason)
            })
            .map(Scene::name)
            .collect();
        let what = if resource == "workers" { "the Worker" } else { "the Machines" };
        let reason_styled = screen.styled(Style::Yellow, reason);
        screen.line(&format!("  {reason_styled}: {what} of {}", shoots.join(", ")))?;
        if let Some(known) = Reason::ALL.iter().find(|known| known.name() == reason) {
            screen.paragraph(6, &format!("{} {}", known.meaning(), known.what_to_do()))?;
        }
        if resource == "workers" {
            screen.paragraph(6, "(The sandbox has no cloud whose servers could get labels.)")?;
        }
    }
    Ok(())
}

fn example(before: &Value, after: &Value, screen: &Screen) -> Result<()> {
    let name = after["metadata"]["name"].as_str().unwrap_or_default();
    screen.title(&format!("What changed in the Machine {name}"))?;
    for change in changes(before, after) {
        let own =
            if change.path.ends_with(LABEL) { screen.styled(Style::Dim, " (the write itself)") } else { String::new() };
        screen.line(&format!("  {}{own}", change.path))?;
        if let Some(before) = change.before {
            screen.line(&screen.styled(Style::Yellow, &format!("    - {before}")))?;
        }
        if let Some(after) = change.after {
            screen.line(&screen.styled(Style::Green, &format!("    + {after}")))?;
        }
    }
    Ok(())
}

fn complaint(scene: &Scene, row: &Row) -> Option<String> {
    let Row { shoot, total, legacy, rewritten, .. } = row;
    let all = scene.shoot.machines().len();
    let wanted = if scene.migrates { (0, all) } else { (all, 0) };
    if (*legacy, *rewritten) != wanted {
        return Some(format!("{shoot}: {rewritten} of {total} Machines are rewritten, {} should be", wanted.1));
    }
    (row.worker_marked != scene.marks_worker).then(|| {
        format!("{shoot}: its Worker is {}marked, which it should not be", if row.worker_marked { "" } else { "not " })
    })
}
