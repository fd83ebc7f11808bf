use std::collections::BTreeMap;

use crate::decide::{Because, MachineFacts};
use crate::domain::{
    GuardLabel, LegacyProviderId, Provider, ProviderId, Reason, ServerId, StackitProviderId, is_true, keys,
};
use crate::plan::Moment;
use crate::plan::way_back::{WayBack, may_write_back, may_write_old};

use super::record::{MachineRecord, Record, WorkerRecord};

/// One write of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Write a Machine's OpenStack ID back, and take off what the rewrite has left, in one write.
    ProviderId {
        /// The Machine.
        machine: Box<str>,
        /// `openstack:///<region>/<server>`
        provider_id: Box<str>,
        /// Annotations that are set in the same write.
        set: BTreeMap<&'static str, Box<str>>,
    },
    /// Set annotations of a Machine that were lost.
    Annotations {
        /// The Machine.
        machine: Box<str>,
        /// What is set.
        set: BTreeMap<&'static str, Box<str>>,
    },
    /// Take the mark off a Worker.
    UnmarkWorker {
        /// The Worker.
        worker: Box<str>,
    },
}

/// What a record comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The object is as the record has it.
    Same,
    /// It is not, and this makes it so.
    Write(Change),
    /// It is not, and no restore writes that.
    Left(Because),
    /// It is not, and must not be made so, or it is not clear whether.
    Refused(Vec<Because>),
}

/// A record that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The object's kind.
    pub kind: &'static str,
    /// Its name.
    pub name: Box<str>,
    /// What it comes to.
    pub verdict: Verdict,
}

/// What a record comes to, by what is so now. Servers are never written: there is none for their records.
///
/// Nothing is ever written but what the gate of the way back lets through ([`may_write_old`], [`may_write_back`]), only into an object of the
/// same name, and an ID only where it names the server that the Machine has now.
#[must_use]
pub fn finding(record: &Record, now: &WayBack<'_>, at: Moment) -> Option<Finding> {
    let (kind, name, verdict): (_, &str, _) = match record {
        Record::Namespace(it) => {
            let same = now.facts.guard() == it.guard.as_deref().map(GuardLabel::of);
            ("Namespace", &it.namespace, unwritten(same, "the guard's label"))
        }
        Record::MachineMigration(it) => {
            let paused = now.facts.migration.map(|migration| migration.paused);
            ("MachineMigration", keys::MACHINE_MIGRATION, unwritten(paused == Some(it.paused), "spec.paused"))
        }
        Record::MachineClass(it) => {
            let provider = now.classes.get(&it.name).map(|class| class.provider);
            let same = provider == Some(Provider::of(&it.provider));
            ("MachineClass", &it.name, unwritten(same, "provider"))
        }
        Record::Worker(it) => ("Worker", &it.name, worker(it, now)),
        Record::Machine(it) => ("Machine", &it.name, machine(it, now, at)),
        Record::Server(_) | Record::ServersUnknown(_) | Record::Header(_) | Record::Trailer(_) => return None,
    };
    Some(Finding { kind, name: name.into(), verdict })
}

fn unwritten(same: bool, what: &str) -> Verdict {
    if same { Verdict::Same } else { Verdict::Left(Because::about(Reason::NotRestored, what)) }
}

fn worker(record: &WorkerRecord, now: &WayBack<'_>) -> Verdict {
    let wanted = record.annotations.get(keys::WORKER_MIGRATED).is_some_and(|text| is_true(text));
    match now.facts.workers.get(&record.name) {
        None => Verdict::Left(Because::about(Reason::WorkerAbsent, &*record.name)),
        Some(worker) if worker.marked == wanted => Verdict::Same,
        Some(_) if wanted => Verdict::Left(Because::about(Reason::LeftToAdmission, keys::WORKER_MIGRATED)),
        Some(_) => match may_write_old(now.facts) {
            Ok(()) => Verdict::Write(Change::UnmarkWorker { worker: record.name.clone() }),
            Err(reasons) => Verdict::Refused(reasons),
        },
    }
}

fn machine(record: &MachineRecord, now: &WayBack<'_>, at: Moment) -> Verdict {
    let name = &record.name;
    let refused = |reason| Verdict::Refused(vec![Because::about(reason, &**name)]);
    let Some(there) = now.facts.machines.get(name) else { return refused(Reason::MachineAbsent) };
    if record.provider_id.is_empty() {
        // Nothing says which server it was.
        return if there.provider_id.is_empty() { Verdict::Same } else { refused(Reason::MachinesWithoutId) };
    }
    if there.provider_id.is_empty() {
        return refused(Reason::MachinesWithoutId);
    }
    let Some(server) = server_of(&record.provider_id) else { return refused(Reason::ProviderIdMalformed) };
    match server_of(&there.provider_id) {
        None => return refused(Reason::ProviderIdMalformed),
        Some(other) if other != server => return refused(Reason::PreviousIdMismatch),
        Some(_) => {}
    }
    let same_id = record.provider_id == there.provider_id;
    match (ProviderId::of(&record.provider_id), ProviderId::of(&there.provider_id)) {
        (ProviderId::Stackit(_), ProviderId::Legacy(_)) => {
            Verdict::Left(Because::about(Reason::LeftToAdmission, &*record.provider_id))
        }
        (ProviderId::Stackit(_), _) if !same_id => refused(Reason::ProjectMismatch),
        (ProviderId::Legacy(previous), ProviderId::Stackit(_)) => back(record, &previous, there, now, at),
        // Of the same server, and of another region.
        (ProviderId::Legacy(_), _) if !same_id => refused(Reason::PreviousIdMismatch),
        _ => annotations(record, there, server, now),
    }
}

fn back(
    record: &MachineRecord,
    previous: &LegacyProviderId<'_>,
    there: &MachineFacts,
    now: &WayBack<'_>,
    at: Moment,
) -> Verdict {
    let name = &record.name;
    if now.previous.get(name).is_some_and(|said| *said != record.provider_id) {
        return Verdict::Refused(vec![Because::about(Reason::PreviousIdMismatch, &**name)]);
    }
    match may_write_back(now.facts, name, previous, now.labels_of(there, at)) {
        Ok(()) => Verdict::Write(Change::ProviderId {
            machine: name.clone(),
            provider_id: record.provider_id.clone(),
            set: migrated(record, there),
        }),
        Err(reasons) => Verdict::Refused(reasons),
    }
}

/// The two annotations that must not be lost: by one STACKIT's provider knows what to delete with the Machine, by the other the way back is found.
fn annotations(record: &MachineRecord, there: &MachineFacts, server: ServerId, now: &WayBack<'_>) -> Verdict {
    let name = &record.name;
    let refused = |reason| Verdict::Refused(vec![Because::about(reason, &**name)]);
    let mut set = migrated(record, there);
    if let Some(previous) = record.annotations.get(keys::PREVIOUS_PROVIDER_ID)
        && matches!(ProviderId::of(&there.provider_id), ProviderId::Stackit(_))
    {
        match (LegacyProviderId::parse(previous), now.previous.get(name)) {
            (_, Some(said)) if said == previous => {}
            (Some(id), None) if id.server() == server => {
                set.insert(keys::PREVIOUS_PROVIDER_ID, previous.clone());
            }
            _ => return refused(Reason::PreviousIdMismatch),
        }
    }
    match may_write_old(now.facts) {
        _ if set.is_empty() => Verdict::Same,
        Ok(()) => Verdict::Write(Change::Annotations { machine: name.clone(), set }),
        Err(reasons) => Verdict::Refused(reasons),
    }
}

fn migrated(record: &MachineRecord, there: &MachineFacts) -> BTreeMap<&'static str, Box<str>> {
    let wanted = record.annotations.get(keys::MIGRATED_MACHINE).is_some_and(|text| is_true(text));
    let missing = wanted && !there.migrated;
    missing.then(|| (keys::MIGRATED_MACHINE, keys::TRUE.into())).into_iter().collect()
}

fn server_of(id: &str) -> Option<ServerId> {
    match ProviderId::of(id) {
        ProviderId::Legacy(id) => Some(id.server()),
        ProviderId::Stackit(text) => StackitProviderId::parse(text).ok().map(|id| id.server),
        _ => None,
    }
}
