//! Children never outlive the test process, even if it is killed.
//!
//! One small shell reads a pipe that only this process holds. When the pipe closes, for whatever reason, the shell kills
//! the processes it was told about and removes their folders. (The parent-death signal of Linux would need unsafe code,
//! and it fires when a *thread* ends, which is too early for what tests share.)

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

const SCRIPT: &str = r#"
pids=" "
while read -r word value; do
  case "$word" in
    add) pids="$pids$value " ;;
    del) pids="${pids%% $value *} ${pids#* $value }" ;;
    folder) set -- "$@" "$value" ;;
  esac
done
for pid in $pids; do kill -KILL "$pid" 2>/dev/null; done
for folder in "$@"; do rm -rf -- "$folder"; done
"#;

/// Kills the process `pid` when this process ends.
pub(crate) fn watch(pid: u32) {
    tell(&format!("add {pid}"));
}

/// Forgets `pid`. To be called before the process is reaped, as its number may be reused afterwards.
pub(crate) fn forget(pid: u32) {
    tell(&format!("del {pid}"));
}

/// Removes `folder` when this process ends, if it still exists then.
pub(crate) fn watch_folder(folder: &Path) {
    tell(&format!("folder {}", folder.display()));
}

fn tell(line: &str) {
    static PIPE: OnceLock<Mutex<Option<ChildStdin>>> = OnceLock::new();
    let mut pipe = PIPE.get_or_init(|| Mutex::new(start())).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pipe) = pipe.as_mut() {
        // Without the shell, processes still end in Drop.
        let _ = writeln!(pipe, "{line}");
    }
}

fn start() -> Option<ChildStdin> {
    Command::new("/bin/sh")
        .args(["-c", SCRIPT, "rig-undertaker"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Out of reach of a Ctrl-C at the terminal, which would end it before its work.
        .process_group(0)
        .spawn()
        .ok()
        .and_then(|mut child| child.stdin.take())
}
