//! The decisions: what is known of a namespace, the gate, and the patch that carries an answer.

mod decision;
mod facts;
mod gate;
mod known;
mod machine;
mod machine_class;
mod patch;
mod reasons;
mod verdict;
mod worker;

pub use decision::{Because, Decision, Outcome};
pub use facts::{
    ClusterFacts, LastOperationFacts, MachineFacts, McmPodFacts, MigrationFacts, NamespaceFacts, NamespaceLabels,
    WorkerFacts,
};
pub use gate::open_for_rewrite;
pub use known::Known;
pub use machine::decide_machine;
pub use machine_class::{decide_machine_class, open_for_flip};
pub use patch::{Operation, Patch, Value};
pub use reasons::{machine_reasons, worker_reasons};
pub use verdict::{Ruling, Verdict};
pub use worker::{decide_worker, every_machine_is_done};
