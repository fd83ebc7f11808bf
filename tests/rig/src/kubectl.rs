//! Running the real kubectl.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// What a program left.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit code; −1 if a signal ended it.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error: messages and warnings.
    pub stderr: String,
}

impl Output {
    /// Whether the exit code was 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.status == 0
    }

    /// Standard output, or an error with standard error in it.
    pub fn ok(self) -> Result<String> {
        if self.success() {
            return Ok(self.stdout);
        }
        bail!("kubectl ended with {}: {}", self.status, self.stderr.trim());
    }
}

/// Where a kubectl of this `home` remembers which kinds there are.
pub(crate) fn cache(home: &Path) -> PathBuf {
    home.join(".kube/cache")
}

/// Runs `kubectl` with `kubeconfig`; its discovery cache is kept below `home`.
pub(crate) async fn run(
    kubectl: &Path,
    kubeconfig: Option<&Path>,
    home: &Path,
    args: &[&str],
    stdin: Option<&str>,
) -> Result<Output> {
    let mut command = Command::new(kubectl);
    // Nothing of the person's own cluster may be reachable from a test.
    command.env_remove("KUBECONFIG").env("HOME", home).args(args);
    if let Some(kubeconfig) = kubeconfig {
        command.arg("--kubeconfig").arg(kubeconfig);
    }
    command
        .stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", kubectl.display()))?;
    let pipe = child.stdin.take();
    let feed = async {
        if let (Some(mut pipe), Some(text)) = (pipe, stdin) {
            // A kubectl that refuses its arguments closes the pipe early; its exit code tells.
            let _ = pipe.write_all(text.as_bytes()).await;
        }
    };
    let ((), output) = tokio::join!(feed, child.wait_with_output());
    let output = output.context("cannot wait for kubectl")?;
    Ok(Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
