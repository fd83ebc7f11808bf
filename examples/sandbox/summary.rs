//! What became of the shoots, and whether it is what should have become of them.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use mcm_stand_in::Event;
use rig::{objects, product::field};
use serde_json::Value;
use simulator::Operation;

use crate::checks::writers;
use crate::machine_diff::changes;
use crate::screen::{Screen, Style};
use crate::setup::Sandbox;
use crate::stage::reference;

/// Shows it; gives what is not as it should be.
pub(crate) async fn show(sandbox: &Sandbox, mut wrong: Vec<String>, screen: &Screen) -> Result<Vec<String>> {
    screen.title("What happened, in seconds since the seed was there")?;
    for note in sandbox.stage.notes() {
        let at = screen.styled(Style::Dim, &format!("{:5.1}", sandbox.stage.at(&note).as_secs_f64()));
        screen.line(&format!("  {at}  {:8}  {}", note.shoot, note.text))?;
    }
    screen.title("Who did it")?;
    wrong.extend(who(sandbox, screen)?);
    example(sandbox, screen).await?;
    screen.line("")?;
    for line in &wrong {
        screen.line(&screen.styled(Style::Red, &format!("✗ {line}")))?;
    }
    if wrong.is_empty() {
        let all = "Every shoot ended as it should: Machines, Workers, MachineMigrations, servers and the cloud's journal agree.";
        screen.line(&screen.styled(Style::Green, &format!("✓ {all}")))?;
    }
    Ok(wrong)
}

/// Writes, admissions and calls of the cloud; gives who wrote to the Machines of the first shoot and should not have.
fn who(sandbox: &Sandbox, screen: &Screen) -> Result<Vec<String>> {
    let prod = sandbox.scenes.first().context("there is no scene")?;
    let written = writers(sandbox, prod)?;
    for ((user, resource), count) in &written.writes {
        screen.line(&format!("  {count:3} writes of the {resource} of {} by {user}", prod.name()))?;
    }
    for (replica, number) in sandbox.replicas.iter().zip(1..) {
        let lines = replica.logs();
        let mut micros: Vec<u64> = lines.iter().filter(|line| is_rewrite(line)).filter_map(duration).collect();
        micros.sort_unstable();
        let median = micros.get(micros.len() / 2).map(|median| format!(", median {median} µs")).unwrap_or_default();
        let build = if cfg!(debug_assertions) { " in a debug build" } else { "" };
        screen.line(&format!("  {:3} writes patched by replica {number}{median}{build}", micros.len()))?;
    }
    let mut calls: BTreeMap<Operation, usize> = BTreeMap::new();
    for call in sandbox.stage.cloud.journal().iter().filter(|call| call.by.is_none()) {
        *calls.entry(call.operation).or_default() += 1;
    }
    for (operation, count) in calls {
        screen.line(&format!("  {count:3} calls {operation:?} of the cloud"))?;
    }
    let events: Vec<Event> = sandbox.mcms.iter().flat_map(mcm_stand_in::Mcm::events).collect();
    let deleted = events.iter().filter(|event| matches!(event, Event::Deleted { .. })).count();
    let created = events.iter().filter(|event| matches!(event, Event::Created { .. })).count();
    screen.line(&format!(
        "  {deleted:3} servers deleted and {created} made by the stand-ins for the machine-controller-managers, none of a live Machine"
    ))?;
    Ok(written.others().into_iter().map(|other| format!("{}: {other}", prod.name())).collect())
}

/// Whether a log line is the audit of a real write that was patched.
fn is_rewrite(line: &Value) -> bool {
    let dry_run = line.get("dry_run").or_else(|| line.get("fields")?.get("dry_run"));
    field(line, "target") == Some("audit")
        && field(line, "decision") == Some("changed")
        && dry_run.is_some_and(|dry_run| dry_run == false)
}

fn duration(line: &Value) -> Option<u64> {
    line.get("duration_us").or_else(|| line.get("fields")?.get("duration_us"))?.as_u64()
}

/// What changed in a Machine of the first shoot.
async fn example(sandbox: &Sandbox, screen: &Screen) -> Result<()> {
    let prod = sandbox.scenes.first().context("there is no scene")?;
    let before = prod.objects.iter().find(|object| object["kind"] == "Machine").context("a scene without Machines")?;
    let name = before["metadata"]["name"].as_str().unwrap_or_default();
    let machine = reference("machine.sapcloud.io", "Machine", &prod.shoot.namespace(), name);
    let Some(after) = objects::get(&sandbox.stage.client, &machine).await? else { return Ok(()) };
    screen.title(&format!("What changed in the Machine {name}"))?;
    for change in changes(before, &serde_json::to_value(after)?) {
        screen.line(&format!("  {}", change.path))?;
        if let Some(before) = change.before {
            screen.line(&screen.styled(Style::Yellow, &format!("    - {before}")))?;
        }
        if let Some(after) = change.after {
            screen.line(&screen.styled(Style::Green, &format!("    + {after}")))?;
        }
    }
    Ok(())
}
