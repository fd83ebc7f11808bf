use std::collections::BTreeSet;
use std::time::Duration;

use crate::decide::{Because, MachineFacts};
use crate::domain::{GuardLabel, LegacyProviderId, ProviderId, Reason};
use crate::plan::{Moment, quarantine_is_over};

use super::labels::{NoStep, server_of};
use super::{Ends, Next, Step, WayBack, may_write_back};

impl WayBack<'_> {
    /// The next step of the way back at `now`. Each step is found from what is there, so that a command that was killed goes on where it was.
    #[must_use]
    pub fn next(&self, now: Moment) -> Next {
        if let Some(because) = self.not_ours() {
            return Next::Refuse(vec![because]);
        }
        match self.facts.guard() {
            None => self.without_guard(),
            Some(GuardLabel::Unknown) => Next::Refuse(vec![Because::of(Reason::NoGuard)]),
            Some(GuardLabel::Closed) => self.closed(now),
            Some(GuardLabel::RollingBack) => self.rolling_back(now),
        }
    }

    /// Never guarded, or all but through.
    fn without_guard(&self) -> Next {
        if self.rewritten().next().is_some() {
            // Without the guard nothing keeps a class from turning to OpenStack while their IDs are STACKIT's.
            return Next::Refuse(vec![Because::of(Reason::NoGuard)]);
        }
        if self.facts.migration.is_some_and(|migration| migration.armed) {
            return Next::Do(vec![Step::Disarm]);
        }
        if self.paused_by_us {
            return Next::Do(vec![Step::LiftPause]);
        }
        let left = self.classes_left_stackit();
        if left.is_empty() { Next::Done } else { Next::Wait { reasons: left, ends: Ends::ByOthers } }
    }

    fn closed(&self, now: Moment) -> Next {
        self.pause()
            .or_else(|| self.holds().next())
            .or_else(|| self.nodes_not_yet(now))
            .unwrap_or_else(|| Next::Do(vec![Step::OpenGuard]))
    }

    fn rolling_back(&self, now: Moment) -> Next {
        self.pause()
            .or_else(|| self.holds().next())
            .or_else(|| self.nodes_not_yet(now))
            .or_else(|| self.rewritten().next().and_then(|_| self.labels_off(now).or_else(|| self.part_labels(now))))
            .or_else(|| self.write_back(now))
            .or_else(|| some(self.clean()))
            .or_else(|| some(self.unmark()))
            .or_else(|| self.quarantine(now))
            // Once more: a write to the cloud that was under way when the guard was set may have come after the first look.
            .or_else(|| self.labels_off(now))
            .or_else(|| self.part_labels(now))
            .unwrap_or_else(|| {
                let armed = self.facts.migration.is_some_and(|migration| migration.armed);
                Next::Do(vec![if armed { Step::Disarm } else { Step::TakeGuardOff }])
            })
    }

    fn pause(&self) -> Option<Next> {
        let paused = self.facts.migration.is_some_and(|migration| migration.paused);
        (!paused).then(|| Next::Do(vec![Step::Pause]))
    }

    /// Looks at every region, then takes our labels off every server of a Machine that came from OpenStack.
    pub(super) fn labels_off(&self, now: Moment) -> Option<Next> {
        self.servers().next()?;
        let troubles: Vec<Because> =
            self.regions().iter().filter_map(|region| self.cloud.trouble(region).cloned()).collect();
        if !troubles.is_empty() {
            return Some(Next::Wait { reasons: unique(troubles), ends: Ends::BySight });
        }
        let stale = self.regions().into_iter().filter(|region| self.cloud.fresh(region, now).is_none());
        some(stale.map(|region| Step::List { region }).collect()).or_else(|| {
            let (mut steps, mut refused, mut deferred) = (Vec::new(), Vec::new(), Vec::new());
            for (name, machine) in self.servers() {
                let Some(server) = server_of(machine) else { continue };
                match self.label_step(name, server, now) {
                    Err(NoStep::Refused(because)) => refused.push(because),
                    Err(NoStep::Deferred(because)) => deferred.push(because),
                    Ok(None) => {}
                    Ok(Some(step)) => steps.push(step),
                }
            }
            if !refused.is_empty() {
                return Some(Next::Refuse(refused));
            }
            // The others first; a server that the API lets nobody change is somebody's to start again.
            some(steps)
                .or_else(|| (!deferred.is_empty()).then_some(Next::Wait { reasons: deferred, ends: Ends::ByOthers }))
        })
    }

    fn part_labels(&self, now: Moment) -> Option<Next> {
        let servers: Vec<_> =
            self.servers().filter_map(|(name, machine)| Some((&**name, server_of(machine)?))).collect();
        if servers.is_empty() { None } else { some(self.part_labels_off(&servers, now)) }
    }

    /// Machines that came from OpenStack and have a server.
    fn servers(&self) -> impl Iterator<Item = (&Box<str>, &MachineFacts)> {
        self.facts
            .machines
            .iter()
            .filter(|(name, machine)| self.came_from_openstack(name, machine) && server_of(machine).is_some())
    }

    fn write_back(&self, now: Moment) -> Option<Next> {
        let (mut steps, mut refused) = (Vec::new(), BTreeSet::new());
        let mut reasons = Vec::new();
        for (name, machine) in self.rewritten() {
            let gate = self.previous_id(name, machine).map_err(|because| vec![because]).and_then(|text| {
                let previous = LegacyProviderId::parse(&text);
                let previous = previous.ok_or_else(|| vec![Because::about(Reason::PreviousIdUnknown, &**name)])?;
                may_write_back(self.facts, name, &previous, self.labels_of(machine, now))?;
                Ok(text)
            });
            match gate {
                Ok(provider_id) => steps.push(Step::WriteBack { machine: name.clone(), provider_id }),
                Err(why) => {
                    for because in why {
                        if refused.insert(because.to_string()) {
                            reasons.push(because);
                        }
                    }
                }
            }
        }
        if reasons.is_empty() { some(steps) } else { Some(Next::Refuse(reasons)) }
    }

    /// What the migration left over on Machines whose ID is not written back: one that has its old ID already, and one without any, which must be
    /// settled anew should the shoot go forward again.
    pub(super) fn clean(&self) -> Vec<Step> {
        let left_over = |name: &str, machine: &MachineFacts| {
            machine.marked || machine.settled || machine.exception.is_some() || self.previous.contains_key(name)
        };
        let of_ours = |machine: &MachineFacts| {
            matches!(
                ProviderId::of(&machine.provider_id),
                ProviderId::Legacy(_) | ProviderId::MalformedLegacy(_) | ProviderId::None
            )
        };
        let machines = self.facts.machines.iter();
        let left = machines.filter(|(name, machine)| of_ours(machine) && left_over(name, machine));
        left.map(|(name, _)| Step::Clean { machine: name.clone() }).collect()
    }

    pub(super) fn unmark(&self) -> Vec<Step> {
        let marked = self.facts.workers.iter().filter(|(_, worker)| worker.marked);
        marked.map(|(name, _)| Step::UnmarkWorker { worker: name.clone() }).collect()
    }

    /// Whether every machine-controller-manager that could act knows the old IDs.
    fn quarantine(&self, now: Moment) -> Option<Next> {
        let (mut left, mut reasons) = (None::<Duration>, Vec::new());
        for (name, machine) in &self.facts.machines {
            if !matches!(ProviderId::of(&machine.provider_id), ProviderId::Legacy(_)) {
                continue;
            }
            // What was seen in quarantine must be the ID that is persisted now.
            if self.seen.id(name) != Some(&*machine.provider_id) {
                reasons.push(Because::of(Reason::Quarantined));
                continue;
            }
            if let Err(not_yet) = quarantine_is_over(self.seen, name, self.nodes, now, self.settings) {
                reasons.push(not_yet.because);
                left = left.max(not_yet.left);
            }
        }
        if reasons.is_empty() {
            return None;
        }
        Some(Next::Wait { reasons: unique(reasons), ends: left.map_or(Ends::BySight, Ends::InTime) })
    }
}

fn some(steps: Vec<Step>) -> Option<Next> {
    (!steps.is_empty()).then_some(Next::Do(steps))
}

/// Each once, in their order: many Machines wait for the same.
fn unique(reasons: Vec<Because>) -> Vec<Because> {
    let mut said = BTreeSet::new();
    reasons.into_iter().filter(|because| said.insert(because.to_string())).collect()
}
