//! The real binary: cargo builds none for an example.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::screen::Screen;

const NAME: &str = "mcm-migration-webhook";

/// Builds the binary with the profile and into the target folder of this example, and says where it is.
pub(crate) async fn build(screen: &mut Screen) -> Result<PathBuf> {
    let this = std::env::current_exe().context("cannot find this program's own file")?;
    // <target>/<profile>/examples/sandbox
    let profile = this.ancestors().nth(2).context("this program is in no target folder")?;
    let beside = profile.join(NAME);
    let cargo = std::env::var_os("CARGO");
    if cargo.is_none() && beside.is_file() {
        return Ok(beside);
    }
    let step = screen.step(&format!("building {NAME}, if it is not fresh"))?;
    let output = tokio::process::Command::new(cargo.unwrap_or_else(|| "cargo".into()))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--message-format=json-render-diagnostics", "--bin", NAME])
        .args(profile_and_target(profile))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output()
        .await
        .context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo build --bin {NAME} ended with {}", output.status);
    let built = executable(&String::from_utf8_lossy(&output.stdout)).unwrap_or(beside);
    screen.done(step, &format!("{NAME} is built"))?;
    Ok(built)
}

/// `--profile`, and `--target-dir` where the folder above the profile's is one that cargo made.
fn profile_and_target(profile: &Path) -> Vec<std::ffi::OsString> {
    let mut flags = Vec::new();
    if let Some(name) = profile.file_name() {
        // The folder of the profile `dev` has another name.
        flags.extend(["--profile".into(), if name == "debug" { "dev".into() } else { name.to_owned() }]);
    }
    if let Some(target) = profile.parent().filter(|target| target.join("CACHEDIR.TAG").is_file()) {
        flags.extend(["--target-dir".into(), target.into()]);
    }
    flags
}

/// The path in cargo's messages, one JSON object a line.
fn executable(messages: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == NAME)
        .find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
}
