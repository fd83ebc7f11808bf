//! The command line.

use std::time::Duration;

/// See shoots migrate by themselves, on a real API server and a simulated STACKIT cloud.
///
/// Starts etcd, kube-apiserver, a simulator of the STACKIT API and two replicas of the program on loopback, creates a few shoots
/// as Gardener leaves them after its switch, and shows what becomes of them. Nobody arms them or writes to their Machines.
/// Everything it started ends with it.
///
/// kube-apiserver, etcd and kubectl are taken from the folder in `KUBEBUILDER_ASSETS`; where that is not set, the first start
/// builds them with Go, which takes some minutes.
#[derive(Debug, clap::Parser)]
#[command(
    name = "sandbox",
    after_help = "Exit code 0: every shoot ended as it should. 1: one did not, or something failed."
)]
pub(crate) struct Flags {
    /// Leave everything running at the end, and print how to look around with kubectl
    #[arg(long)]
    pub(crate) keep: bool,
    /// How many seconds the shoots have until all of them have ended
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    within: u64,
}

impl Flags {
    /// How long the shoots have until all of them have ended.
    pub(crate) fn within(&self) -> Duration {
        Duration::from_secs(self.within)
    }
}
