//! STACKIT's Python client in a virtual environment of its own, installed once under `target`.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Runs the script with this argument and returns what it printed.
pub(crate) fn run(argument: &Value) -> Result<Value> {
    let mut command = Command::new(python()?);
    // -I: neither PYTHONPATH nor the user's packages can stand in for the client.
    command.arg("-I").arg(here().join("script.py")).arg(argument.to_string());
    // A key or an endpoint of the person who runs the tests must not reach the client, nor may a proxy take its calls.
    for (name, _) in std::env::vars_os() {
        let upper = name.to_string_lossy().to_uppercase();
        if upper.starts_with("STACKIT_") || upper.ends_with("_PROXY") {
            command.env_remove(name);
        }
    }
    let output = command.stdin(Stdio::null()).output().context("cannot run the script")?;
    if !output.status.success() {
        bail!("the script failed ({}):\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).with_context(|| format!("the script printed no JSON: {text}"))
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/official")
}

/// The interpreter of the virtual environment, which is made if there is none for these requirements.
fn python() -> Result<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("no workspace above the crate")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    let folder = target.join("simulator-python");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let environment = folder.join("venv");
    let python = environment.join("bin/python");
    let stamp = environment.join("installed-requirements.txt");

    // Parallel test processes: one installs, the others wait for it. The lock ends with the file.
    let _lock = locked(&folder.join(".lock"))?;
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == REQUIREMENTS) {
        return Ok(python);
    }
    // An interrupted or another installation.
    if environment.exists() {
        std::fs::remove_dir_all(&environment).context("cannot remove the old virtual environment")?;
    }
    step(Command::new("python3").args(["-m", "venv"]).arg(&environment), "python3 (with its module venv) is needed")?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--requirement"];
    step(
        Command::new(&python).args(install).arg(here().join("requirements.txt")),
        "the packages come from the index that pip is configured for",
    )?;
    std::fs::write(&stamp, REQUIREMENTS).context("cannot write the stamp")?;
    Ok(python)
}

fn locked(path: &Path) -> Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    flock(&file, FlockOperation::LockExclusive).with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

fn step(command: &mut Command, hint: &str) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {command:?}: {hint}"))?;
    if !output.status.success() {
        bail!("{command:?} failed ({}): {hint}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
