//! The gates that can be taken out of the product, one at a time, without a change of the product: the model lies to it.

macro_rules! gates {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $said:literal;)*) => {
        /// A gate that the model can lie away.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Gate {
            $($(#[$doc])* $name = $number,)*
        }

        impl Gate {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// What it asks, in one sentence.
            #[must_use]
            pub fn said(self) -> &'static str {
                match self { $(Self::$name => $said,)* }
            }
        }
    };
}

gates! {
    /// Admission: the guard must be closed.
    AdmissionGuard = 0, "admission: the guard must be closed";
    /// Admission: `Armed`.
    AdmissionArmed = 1, "admission: the condition `Armed`";
    /// Admission: not paused.
    AdmissionPaused = 2, "admission: not paused";
    /// Admission: no class is `OpenStack`.
    AdmissionClasses = 3, "admission: no MachineClass is OpenStack, the Machine's own is stackit";
    /// Admission: the Deployment.
    AdmissionTemplate = 4, "admission: the Deployment has no OpenStack container";
    /// Admission: pods.
    AdmissionPods = 5, "admission: no pod with the OpenStack container";
    /// Admission: the age of the caches.
    AdmissionFresh = 6, "admission: caches that are fresh";
    /// Admission: the project.
    AdmissionProject = 7, "admission: the project is a plain UUID";
    /// The side task: no class is `OpenStack`.
    GuardClasses = 8, "guard and arm: no MachineClass is OpenStack";
    /// The side task: the Deployment.
    GuardTemplate = 9, "guard and arm: the Deployment has no OpenStack container";
    /// The side task: pods.
    GuardPods = 10, "guard and arm: no pod with the OpenStack container";
    /// The probe of the guard.
    Probe = 11, "side task: the guard is probed before arming";
    /// Nodes before arming.
    NodesBeforeArming = 12, "side task: every Node Ready for a while before arming";
    /// Nodes before labelling.
    NodesBeforeLabelling = 13, "side task: every Node Ready before labelling";
    /// The quarantine.
    Quarantine = 14, "side task: the quarantine";
    /// The evidence.
    Evidence = 15, "side task: evidence that the STACKIT machine-controller-manager has caught up";
    /// Read back before labelling.
    ReadBack = 16, "side task: only what is read back counts as rewritten";
    /// Name.
    NameCheck = 17, "side task: the server's name must be the Machine's";
    /// Foreign class labels.
    ForeignClass = 18, "side task: no server of others may carry the class's label";
    /// Ownership.
    OwnershipGate = 19, "side task: nothing is labelled while the shoot is being restored or is another's";
    /// The owner record.
    OwnerRecord = 20, "side task: the owner record";
    /// In-flight time-out.
    InflightTimeout = 21, "side task: the wait before a Machine counts as without a server";
    /// Settle only without OpenStack pods.
    SettlePods = 22, "side task: Machines are settled only when no OpenStack pod is left";
    /// Retire only what is not wanted.
    RetireWanted = 23, "side task: a class is retired only when every wanted MachineDeployment is switched";
    /// Retire only settled classes.
    RetireSettled = 24, "side task: a class is retired only when its Machines are settled";
    /// The gate forward.
    GateForward = 25, "gate forward";
    /// The gate forward: pods.
    ForwardPods = 26, "gate forward: no pod with the OpenStack container";
    /// The gate forward: settled.
    ForwardSettled = 27, "gate forward: every Machine of the class has an ID or is settled";
    /// The gate forward: whose the pause is.
    ForwardWaived = 41, "gate forward: the pause of a rollback waives nothing";
    /// The gate forward: freshness.
    ForwardFresh = 28, "gate forward: caches that are fresh";
    /// Policy.
    NoWayBack = 29, "policy no-way-back";
    /// Policy.
    KeepIds = 30, "policy keep-ids";
    /// Policy.
    KeepGuard = 31, "policy keep-guard";
    /// Policy.
    NoMixed = 32, "policy no-mixed";
    /// The Worker: all done.
    WorkerDone = 33, "Worker: every Machine is done";
    /// Nodes before settling.
    NodesBeforeSettling = 35, "side task: every Node Ready for a while before a Machine counts as without a server";
    /// Nodes before the list that tells which Machines were made later.
    NodesBeforeListing = 40, "side task: every Node Ready for a while before a Machine counts as made later";
    /// Rollback: STACKIT gone.
    BackStackitGone = 36, "rollback: no STACKIT machine-controller-manager is left";
    /// Rollback: nodes.
    BackNodes = 37, "rollback: every Node Ready for a while";
    /// Rollback: labels off.
    BackLabels = 38, "rollback: our labels come off the servers, read back, before an ID is written back";
    /// Rollback: quarantine.
    BackQuarantine = 39, "rollback: quarantine and evidence before the guard is taken off";
    /// The Worker: `Labelled`.
    WorkerLabelled = 34, "Worker: the condition `Labelled`";
}

/// A set of gates that are out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Out(pub u64);

impl Out {
    /// These gates out.
    #[must_use]
    pub fn of(gates: &[Gate]) -> Self {
        Self(gates.iter().fold(0, |bits, gate| bits | 1 << (*gate as u8)))
    }
    /// Whether a gate is out.
    #[must_use]
    pub fn has(self, gate: Gate) -> bool {
        self.0 & (1 << (gate as u8)) != 0
    }
}
