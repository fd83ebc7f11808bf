use std::collections::BTreeSet;

use crate::decide::{Because, MachineFacts};
use crate::domain::{GuardLabel, Provider, ProviderId, Reason};
use crate::plan::{Moment, NodesNotYet, Ownership, every_node_ready_long_enough, ownership};

use super::labels::server_of;
use super::{Ends, Next, WayBack};

/// Everything that holds the way back, sorted by what would end it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Holds {
    /// Nothing but a decision.
    pub(super) refused: Vec<Because>,
    /// Gardener or an operator.
    pub(super) others: Vec<Because>,
}

impl Holds {
    /// What comes next because of them; none when nothing holds.
    pub(super) fn next(self) -> Option<Next> {
        if !self.refused.is_empty() {
            return Some(Next::Refuse(self.refused.into_iter().chain(self.others).collect()));
        }
        (!self.others.is_empty()).then_some(Next::Wait { reasons: self.others, ends: Ends::ByOthers })
    }
}

impl WayBack<'_> {
    /// Whose the shoot is.
    pub(super) fn not_ours(&self) -> Option<Because> {
        let facts = self.facts;
        let foreign = facts.workers.iter().find(|(_, worker)| !worker.is_stackit);
        match ownership(facts) {
            Err(because) => Some(because),
            Ok(Ownership::RestoringHere) => Some(Because::of(Reason::WorkerRestoring)),
            Ok(Ownership::Ours | Ownership::DeletingHere) => {
                foreign.map(|(name, _)| Because::about(Reason::WorkerNotStackit, &**name))
            }
        }
    }

    /// What must not be when the guard is set to `rolling-back`, and as long as it is that.
    pub(super) fn holds(&self) -> Holds {
        let facts = self.facts;
        let mut holds = Holds::default();
        for name in self.of_stackit() {
            holds.others.push(Because::about(Reason::StackitMachinesRemain, name));
        }
        holds.others.extend(facts.stackit_remains());
        let template = facts.mcm_deployment.unwrap_or_default();
        if !template.openstack && !template.stackit {
            holds.others.push(Because::of(Reason::OpenstackMcmMissing));
        }
        let unwanted: BTreeSet<&str> = self.of_unwanted_classes().map(|(_, machine)| &*machine.class).collect();
        holds.others.extend(unwanted.into_iter().map(|class| Because::about(Reason::RollOutUnfinished, class)));
        let foreign = |machine: &MachineFacts| matches!(ProviderId::of(&machine.provider_id), ProviderId::Foreign(_));
        for (name, machine) in &facts.machines {
            if foreign(machine) && !self.leave_behind.contains(name) {
                holds
                    .refused
                    .push(Because::about(Reason::ProviderIdMalformed, format!("{name}: {}", machine.provider_id)));
            }
        }
        if self.rewritten().next().is_some() && facts.project.is_none() {
            holds.refused.push(Because::of(Reason::ProjectUnknown));
        }
        for (name, machine) in self.rewritten() {
            if let Err(because) = self.previous_id(name, machine) {
                holds.refused.push(because);
            }
        }
        let known = |machine: &MachineFacts| {
            self.classes.get(&machine.class).is_some_and(|class| class.region(&self.settings.regions).is_some())
        };
        for (name, machine) in facts.machines.iter().filter(|(name, machine)| self.came_from_openstack(name, machine)) {
            if server_of(machine).is_some() && !known(machine) {
                holds.refused.push(Because::about(Reason::RegionUnknown, format!("{name}: {}", machine.class)));
            }
        }
        holds
    }

    /// The Machines whose class no MachineDeployment names that the Worker wants. Gardener turns the classes that it still wants and no others: one
    /// that a roll-out leaves behind would stay `stackit`, and the OpenStack provider refuses to delete its Machines. Forward, the side task
    /// retires such classes; here nobody does, so a roll-out is finished before the way back begins. Machines of STACKIT are none of it: they
    /// are gone by then, or left behind.
    fn of_unwanted_classes(&self) -> impl Iterator<Item = (&Box<str>, &MachineFacts)> {
        let facts = self.facts;
        let wanted = facts.workers.values().flat_map(|worker| &worker.wanted_machine_deployments);
        let wanted: BTreeSet<&str> =
            wanted.filter_map(|name| facts.machine_deployments.get(name)).map(|class| &**class).collect();
        facts.machines.iter().filter(move |(name, machine)| {
            !wanted.contains(&*machine.class) && !self.is_of_stackit(name, machine) && server_of(machine).is_some()
        })
    }

    /// The classes that stayed `stackit` when Gardener turned those it wants, because a roll-out came together with the switch back.
    pub(super) fn classes_left_stackit(&self) -> Vec<Because> {
        let facts = self.facts;
        if facts.openstack_class().is_none()
            || facts.stackit_remains().next().is_some()
            || !facts.openstack_mcm_deployed()
        {
            return Vec::new();
        }
        let left = self.of_unwanted_classes().map(|(_, machine)| &*machine.class);
        let left: BTreeSet<&str> = left.filter(|class| facts.classes.get(*class) == Some(&Provider::Stackit)).collect();
        left.into_iter().map(|class| Because::about(Reason::ClassLeftStackit, class)).collect()
    }

    /// The Machines that the STACKIT provider made, or may be making, and that nobody leaves behind. The OpenStack provider could neither run
    /// nor delete their servers.
    #[must_use]
    pub fn of_stackit(&self) -> Vec<&str> {
        let of_stackit = self.facts.machines.iter().filter(|(name, machine)| self.is_of_stackit(name, machine));
        of_stackit.map(|(name, _)| &**name).filter(|name| !self.leave_behind.contains(*name)).collect()
    }

    /// The Machines that an operator leaves behind, of those that are there.
    #[must_use]
    pub fn left_behind(&self) -> Vec<&str> {
        let of_stackit = self.facts.machines.iter().filter(|(name, machine)| self.is_of_stackit(name, machine));
        of_stackit.map(|(name, _)| &**name).filter(|name| self.leave_behind.contains(*name)).collect()
    }

    fn is_of_stackit(&self, name: &str, machine: &MachineFacts) -> bool {
        match ProviderId::of(&machine.provider_id) {
            ProviderId::Stackit(_) => !self.came_from_openstack(name, machine),
            // One that was made after the STACKIT machine-controller-managers had gone has no server: nobody makes any before the classes turn.
            ProviderId::None => {
                self.facts.guard() != Some(GuardLabel::RollingBack) || self.seen.was_there(name) != Some(false)
            }
            _ => false,
        }
    }

    /// A pod that is gone from the API is no dead process: every Node must have been Ready since for long enough.
    pub(super) fn nodes_not_yet(&self, now: Moment) -> Option<Next> {
        let wait = |because, ends| Some(Next::Wait { reasons: vec![because], ends });
        let (Some(gone), Some(nodes)) = (self.seen.other_gone(), self.nodes) else {
            return wait(Because::about(Reason::SeedNodeLost, "not listed yet"), Ends::BySight);
        };
        match every_node_ready_long_enough(nodes, gone, now, &self.settings.nodes) {
            Ok(()) => None,
            Err(not_yet) => {
                let ends = match &not_yet {
                    NodesNotYet::Wait { left, .. } => Ends::InTime(*left),
                    NodesNotYet::Lost(_) => Ends::BySight,
                };
                wait(not_yet.because(), ends)
            }
        }
    }
}
