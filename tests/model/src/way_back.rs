//! The way back: the steps of `rollback`, as the product finds them, and what each does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcm_migration_core::decide::{Because, NamespaceFacts};
use mcm_migration_core::plan::way_back::{Next, Step as Back, WayBack};
use mcm_migration_core::plan::{Direction, Seen};

use crate::config::Config;
use crate::facts::{self, MACHINE_NAMES};
use crate::gates::{Gate, Out};
use crate::memory::{self, NOW};
use crate::planner::{Wish, observe, settings, well};
use crate::state::{
    ARMED, Cloud, EXISTS, Guard, Id, MACHINES, MARKED, Machine, PAUSED, SETTLED, Seed, Server, State, Write,
};

/// The number of a memory of nothing, on the way back.
#[must_use]
pub fn nothing() -> u32 {
    memory::number(Seen::of(Direction::Back))
}

fn shown(config: &Config, index: usize, seed: &Seed, out: Out) -> NamespaceFacts {
    let mut facts = facts::facts(config, index, seed);
    if out.has(Gate::BackStackitGone) {
        for pod in facts.mcm_pods.values_mut() {
            (pod.containers.openstack, pod.containers.stackit) = (true, false);
        }
        if let Some(template) = &mut facts.mcm_deployment {
            (template.openstack, template.stackit) = (true, false);
        }
    }
    facts
}

/// What `rollback` has seen after it has looked at the state.
#[must_use]
pub fn look(config: &Config, index: usize, seed: &Seed, out: Out) -> u32 {
    let mut seen = Seen::clone(&memory::memory(seed.back_seen));
    observe(config, seed, &shown(config, index, seed, out), false, out.has(Gate::BackNodes), &mut seen);
    memory::number(seen)
}

/// What `rollback` would write now, or what it waits for; neither when it is through.
#[must_use]
pub fn wish(config: &Config, index: usize, seed: &Seed, cloud: &Cloud, out: Out) -> Wish {
    let facts = shown(config, index, seed, out);
    let classes = facts::class_details(seed);
    let rewritten = (0..MACHINES).filter(|m| seed.machines[*m].id == Id::Rewritten);
    let previous: BTreeMap<Box<str>, Box<str>> =
        rewritten.map(|m| (MACHINE_NAMES[m].into(), facts::provider_id(m, Id::Legacy).into())).collect();
    let mut nodes = facts::nodes(seed);
    if out.has(Gate::BackNodes) {
        nodes = well(&nodes);
    }
    let mut shown = *cloud;
    if out.has(Gate::BackLabels) {
        shown.old = shown.old.map(|server| if server == Server::Labelled { Server::There } else { server });
    }
    let mut settings = settings(out);
    if out.has(Gate::BackQuarantine) {
        settings.quarantine = Duration::ZERO;
        settings.evidence_after = Duration::ZERO;
    }
    let seen = memory::memory(seed.back_seen);
    let next = WayBack {
        namespace: "shoot--p--s",
        facts: &facts,
        classes: &classes,
        previous: &previous,
        paused_by_us: seed.paused_by_rollback,
        seen: &seen,
        nodes: Some(&nodes),
        cloud: &facts::cloud(config, &shown, out),
        settings: &settings,
        leave_behind: &BTreeSet::new(),
    }
    .next(NOW);
    match next {
        Next::Do(steps) => Wish {
            writes: steps.iter().filter_map(|step| write_of(seed, step)).collect(),
            waits: Vec::<Because>::new(),
        },
        Next::Wait { reasons, .. } | Next::Refuse(reasons) => Wish { writes: Vec::new(), waits: reasons },
        Next::Done => Wish::default(),
    }
}

fn write_of(seed: &Seed, step: &Back) -> Option<Write> {
    let m = |name: &str| MACHINE_NAMES.iter().position(|known| *known == name);
    let with = |name: &str, write: fn(u8, Machine) -> Write| {
        let m = m(name)?;
        Some(write(m as u8, seed.machines[m]))
    };
    match step {
        Back::Pause => Some(Write::BackPause),
        Back::OpenGuard => Some(Write::BackGuard),
        Back::List { .. } | Back::ListParts { .. } | Back::UnlabelPart { .. } => None,
        Back::Unlabel { machine, .. } => Some(Write::Unlabel(m(machine)? as u8)),
        Back::WriteBack { machine, .. } => with(machine, Write::WriteBack),
        Back::Clean { machine } => with(machine, Write::Clean),
        Back::UnmarkWorker { .. } => Some(Write::Mark(false)),
        Back::Disarm => Some(Write::Disarm),
        Back::TakeGuardOff => Some(Write::GuardOff),
        Back::LiftPause => Some(Write::LiftPause),
    }
}

/// A write of `rollback` takes effect, if what it relies on is still so.
pub fn land(state: &mut State, s: usize, write: Write) {
    let seed = &mut state.seeds[s];
    match write {
        Write::BackPause if seed.migration & PAUSED == 0 => {
            seed.migration |= PAUSED | EXISTS;
            seed.paused_by_rollback = true;
        }
        Write::BackGuard if seed.guard == Guard::Closed => seed.guard = Guard::RollingBack,
        Write::Unlabel(m) => {
            let server = &mut state.cloud.old[usize::from(m)];
            if *server == Server::Labelled {
                *server = Server::There;
            }
        }
        Write::WriteBack(m, was) if seed.machines[usize::from(m)] == was && seed.guard != Guard::Closed => {
            seed.machines[usize::from(m)] = Machine { id: Id::Legacy, flags: was.flags & !(MARKED | SETTLED) };
        }
        Write::Clean(m, was) if seed.machines[usize::from(m)] == was => {
            seed.machines[usize::from(m)].flags &= !(MARKED | SETTLED);
        }
        Write::Mark(false) => seed.worker_marked = false,
        Write::Disarm => seed.migration &= !ARMED,
        Write::GuardOff if seed.guard == Guard::RollingBack => (seed.guard, seed.policies_see) = (Guard::None, false),
        Write::LiftPause => {
            seed.migration &= !PAUSED;
            seed.paused_by_rollback = false;
        }
        _ => {}
    }
}
