//! What can happen in the model.

use crate::state::{Template, Write};

/// One step of one actor. Numbers are: seed, then Machine, class or machine-controller-manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Gardener writes the MCM Deployment.
    SetTemplate(u8, Template),
    /// The Deployment's new pod starts.
    PodStarts(u8, u8),
    /// It takes the Lease, fills its informers and begins.
    Leads(u8, u8),
    /// A terminating pod ends.
    PodEnds(u8, u8),
    /// A terminating pod on a Node that is not Ready is deleted from the API.
    PodForced(u8, u8),
    /// Gardener turns a class to `stackit`.
    ClassForward(u8, u8),
    /// Gardener turns a class to `OpenStack`.
    ClassBack(u8, u8),
    /// Gardener makes a new class beside the first one.
    RollOut(u8),
    /// The MachineDeployment names the new class.
    PoolMoves(u8),
    /// Gardener deletes a class that no Machine and no pool refers to.
    ClassGoes(u8, u8),
    /// The Machine's set makes a Machine.
    MachineMade(u8, u8),
    /// Somebody deletes a Machine.
    MachineDeleted(u8, u8),
    /// POS asks for a server.
    PosAsks(u8, u8),
    /// A server that was asked for is there.
    ServerAppears(u8),
    /// POS writes the ID of a Machine's server.
    PosFinds(u8, u8),
    /// POS deletes the server of a terminating Machine.
    PosDeletes(u8, u8),
    /// POS sweeps for orphans.
    PosSweeps(u8, u8),
    /// PST makes a server.
    PstCreates(u8, u8),
    /// PST deletes the server of a terminating Machine.
    PstDeletes(u8, u8),
    /// PST sweeps for orphans.
    PstSweeps(u8, u8),
    /// Another landscape sweeps.
    NeighbourSweeps(u8),
    /// A Node freezes with the pod on it.
    Freezes(u8, u8),
    /// It wakes up.
    Wakes(u8, u8),
    /// A process loses the API server, and not the cloud.
    CutOff(u8, u8),
    /// Its container is started again.
    Restarts(u8, u8),
    /// Somebody writes to a Machine, and admission sees it.
    MachineWritten(u8, u8),
    /// Gardener writes to the Worker, and admission sees it.
    WorkerWritten(u8),
    /// The API server's policies see the guard's label.
    PoliciesSee(u8),
    /// The leader sends a write.
    Send(u8, Write),
    /// It lands.
    Lands(u8),
    /// The write that a former leader sent lands.
    LeftLands(u8),
    /// The leader is another one, which has seen nothing.
    Crashes(u8),
    /// Somebody writes a Machine's old ID back.
    OldIdWritten(u8, u8),
    /// Somebody takes the marker off a Machine.
    MarkerTaken(u8, u8),
    /// Somebody takes the guard's label away.
    GuardRemoved(u8),
    /// An operator pauses the shoot.
    Pauses(u8),
    /// An operator goes on.
    Resumes(u8),
    /// An operator begins to take the shoot back.
    RollbackStarts(u8),
    /// The rollback sends a write.
    BackSends(u8, Write),
    /// It lands.
    BackLands(u8),
    /// The rollback is killed, and begun again.
    RollbackKilled(u8),
    /// The rollback is through.
    RollbackEnds(u8),
    /// The owner record names the second seed.
    RecordMoves,
    /// The control plane begins to leave the first seed.
    Leaves,
    /// What the first seed knows of the Machines is persisted.
    Persists,
    /// A Machine's object goes from the first seed.
    LeftBehind(u8),
    /// Namespace, Worker, Deployment and classes come to the second seed.
    Arrives,
    /// A Machine is made again in the second seed.
    Restored(u8),
    /// The restore has succeeded.
    RestoreEnds,
    /// Time passes.
    Tick,
}
