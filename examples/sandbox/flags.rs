//! The command line.

use std::time::Duration;

/// See legacy Machines migrate on a real API server.
///
/// Starts etcd, kube-apiserver and two replicas of the webhook on loopback, creates a few shoots, arms them, writes to their
/// Machines, and shows what becomes of them. Everything it started ends with it.
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
    /// Over how many seconds the writes are spread
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=3600))]
    seconds: u64,
}

impl Flags {
    /// Over how long the writes are spread.
    pub(crate) fn spread(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}
