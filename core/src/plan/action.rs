use std::collections::BTreeMap;

use serde_json::Value;

use crate::decide::Because;
use crate::domain::{NetworkId, PartId, PartKind, Reason, Region, ServerId};

/// One step for one object. The executor reads again what it relies on before it carries it out.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// LIST the servers of the shoot's project in a region; the plan is made again with what it shows.
    List {
        /// The region.
        region: Region,
    },
    /// LIST the network interfaces or the volumes of the shoot's project in a region; the plan is made again with what it shows.
    ListParts {
        /// The region.
        region: Region,
        /// Which of the two.
        kind: PartKind,
    },
    /// Add what is missing to the allowed addresses of a server's network interfaces in a network, and read it back.
    Address {
        /// The Machine that has no ID yet.
        machine: Box<str>,
        /// Where its server is.
        region: Region,
        /// Its server.
        server: ServerId,
        /// Only interfaces in this network.
        network: NetworkId,
        /// What each of them must have.
        addresses: Vec<String>,
    },
    /// Give a Machine without an ID the ID of its server.
    SettleId {
        /// The Machine.
        machine: Box<str>,
        /// `openstack:///<region>/<server>`
        provider_id: String,
    },
    /// Say of a Machine without an ID that it has no server.
    SettleNoServer {
        /// The Machine.
        machine: Box<str>,
    },
    /// Give a class that was left `OpenStack` provider and providerSpec of a sibling.
    Retire {
        /// The class.
        class: Box<str>,
        /// The sibling; none when no class of the namespace is `stackit`.
        sibling: Option<Box<str>>,
        /// What it gets.
        provider_spec: Value,
    },
    /// Close the guard: the `MachineMigration`, `Armed: False`, the namespace's label.
    CloseGuard,
    /// Try everything that the guard must refuse.
    Probe,
    /// Arm: from here on admission rewrites.
    Arm,
    /// Take back what was armed.
    Disarm {
        /// Why.
        because: Because,
    },
    /// Write to a Machine, so that admission rewrites it.
    Touch {
        /// The Machine.
        machine: Box<str>,
    },
    /// Set labels that are missing or wrong on a server.
    Label {
        /// The Machine.
        machine: Box<str>,
        /// Where its server is.
        region: Region,
        /// Its server.
        server: ServerId,
        /// The labels, only those that differ.
        labels: BTreeMap<Box<str>, Box<str>>,
    },
    /// Set labels that are missing or wrong on a network interface or a volume that was made apart for a server.
    LabelPart {
        /// The Machine.
        machine: Box<str>,
        /// Where its server is.
        region: Region,
        /// Its server, which has it.
        server: ServerId,
        /// The network interface or the volume.
        part: PartId,
        /// The labels, only those that differ.
        labels: BTreeMap<Box<str>, Box<str>>,
    },
    /// Let the boot volume of a server be deleted together with it.
    CareForBootVolume {
        /// The Machine.
        machine: Box<str>,
        /// Where its server is.
        region: Region,
        /// Its server.
        server: ServerId,
    },
    /// Take the marker off a Machine whose server carries every label.
    Clear {
        /// The Machine.
        machine: Box<str>,
    },
    /// Say of a Machine that it no longer holds up the Worker.
    Except {
        /// The Machine.
        machine: Box<str>,
        /// Where its server is, or was.
        region: Region,
        /// Its server.
        server: ServerId,
        /// Why: one of [`crate::domain::Exception::FORCED`].
        reason: Reason,
    },
    /// Take that back: its server could be labelled after all.
    Readmit {
        /// The Machine.
        machine: Box<str>,
    },
    /// Mark the Worker: every Machine of the namespace is done.
    MarkWorker {
        /// The Worker.
        worker: Box<str>,
    },
    /// Take the mark off the Worker again.
    UnmarkWorker {
        /// The Worker.
        worker: Box<str>,
    },
}

impl Action {
    /// The step of [`Self::List`], whose subject is a region.
    pub const LIST: &str = "list";

    /// The step *label* of a Machine, as it is named where it has failed.
    #[must_use]
    pub fn label_of(machine: &str, region: &Region, server: ServerId) -> Self {
        Self::Label { machine: machine.into(), region: region.clone(), server, labels: BTreeMap::new() }
    }

    /// Whether the subject of a step of this name is a region.
    #[must_use]
    pub fn is_list(step: &str) -> bool {
        matches!(step, Self::LIST | "list-nics" | "list-volumes")
    }

    /// The step's name in logs and metrics.
    #[must_use]
    pub fn step(&self) -> &'static str {
        match self {
            Self::List { .. } => Self::LIST,
            Self::ListParts { kind: PartKind::Nic, .. } => "list-nics",
            Self::ListParts { kind: PartKind::Volume, .. } => "list-volumes",
            Self::Address { .. } => "address",
            Self::SettleId { .. } | Self::SettleNoServer { .. } => "settle",
            Self::Retire { .. } => "retire",
            Self::CloseGuard => "guard",
            Self::Probe => "probe",
            Self::Arm => "arm",
            Self::Disarm { .. } => "disarm",
            Self::Touch { .. } => "touch",
            Self::Label { .. } => "label",
            Self::LabelPart { part: PartId::Nic { .. }, .. } => "label-nic",
            Self::LabelPart { part: PartId::Volume(_), .. } => "label-volume",
            Self::CareForBootVolume { .. } => "boot-volume",
            Self::Clear { .. } => "clear",
            Self::Except { .. } => "except",
            Self::Readmit { .. } => "readmit",
            Self::MarkWorker { .. } => "complete",
            Self::UnmarkWorker { .. } => "uncomplete",
        }
    }

    /// The object that it is about: a Machine, a class, a Worker, a region; empty for the shoot as a whole.
    #[must_use]
    pub fn subject(&self) -> &str {
        match self {
            Self::List { region } | Self::ListParts { region, .. } => region.as_str(),
            Self::Address { machine, .. }
            | Self::SettleId { machine, .. }
            | Self::SettleNoServer { machine }
            | Self::Touch { machine }
            | Self::Label { machine, .. }
            | Self::LabelPart { machine, .. }
            | Self::CareForBootVolume { machine, .. }
            | Self::Except { machine, .. }
            | Self::Readmit { machine }
            | Self::Clear { machine } => machine,
            Self::Retire { class, .. } => class,
            Self::MarkWorker { worker } | Self::UnmarkWorker { worker } => worker,
            Self::CloseGuard | Self::Probe | Self::Arm | Self::Disarm { .. } => "",
        }
    }
}
