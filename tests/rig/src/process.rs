//! A child process that ends with the value that holds it.

use std::fs::{File, OpenOptions};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};

use crate::undertaker;

/// How often an ending process is looked at.
const INTERVAL: Duration = Duration::from_millis(10);

/// A running (or ended) child. Dropping it kills it; so does the end of this process.
///
/// It is the standard library's child rather than tokio's, because it may be shared by tests on different runtimes.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts `command` in a process group of its own. `name` is used in messages.
    pub fn spawn(name: &str, command: &mut Command) -> Result<Self> {
        let child = command
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {name} ({})", command.get_program().display()))?;
        undertaker::watch(child.id());
        Ok(Self { name: name.to_owned(), child, status: None })
    }

    /// Starts `command` with its output appended to the file `log`.
    pub(crate) fn spawn_logged(name: &str, command: &mut Command, log: &Path) -> Result<Self> {
        let open = || -> Result<File> {
            OpenOptions::new()
                .create(true)
                .append(true)
                .open(log)
                .with_context(|| format!("cannot open {}", log.display()))
        };
        Self::spawn(name, command.stdin(Stdio::null()).stdout(open()?).stderr(open()?))
    }

    /// The child itself, for its pipes.
    pub(crate) fn child_mut(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The process ID.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The exit status, once it has ended.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        if self.status.is_none() {
            let status = self.child.try_wait().with_context(|| format!("cannot wait for {}", self.name))?;
            if status.is_some() {
                undertaker::forget(self.child.id());
                self.status = status;
            }
        }
        Ok(self.status)
    }

    /// Sends `signal`; does nothing to a process that has ended.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        if self.try_wait()?.is_some() {
            return Ok(());
        }
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("a process ID that is none")?;
        kill_process(pid, signal).with_context(|| format!("cannot send {signal:?} to {}", self.name))
    }

    /// Ends it with SIGTERM, and with SIGKILL if it is still there after `grace`.
    pub async fn stop(&mut self, grace: Duration) -> Result<()> {
        self.signal(Signal::TERM)?;
        let start = Instant::now();
        while self.try_wait()?.is_none() {
            if start.elapsed() > grace {
                self.kill();
                break;
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(())
    }

    /// Ends it with SIGKILL and reaps it.
    pub fn kill(&mut self) {
        if self.status.is_none() {
            undertaker::forget(self.child.id());
            let _ = self.child.kill();
            self.status = self.child.wait().ok();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last `count` lines of a log file, for messages.
pub(crate) fn tail(log: &Path, count: usize) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
