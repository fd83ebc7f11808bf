//! Builds kube-apiserver, kubectl and etcd from the Go modules under `tests/apiserver`.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{FlockOperation, flock};

use crate::say;

/// One program to build: its name, its Go package, about how long it takes on two cores with an empty build cache.
const PROGRAMS: [(&str, &str, &str); 3] = [
    ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", "3 to 6 minutes"),
    ("kubectl", "k8s.io/kubernetes/cmd/kubectl", "20 to 40 seconds"),
    ("etcd", "go.etcd.io/etcd/server/v3", "10 to 70 seconds"),
];

/// How often a long build says that it is still running.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// The folder with the three programs of Kubernetes `minor` (such as `1.36`), built there if they are missing.
pub(crate) fn ensure(minor: &str) -> Result<PathBuf> {
    // tests/rig is two levels below the workspace.
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("no workspace above the rig")?;
    let module = workspace.join("tests/apiserver").join(format!("v{minor}"));
    let version = version_of(&module, minor)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    let folder = target.join("apiserver").join(&version);
    if complete(&folder) {
        return Ok(folder);
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    // Parallel test processes: one builds, the others wait for it.
    let lock_path = folder.join(".lock");
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock_path)
        .with_context(|| format!("cannot open {}", lock_path.display()))?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        say(&format!("another process builds Kubernetes {version}; waiting for it"));
        flock(&lock, FlockOperation::LockExclusive).context("cannot lock the build folder")?;
    }
    if !complete(&folder) {
        say(&format!(
            "the tests run against a real Kubernetes {version}, which is built once, into {}: about 8 minutes on two cores with an empty Go cache",
            folder.display()
        ));
    }
    for (name, package, duration) in PROGRAMS {
        if !folder.join(name).is_file() {
            build(&module, &version, &folder, name, package, duration)?;
        }
    }
    Ok(folder)
}

fn complete(folder: &Path) -> bool {
    PROGRAMS.iter().all(|(name, ..)| folder.join(name).is_file())
}

/// The version of k8s.io/kubernetes that the module requires, with its leading `v`.
fn version_of(module: &Path, minor: &str) -> Result<String> {
    let path = module.join("go.mod");
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!("there is no Go module for {}={minor}: cannot read {}", crate::assets::VERSION_VARIABLE, path.display())
    })?;
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "))
        .find_map(|rest| rest.split_whitespace().next())
        .map(ToOwned::to_owned)
        .with_context(|| format!("{} does not require k8s.io/kubernetes", path.display()))
}

#[allow(
    clippy::disallowed_methods,
    reason = "runs on a thread for blocking work, which sleeping does not keep from anything"
)]
fn build(module: &Path, version: &str, folder: &Path, name: &str, package: &str, duration: &str) -> Result<()> {
    say(&format!("building {name}; about {duration} on two cores"));
    let (major, minor) = version
        .trim_start_matches('v')
        .split_once('.')
        .and_then(|(major, rest)| Some((major, rest.split('.').next()?)))
        .with_context(|| format!("{version} is no version"))?;
    let base = "k8s.io/component-base/version";
    // Without these the server calls itself v0.0.0, and clients refuse it.
    let flags = format!("-s -w -X {base}.gitVersion={version} -X {base}.gitMajor={major} -X {base}.gitMinor={minor}");
    // Under another name until it is whole, so that an interrupted build is never taken for a finished one.
    let partial = folder.join(format!(".{name}.partial"));
    let start = Instant::now();
    let spawned = Command::new("go")
        .current_dir(module)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", &flags, "-o"])
        .arg(&partial)
        .arg(package)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "the tests need a real API server: install Go (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kubectl"
        ),
        Err(error) => return Err(error).context("cannot start go"),
    };
    let mut told = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().context("cannot wait for go build")? {
            break status;
        }
        if told.elapsed() >= HEARTBEAT {
            say(&format!("still building {name}, {} s", start.elapsed().as_secs()));
            told = Instant::now();
        }
        #[allow(clippy::disallowed_methods, reason = "this waits on a thread of its own, for another process")]
        std::thread::sleep(Duration::from_millis(200));
    };
    if !status.success() {
        bail!("go build of {name} failed ({status}); its messages stand above, the module is {}", module.display());
    }
    let path = folder.join(name);
    std::fs::rename(&partial, &path).with_context(|| format!("cannot move {name} into place"))?;
    say(&format!("built {name} in {} s", start.elapsed().as_secs()));
    Ok(())
}
