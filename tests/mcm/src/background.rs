//! One runtime for all stand-ins of a process, so that they go on while a test blocks its own, and outlive none of its tests.

use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use tokio::runtime::{Builder, Handle, Runtime};

/// The runtime; made at the first call and never ended.
pub(crate) fn handle() -> Result<Handle> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let runtime = RUNTIME
        .get_or_init(|| Builder::new_multi_thread().worker_threads(2).thread_name("mcm-stand-in").enable_all().build());
    match runtime {
        Ok(runtime) => Ok(runtime.handle().clone()),
        Err(error) => anyhow::bail!("cannot start the runtime of the stand-ins: {error}"),
    }
}

/// Runs `work` there, and gives what it gave. Clients have to be made there, as they belong to the runtime that made them.
pub(crate) async fn run<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    handle()?.spawn(work).await.context("a task of the stand-in broke off")?
}

/// Tells the person at the terminal. `cargo test` captures `eprintln!`, so this writes around it.
pub(crate) fn say(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "mcm-stand-in: {line}");
}
