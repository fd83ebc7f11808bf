//! A replica of the real binary.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rig::Product;
use simulator::Simulator;

/// How many replicas, as in the manifests.
pub(crate) const REPLICAS: usize = 2;
/// How long a replica may take to be ready.
pub(crate) const READY: Duration = Duration::from_secs(60);

/// Times so short that one can watch. None of them is safe where servers are real.
pub(crate) const QUICK: [&str; 22] = [
    "--quarantine",
    "3s",
    "--allow-unsafe-quarantine",
    "--node-ready-for",
    "1s",
    "--allow-unsafe-node-ready-for",
    "--inflight-timeout",
    "5s",
    "--pass-every",
    "2s",
    "--drift-every",
    "15s",
    "--cloud-rate",
    "unlimited",
    "--cloud-rate-project",
    "unlimited",
    "--lease-duration",
    "3s",
    "--lease-renew-deadline",
    "2s",
    "--lease-retry-period",
    "500ms",
];

/// Starts one, with the rights of `kubeconfig` and the simulator as its cloud.
pub(crate) fn start(binary: &Path, kubeconfig: &Path, simulator: &Simulator) -> Result<Product> {
    let kubeconfig = kubeconfig.to_str().context("a path that is not UTF-8")?;
    let mut args = vec!["serve", "--kubeconfig", kubeconfig];
    args.extend(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
    // The API server calls loopback, not the Service that the certificate is for.
    args.extend(["--tls-self-managed", "--tls-extra-san", "127.0.0.1"]);
    args.extend(QUICK);
    let (iaas, token) = (simulator.iaas_url(), simulator.token_url());
    Product::start(binary, &args, &[("STACKIT_IAAS_ENDPOINT", &iaas), ("STACKIT_TOKEN_BASEURL", &token)])
}
