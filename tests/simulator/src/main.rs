//! The simulator as a program, for people and scripts: see `--help`.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Parser, ValueEnum};
use simulator::{LabelMode, Nic, Server, Simulator, Volume};
use tokio::signal::unix::{SignalKind, signal};
use uuid::Uuid;

/// Simulates the STACKIT APIs for tokens, servers, network interfaces and volumes, over plain HTTP.
///
/// Prints the variables that point a client at it, then serves until SIGTERM or ctrl-c.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where to listen; port 0 takes one that is free.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// A project; can be repeated.
    #[arg(long = "project", value_name = "UUID", required = true)]
    projects: Vec<Uuid>,
    /// How many servers each project has, named machine-0, machine-1, …, each with a network interface and a boot volume.
    #[arg(long, default_value_t = 3)]
    servers: usize,
    /// The region that the servers are in.
    #[arg(long, default_value = "eu01")]
    region: String,
    /// A folder for the keys, one file a project: PROJECT.json
    #[arg(long, value_name = "FOLDER")]
    keys: PathBuf,
    /// How many seconds an access token lives.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    token_lifetime: u64,
    /// Which label keys are accepted.
    #[arg(long, value_enum, default_value_t = Mode::Observed)]
    label_mode: Mode,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// At most 63 characters, slashes among them
    Observed,
    /// An optional domain prefix and a slash in front of at most 63 characters
    Prefixed,
    /// At most 63 characters, no slash
    Strict,
}

impl From<Mode> for LabelMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Observed => Self::Observed,
            Mode::Prefixed => Self::Prefixed,
            Mode::Strict => Self::Strict,
        }
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let simulator = Simulator::start_on(arguments.listen)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot make a runtime")?;
    runtime.block_on(async {
        // Before anything is printed: who reads the URLs may send the signal at once.
        let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
        furnish(&simulator, &arguments)?;
        announce(&simulator).context("cannot print the URLs")?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(())
    })
}

fn furnish(simulator: &Simulator, arguments: &Arguments) -> Result<()> {
    let cloud = simulator.cloud();
    cloud.set_token_lifetime(Duration::from_secs(arguments.token_lifetime));
    cloud.set_label_mode(arguments.label_mode.into());
    std::fs::create_dir_all(&arguments.keys).with_context(|| format!("cannot create {}", arguments.keys.display()))?;
    for project in &arguments.projects {
        let project = project.to_string();
        let path = arguments.keys.join(format!("{project}.json"));
        let key = cloud.add_project(&project).json_with_token_endpoint(&simulator.token_url());
        std::fs::write(&path, key).with_context(|| format!("cannot write {}", path.display()))?;
        let network = Uuid::new_v4().to_string();
        for number in 0..arguments.servers {
            let name = format!("machine-{number}");
            let server = Server::new(Uuid::new_v4(), name.as_str())
                .with_nic(Nic::new(network.as_str(), name.as_str()))
                .with_volume(Volume::boot(name.as_str()));
            cloud.add_server(&project, &arguments.region, server);
        }
    }
    Ok(())
}

fn announce(simulator: &Simulator) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "STACKIT_IAAS_ENDPOINT={}", simulator.iaas_url())?;
    writeln!(out, "STACKIT_TOKEN_BASEURL={}", simulator.token_url())?;
    out.flush()
}
