//! Legacy Machines migrate on a real API server, before your eyes.
//!
//! `cargo run --example sandbox` starts kube-apiserver and etcd, installs the shipped manifests, runs two replicas of the binary under
//! the shipped RBAC, makes a few shoots, arms them with `arm`, and writes to their Machines. `--keep` leaves it all running.
#![allow(clippy::print_stdout, reason = "it talks to the person who started it")]

mod replicas;
mod shoots;
mod table;

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Parser;
use rig::forwarder::Forwarder;
use rig::{ApiServer, ApiServerOptions, Product, crds, install};

use self::shoots::Shoots;
use self::table::Table;

/// Long enough for anything that happens at all.
const DEADLINE: Duration = Duration::from_secs(60);

/// Between two writes, so that one can follow.
const PACE: Duration = Duration::from_millis(300);

/// Shows a migration on a real API server: two replicas of the webhook, four shoots, one of which is not switched yet and one paused.
#[derive(Debug, Parser)]
struct Flags {
    /// Leave everything running until Enter or Ctrl-C, and print how to look at it with kubectl
    #[arg(long)]
    keep: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let flags = Flags::parse();
    let binary = replicas::build()?;
    step(
        "starting etcd and kube-apiserver; the very first start builds them (about 8 minutes) unless KUBEBUILDER_ASSETS names them",
    );
    let server = ApiServer::start(ApiServerOptions::default()).await?;

    step("installing the guard, the CRDs of Gardener and MCM, and the overlay self-managed");
    crds::apply(&server).await?;
    install::apply_folder(&server, &replicas::repository("manifests/guard")).await?;
    let forwarder = Forwarder::start()?;
    let overlay = replicas::repository("manifests/overlays/self-managed");
    install::apply_webhooks(&server, &overlay, &forwarder.url(), None).await?;

    step(
        "starting two replicas with a token of their ServiceAccount; they make their certificate and write the caBundle",
    );
    let replicas = replicas::start(&server, &forwarder, &binary).await?;

    step("making the shoots");
    let shoots = Shoots::create(&server).await?;

    step("arming: mcm-migration-webhook arm --all");
    for line in replicas::arm(&server, &binary).await?.lines() {
        println!("   {line}");
    }
    shoots.await_known(&server).await?;

    step("writing to one Machine after the other, as their controllers would");
    let mut table = Table::new(std::io::stdout().is_terminal());
    table.show(&shoots.look(&server).await?);
    for (namespace, machine) in shoots.machines() {
        shoots.touch(&server, &namespace, &machine).await?;
        tokio::time::sleep(PACE).await;
        table.show(&shoots.look(&server).await?);
    }
    table.end();

    summary(&server, &shoots, &replicas).await?;
    if flags.keep {
        keep(&server).await?;
    }
    Ok(())
}

fn step(what: &str) {
    println!("\n== {what}");
}

async fn summary(server: &ApiServer, shoots: &Shoots, replicas: &[Product]) -> Result<()> {
    step("summary");
    let records =
        replicas.iter().flat_map(Product::logs).filter(|line| line["target"] == "audit" && line["dry_run"] == false);
    let (rewritten, held): (Vec<_>, Vec<_>) = records
        .filter(|line| line["resource"] == "machines" && line["operation"] == "UPDATE")
        .partition(|line| line["decision"] == "changed");
    println!("   {} Machines were rewritten, each in the very write that touched it.", rewritten.len());
    for line in &held {
        println!("   held in {}: {} {}", text(line, "namespace"), text(line, "reason"), text(line, "subject"));
    }
    if let Some(line) = rewritten.first() {
        println!(
            "\n   for example {}\n     before {}\n     after  {}",
            text(line, "name"),
            text(line, "old_id"),
            text(line, "new_id")
        );
    }
    println!(
        "\n   The marker stays on each until its server's labels are confirmed; so the Workers are not marked yet."
    );
    let rows = shoots.look(server).await?;
    for row in rows.iter().filter(|row| shoots.should_migrate(&row.namespace)) {
        ensure!(row.legacy == 0, "{} still has {} legacy Machines", row.namespace, row.legacy);
    }
    ensure!(rewritten.len() == shoots.expected(), "{} Machines were to be rewritten", shoots.expected());
    Ok(())
}

fn text<'a>(line: &'a serde_json::Value, key: &str) -> &'a str {
    line[key].as_str().unwrap_or_default()
}

async fn keep(server: &ApiServer) -> Result<()> {
    let assets = rig::assets::ensure().await?;
    let kubectl = assets.kubectl.display();
    step("it keeps running; press Enter or Ctrl-C to end it");
    println!("   export KUBECONFIG={}", server.admin_kubeconfig().display());
    println!("   {kubectl} get mmig -A -w");
    println!(
        "   {kubectl} get machines -A -o custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,ID:.spec.providerID"
    );
    println!("   {kubectl} -n shoot--garden--paused label machine --all touched=again --overwrite");
    let mut line = String::new();
    let enter = tokio::task::spawn_blocking(move || std::io::stdin().read_line(&mut line));
    tokio::select! {
        // Without a terminal there is no Enter; then only Ctrl-C ends it.
        Ok(Ok(1..)) = enter => {}
        ended = tokio::signal::ctrl_c() => ended?,
    }
    Ok(())
}
