//! The command `arm`, run as an operator does.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::Command;

use crate::screen::{Screen, Style};

/// The Nodes of a real seed are watched for two minutes; the sandbox has one, and nothing runs on it.
const ARGS: [&str; 5] = ["arm", "--all", "--node-ready-for", "1s", "--allow-unsafe-node-ready-for"];
/// Exit codes that tell of a walk that came to its end: all armed, some not.
const ENDED: [i32; 2] = [0, 2];

/// Runs `arm --all` and shows what it says as it says it.
pub(crate) async fn all(binary: &Path, kubeconfig: &Path, screen: &Screen) -> Result<()> {
    screen.line(&format!("  {} {}", screen.styled(Style::Dim, "$ mcm-migration-webhook"), ARGS.join(" ")))?;
    let mut child = Command::new(binary)
        .args(ARGS)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .env_remove("KUBECONFIG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    let (out, err) = (child.stdout.take().context("arm has no output")?, child.stderr.take().context("no errors")?);
    tokio::try_join!(pass_on(out, screen), pass_on(err, screen))?;
    let status = child.wait().await.context("cannot wait for arm")?;
    match status.code() {
        Some(code) if ENDED.contains(&code) => Ok(()),
        _ => bail!("arm ended with {status}"),
    }
}

async fn pass_on(pipe: impl AsyncRead + Unpin, screen: &Screen) -> Result<()> {
    let mut lines = BufReader::new(pipe).lines();
    while let Some(line) = lines.next_line().await.context("cannot read what arm says")? {
        // Reasons stand indented below their shoot.
        if line.starts_with(' ') {
            screen.paragraph(6, &line)?;
        } else {
            screen.line(&format!("  {line}"))?;
        }
    }
    Ok(())
}
