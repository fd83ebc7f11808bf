//! What a state of the model is made of. Everything is small and `Copy`: a search visits millions of them.

pub use crate::harm::*;

/// Machines of the shoot.
pub const MACHINES: usize = 3;
/// MachineClasses of the shoot.
pub const CLASSES: usize = 2;
/// Seeds.
pub const SEEDS: usize = 2;
/// The two machine-controller-managers.
pub const MCMS: usize = 2;
/// Index of the OpenStack machine-controller-manager.
pub const POS: usize = 0;
/// Index of the STACKIT machine-controller-manager.
pub const PST: usize = 1;

/// `spec.providerID` of a Machine, and whether there is a Machine at all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub enum Id {
    /// There is no Machine.
    #[default]
    Absent,
    /// No ID.
    Empty,
    /// `openstack:///<region>/<server>` of its server.
    Legacy,
    /// `stackit://<project>/<server>` of the server that OpenStack made.
    Rewritten,
    /// `stackit://<project>/<server>` of a server that STACKIT made.
    Born,
}

/// A Machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Machine {
    /// Its ID.
    pub id: Id,
    /// [`MARKED`], [`MIGRATED`], [`SETTLED`], [`TERMINATING`].
    pub flags: u8,
}

/// The marker is set.
pub const MARKED: u8 = 1;
/// `migrated-machine` is set.
pub const MIGRATED: u8 = 2;
/// `settled` is set.
pub const SETTLED: u8 = 4;
/// It is being deleted.
pub const TERMINATING: u8 = 8;

impl Machine {
    /// Whether a flag is set.
    #[must_use]
    pub fn is(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
    /// Whether it exists.
    #[must_use]
    pub fn exists(self) -> bool {
        self.id != Id::Absent
    }
    /// Whether it has no ID, is not settled and exists.
    #[must_use]
    pub fn unsettled(self) -> bool {
        self.id == Id::Empty && !self.is(SETTLED)
    }
}

/// `provider` of a MachineClass, and whether it exists.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Class {
    /// There is none.
    #[default]
    Absent,
    /// `OpenStack`
    OpenStack,
    /// `stackit`
    Stackit,
}

/// The pod template of the MCM Deployment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Template {
    /// No Deployment.
    #[default]
    None,
    /// The OpenStack provider.
    OpenStack,
    /// The STACKIT provider.
    Stackit,
}

/// The namespace's guard label.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Guard {
    /// No label.
    #[default]
    None,
    /// `closed`
    Closed,
    /// `rolling-back`
    RollingBack,
}

/// Whose the shoot is, as the seed's own objects say it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Stage {
    /// No namespace.
    #[default]
    Absent,
    /// Ours.
    Ours,
    /// The control plane leaves: Worker and Shoot say Migrate.
    Leaving,
    /// Its state is persisted: Machines go from here.
    Persisted,
    /// It is being restored here.
    Restoring,
}

/// Whether the API shows a pod.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Shown {
    /// No.
    #[default]
    Gone,
    /// Yes.
    Here,
    /// It is terminating.
    Leaving,
}

/// What the process of a pod does, which may be more than the API shows. One that does not lead (the two share one Lease) does nothing, and has no
/// informers yet; it counts as off.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Process {
    /// There is none.
    #[default]
    Off,
    /// It runs.
    On,
    /// It is frozen with its Node.
    Frozen,
    /// It has woken up on a Node that was not Ready: it acts on what it knew, and has caught up or ended by the next tick.
    Woken,
    /// It speaks to the cloud and not to the API server.
    Cut,
}

/// How many objects an informer of a machine-controller-manager holds.
pub const OBJECTS: usize = MACHINES + CLASSES;

/// One machine-controller-manager: its pod and its process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mcm {
    /// What the API shows.
    pub shown: Shown,
    /// What runs.
    pub process: Process,
    /// Which pod of its kind it is: each new one has another UID.
    pub uid: u8,
    /// Restarts of its container.
    pub restarts: u8,
    /// Of each object, what the informer may still hold: a set of [`Id`]s or [`Class`]es as bits. Seen since the last tick.
    pub views: [u8; OBJECTS],
    /// The same, seen in the tick before and not since.
    pub older: [u8; OBJECTS],
    /// Since how many ticks its Node has been seen Ready; [`NOT_READY`] while it is not.
    pub node: u8,
}

/// A Node that is not Ready.
pub const NOT_READY: u8 = 255;

/// MachineMigration: it exists.
pub const EXISTS: u8 = 1;
/// MachineMigration: condition `Armed`.
pub const ARMED: u8 = 2;
/// MachineMigration: condition `Labelled`.
pub const LABELLED: u8 = 4;
/// MachineMigration: `spec.paused`.
pub const PAUSED: u8 = 8;

/// What some cache that counts as fresh may still show although it is not so any more; each bit says that it was so since the last tick.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Window {
    /// [`W_CLOSED`], [`W_ARMED`], [`W_TEMPLATE`], [`W_PODS`], [`W_LABELLED`], and from [`W_CLASS`] on one bit a class that was not `OpenStack`.
    pub open: u8,
    /// Machines that had an ID, or were settled or absent.
    pub settled: u8,
    /// Machines that were done, or absent.
    pub done: u8,
    /// Classes that the gate forward would have let turn, by what was so at some one moment.
    pub flips: u8,
}

/// The guard was closed.
pub const W_CLOSED: u8 = 1;
/// The shoot was armed and not paused.
pub const W_ARMED: u8 = 2;
/// The Deployment had no OpenStack container.
pub const W_TEMPLATE: u8 = 4;
/// No pod with an OpenStack container was shown.
pub const W_PODS: u8 = 8;
/// The MachineMigration was `Labelled`.
pub const W_LABELLED: u8 = 16;
/// The first class was not `OpenStack`; the next bit is the next class.
pub const W_CLASS: u8 = 32;

/// A write of the side task that was sent and has not landed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub enum Write {
    /// Nothing is under way.
    #[default]
    None,
    /// Give a Machine, which must still be as it was, the ID of its server.
    SettleId(u8, Machine),
    /// Say of a Machine, which must still be as it was, that it has no server.
    SettleNoServer(u8, Machine),
    /// Turn a class that was left behind.
    Retire(u8),
    /// Close the guard.
    CloseGuard,
    /// Arm; the MachineMigration must still be as it was.
    Arm(u8),
    /// Disarm.
    Disarm,
    /// Touch a Machine, which must still be as it was.
    Touch(u8, Machine),
    /// Label the server of a Machine.
    Label(u8),
    /// Take the marker off a Machine, which must still be as it was.
    Clear(u8, Machine),
    /// Mark the Worker, or take the mark off.
    Mark(bool),
    /// Write the condition `Labelled`.
    Report(bool),
    /// Rollback: pause.
    BackPause,
    /// Rollback: set the guard to `rolling-back`.
    BackGuard,
    /// Rollback: take our labels off the server of a Machine.
    Unlabel(u8),
    /// Rollback: write the old ID of a Machine, which must still be as it was, back.
    WriteBack(u8, Machine),
    /// Rollback: take what is left over off a Machine, which must still be as it was.
    Clean(u8, Machine),
    /// Rollback: take the guard off.
    GuardOff,
    /// Rollback: lift its own pause.
    LiftPause,
}

/// One namespace in one seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seed {
    /// Whose the shoot is.
    pub stage: Stage,
    /// Machines.
    pub machines: [Machine; MACHINES],
    /// MachineClasses.
    pub classes: [Class; CLASSES],
    /// For each pool, the class that its MachineDeployment names; [`NO_POOL`] where there is none.
    pub pools: [u8; CLASSES],
    /// The guard's label.
    pub guard: Guard,
    /// Whether the API server's policies have seen the label by now.
    pub policies_see: bool,
    /// The MachineMigration.
    pub migration: u8,
    /// It was paused already before the last tick.
    pub paused_long: bool,
    /// Gardener has turned the Deployment since the last tick; it does so once a tick.
    pub turned: bool,
    /// The Worker carries the annotation that every Machine is done.
    pub worker_marked: bool,
    /// The MCM Deployment.
    pub template: Template,
    /// Both machine-controller-managers.
    pub mcms: [Mcm; MCMS],
    /// What caches may still show.
    pub window: Window,
    /// What the leader has seen; see [`crate::memory`].
    pub seen: u32,
    /// A rollback is under way.
    pub goes_back: bool,
    /// What the rollback has seen.
    pub back_seen: u32,
    /// The rollback's write under way.
    pub back_sent: Write,
    /// The pause is the rollback's.
    pub paused_by_rollback: bool,
    /// A rollback is through, and Gardener has not turned the Deployment forward again.
    pub is_back: bool,
    /// Classes that a pool wants and that the side task gave another one's provider spec, as bits.
    pub misfits: u8,
    /// The leader's write under way.
    pub sent: Write,
    /// The write that a former leader left under way.
    pub left: Write,
}

/// No MachineDeployment.
pub const NO_POOL: u8 = 255;

/// A server that OpenStack made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub enum Server {
    /// There is none.
    #[default]
    Absent,
    /// It was asked for since the last tick, and no LIST shows it yet.
    Asked,
    /// It was asked for before; before the next tick a LIST will show it.
    AskedBefore,
    /// It is there.
    There,
    /// It is there, and carries the labels of its Machine's class.
    Labelled,
}

impl Server {
    /// Whether a LIST shows it.
    #[must_use]
    pub fn is_listed(self) -> bool {
        matches!(self, Self::There | Self::Labelled)
    }
}

/// The servers of the project.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Cloud {
    /// The server of each Machine that OpenStack made.
    pub old: [Server; MACHINES],
    /// Machines that have a server that STACKIT made, as bits. Such a server is born with its labels.
    pub born: u8,
    /// A server that is none of this shoot's was labelled.
    pub foreign_labelled: bool,
}

/// What is still to go wrong, or to be asked for, before a run ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Budget {
    /// The Deployment flips to OpenStack.
    pub template_back: u8,
    /// A class flips to OpenStack.
    pub class_back: u8,
    /// A Machine is made.
    pub creates: u8,
    /// A Machine is deleted.
    pub deletes: u8,
    /// A Node freezes.
    pub freezes: u8,
    /// A process loses the API server.
    pub cuts: u8,
    /// The leader is another.
    pub crashes: u8,
    /// Somebody writes old IDs back, or removes the guard's label.
    pub meddling: u8,
    /// An operator pauses.
    pub pauses: u8,
    /// The control plane moves to the other seed.
    pub moves: u8,
    /// A new class replaces the first one.
    pub roll_outs: u8,
    /// An operator takes the shoot back.
    pub rollbacks: u8,
    /// The rollback is killed.
    pub kills: u8,
}

/// A state of the model.
///
/// No field of it, nor of what it is made of, is a `usize` or an `isize`, and no list has a length that varies: the hash ([`crate::pack`]) leaves
/// lengths out and keeps one byte of the number of a variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// The seeds.
    pub seeds: [Seed; SEEDS],
    /// The cloud, which is one.
    pub cloud: Cloud,
    /// Machines that nobody has asked to delete, as bits.
    pub wanted: u8,
    /// Machines that there have ever been, as bits: a name is not used twice.
    pub ever: u8,
    /// What was persisted of the Machines for the other seed.
    pub carried: [Machine; MACHINES],
    /// Whether the owner record names the second seed; 2 after a tick.
    pub record: u8,
    /// What is left to go wrong.
    pub budget: Budget,
    /// What has gone wrong for good.
    pub harm: u8,
}
