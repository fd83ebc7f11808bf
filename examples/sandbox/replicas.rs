//! The binary: building it, running two of it, arming with it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use rig::forwarder::Forwarder;
use rig::{ApiServer, Product};

use super::DEADLINE;

const NAME: &str = "mcm-migration-webhook";

/// A folder of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Builds the binary in the profile of this example, beside which it then stands.
pub(crate) fn build() -> Result<PathBuf> {
    let this = std::env::current_exe().context("where this example is")?;
    let folder = this.parent().and_then(Path::parent).context("this example is not where cargo puts examples")?;
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--bin", NAME, "--profile", profile])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("cannot start cargo to build the binary")?;
    ensure!(built.success(), "the binary does not build");
    Ok(folder.join(NAME))
}

/// Starts two replicas as the Deployment does, behind what stands for the Service.
pub(crate) async fn start(server: &ApiServer, forwarder: &Forwarder, binary: &Path) -> Result<Vec<Product>> {
    let kubeconfig = server.service_account_kubeconfig("mcm-migration-system", NAME).await?;
    let kubeconfig = kubeconfig.to_str().context("a path that is not UTF-8")?;
    let mut replicas = Vec::new();
    for _ in 0..2 {
        let args = ["serve", "--kubeconfig", kubeconfig, "--tls-self-managed", "--tls-extra-san", "127.0.0.1"];
        let listen = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
        let replica = Product::start(binary, &[&args[..], &listen].concat(), &[])?;
        replica.ready(DEADLINE).await?;
        forwarder.add(replica.address("admission", DEADLINE).await?, replica.address("admin", DEADLINE).await?)?;
        replicas.push(replica);
    }
    forwarder.await_ready(2, DEADLINE).await?;
    Ok(replicas)
}

/// Runs `arm --all`, and gives what it printed. There are no Nodes here that could hide anything, so it need not wait for long.
pub(crate) async fn arm(server: &ApiServer, binary: &Path) -> Result<String> {
    let output = tokio::process::Command::new(binary)
        .args(["arm", "--all", "--node-ready-for", "2s", "--allow-unsafe-node-ready-for", "--kubeconfig"])
        .arg(server.admin_kubeconfig())
        .output()
        .await
        .context("cannot start arm")?;
    // 2: some do not qualify, which two of them should not.
    if output.status.code() != Some(2) {
        bail!("arm ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
