use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::decide::{Because, MachineFacts, NamespaceFacts};
use crate::domain::{PartId, PartKind, ProviderId, Region, ServerId};
use crate::plan::{ClassDetails, CloudView, NodeSeen, Seen, Settings};

/// Everything about one shoot that the next step of the way back is found from.
#[derive(Debug, Clone, Copy)]
pub struct WayBack<'a> {
    /// The shoot's namespace.
    pub namespace: &'a str,
    /// What the API server says, read past every cache, with the Secret's project.
    pub facts: &'a NamespaceFacts,
    /// The MachineClasses, read together with the facts.
    pub classes: &'a BTreeMap<Box<str>, ClassDetails>,
    /// The annotation `previous-provider-id` of each Machine that has one, from the same list as the facts.
    pub previous: &'a BTreeMap<Box<str>, Box<str>>,
    /// Whether the MachineMigration says that it was paused by a rollback, and not by an operator.
    pub paused_by_us: bool,
    /// What this process has seen, made with [`Direction::Back`](crate::plan::Direction::Back).
    pub seen: &'a Seen,
    /// The Nodes of the seed; none while they are not known.
    pub nodes: Option<&'a [NodeSeen]>,
    /// What is known of the project in the cloud.
    pub cloud: &'a CloudView,
    /// What an operator decides about times, labels and regions.
    pub settings: &'a Settings,
    /// Machines that an operator leaves behind: their servers are not deleted with them.
    pub leave_behind: &'a BTreeSet<Box<str>>,
}

impl WayBack<'_> {
    /// Whether the Machine came from OpenStack: it has a legacy ID, or the rewrite left its annotations on it.
    #[must_use]
    pub fn came_from_openstack(&self, name: &str, machine: &MachineFacts) -> bool {
        match ProviderId::of(&machine.provider_id) {
            ProviderId::Legacy(_) | ProviderId::MalformedLegacy(_) => true,
            ProviderId::Stackit(_) => machine.migrated || self.previous.contains_key(name),
            ProviderId::None | ProviderId::Foreign(_) => false,
        }
    }

    /// The Machines whose STACKIT ID has to give way to the old one.
    pub(super) fn rewritten(&self) -> impl Iterator<Item = (&Box<str>, &MachineFacts)> {
        self.facts.machines.iter().filter(|(name, machine)| {
            matches!(ProviderId::of(&machine.provider_id), ProviderId::Stackit(_))
                && self.came_from_openstack(name, machine)
        })
    }
}

/// A write, or a look at the cloud, of the way back. The executor reads again what it relies on before it carries it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Pause the MachineMigration, and write on it that a rollback did; make it where there is none.
    Pause,
    /// Set the guard to `rolling-back`.
    OpenGuard,
    /// LIST the servers of the shoot's project in a region.
    List {
        /// The region.
        region: Region,
    },
    /// Take labels off a server, and read it back.
    Unlabel {
        /// The Machine.
        machine: Box<str>,
        /// Where its server is.
        region: Region,
        /// Its server.
        server: ServerId,
        /// The keys, only those that are there.
        keys: BTreeSet<Box<str>>,
    },
    /// LIST the network interfaces or the volumes of the shoot's project in a region.
    ListParts {
        /// The region.
        region: Region,
        /// Which of the two.
        kind: PartKind,
    },
    /// Take this program's labels off a network interface or a volume of a server.
    UnlabelPart {
        /// The Machine.
        machine: Box<str>,
        /// Where it is.
        region: Region,
        /// The network interface or volume.
        part: PartId,
        /// The keys, only those that are there.
        keys: BTreeSet<Box<str>>,
    },
    /// Write a Machine's old ID back and take the annotations of the migration off, in one write.
    WriteBack {
        /// The Machine.
        machine: Box<str>,
        /// `openstack:///<region>/<server>`
        provider_id: String,
    },
    /// Take what the migration left over off a Machine that has no ID to be written back.
    Clean {
        /// The Machine.
        machine: Box<str>,
    },
    /// Take the mark off the Worker.
    UnmarkWorker {
        /// The Worker.
        worker: Box<str>,
    },
    /// Set `Armed` to false.
    Disarm,
    /// Take the guard's label off.
    TakeGuardOff,
    /// Lift the pause that a rollback had set.
    LiftPause,
}

impl Step {
    /// Every step's name, in the order of the way back.
    pub const NAMES: [&str; 12] = [
        "pause",
        "guard",
        "list",
        "unlabel",
        "list-parts",
        "unlabel-part",
        "write-back",
        "clean",
        "unmark",
        "disarm",
        "guard-off",
        "lift-pause",
    ];

    /// The step's name in the account.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::OpenGuard => "guard",
            Self::List { .. } => "list",
            Self::Unlabel { .. } => "unlabel",
            Self::ListParts { .. } => "list-parts",
            Self::UnlabelPart { .. } => "unlabel-part",
            Self::WriteBack { .. } => "write-back",
            Self::Clean { .. } => "clean",
            Self::UnmarkWorker { .. } => "unmark",
            Self::Disarm => "disarm",
            Self::TakeGuardOff => "guard-off",
            Self::LiftPause => "lift-pause",
        }
    }

    /// The object that it is about; empty for the shoot as a whole.
    #[must_use]
    pub fn subject(&self) -> &str {
        match self {
            Self::List { region } | Self::ListParts { region, .. } => region.as_str(),
            Self::Unlabel { machine, .. }
            | Self::UnlabelPart { machine, .. }
            | Self::WriteBack { machine, .. }
            | Self::Clean { machine } => machine,
            Self::UnmarkWorker { worker } => worker,
            Self::Pause | Self::OpenGuard | Self::Disarm | Self::TakeGuardOff | Self::LiftPause => "",
        }
    }
}

/// What comes next on the way back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// These steps, all of one kind and at least one; their order does not matter.
    Do(Vec<Step>),
    /// Nothing yet.
    Wait {
        /// Why, at least one.
        reasons: Vec<Because>,
        /// What ends it.
        ends: Ends,
    },
    /// Nothing, however long it is waited: somebody has to decide first. At least one reason.
    Refuse(Vec<Because>),
    /// The shoot is back; nothing is left to do.
    Done,
}

/// What ends a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Time alone, after this.
    InTime(Duration),
    /// What this process sees next: a Lease that is renewed, a Node that is Ready, an answer of the cloud.
    BySight,
    /// Gardener or an operator.
    ByOthers,
}
