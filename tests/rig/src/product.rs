//! Running the product's binary and reading what it logs.

use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::Signal;
use serde_json::Value;

use crate::process::Process;
use crate::{prometheus, say, wait};

/// How many lines a failing test shows.
const SHOWN: usize = 50;

/// One process of the product. Dropping it kills it; if that happens in a panic, its last log lines are shown.
#[derive(Debug)]
pub struct Product {
    process: Mutex<Process>,
    lines: Lines,
}

type Lines = Arc<Mutex<Vec<Value>>>;

impl Product {
    /// Starts `bin` with `args`, and with `env` added to an environment in which no other cluster can be found.
    ///
    /// Its output is read as JSON, one object a line; other lines (panics) are kept as JSON strings.
    pub fn start(bin: &Path, args: &[&str], env: &[(&str, &str)]) -> Result<Self> {
        let mut command = Command::new(bin);
        command
            .args(args)
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .env("HOME", "/nonexistent")
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = Process::spawn("the product", &mut command)?;
        let lines = Lines::default();
        let child = process.child_mut();
        if let Some(pipe) = child.stdout.take() {
            keep(pipe, &lines);
        }
        if let Some(pipe) = child.stderr.take() {
            keep(pipe, &lines);
        }
        Ok(Self { process: Mutex::new(process), lines })
    }

    /// All lines so far, those of standard error too.
    #[must_use]
    pub fn logs(&self) -> Vec<Value> {
        locked(&self.lines).clone()
    }

    /// Waits until a line fulfils `wanted`, also one that is there already, and gives it. Fails early when the process has ended.
    pub async fn await_log(&self, wanted: impl Fn(&Value) -> bool, deadline: Duration) -> Result<Value> {
        self.await_some("a log line", deadline, || locked(&self.lines).iter().find(|line| wanted(line)).cloned()).await
    }

    /// Where `listener` (`admission` or `admin`) listens, as logged:
    /// `{"message":"listening","listener":"admin","address":"127.0.0.1:4711"}`.
    pub async fn address(&self, listener: &str, deadline: Duration) -> Result<SocketAddr> {
        let line = self
            .await_log(
                |line| field(line, "message") == Some("listening") && field(line, "listener") == Some(listener),
                deadline,
            )
            .await
            .with_context(|| format!("the address of the listener {listener}"))?;
        let address = field(&line, "address").context("a line about listening without an address")?;
        let address: SocketAddr = address.parse().with_context(|| format!("{address} is no address"))?;
        // [::] is reached over loopback.
        Ok(if address.ip().is_unspecified() { SocketAddr::from(([127, 0, 0, 1], address.port())) } else { address })
    }

    /// Waits until `/readyz` of the admin listener answers 200.
    pub async fn ready(&self, deadline: Duration) -> Result<()> {
        let admin = self.address("admin", deadline).await?;
        let ready = wait::until("the product is ready", deadline, || async {
            if let Some(code) = self.exit_code()? {
                return Ok(Some(Some(code)));
            }
            match get(admin, "/readyz").await? {
                (200, _) => Ok(Some(None)),
                (status, body) => bail!("/readyz answers {status}: {}", body.trim()),
            }
        });
        match ready.await? {
            Some(code) => bail!("the product ended with {code} before it was ready; its last lines:\n{}", self.tail()),
            None => Ok(()),
        }
    }

    /// `GET path` of the admin listener: status and body.
    pub async fn admin_get(&self, path: &str) -> Result<(u16, String)> {
        get(self.address("admin", Duration::from_secs(60)).await?, path).await
    }

    /// Its metrics in the text format of Prometheus.
    pub async fn metrics(&self) -> Result<String> {
        match self.admin_get("/metrics").await? {
            (200, body) => Ok(body),
            (status, body) => bail!("/metrics answers {status}: {body}"),
        }
    }

    /// The sum of a metric over the series that carry `labels`; 0 if there is none.
    pub async fn metric(&self, name: &str, labels: &[(&str, &str)]) -> Result<f64> {
        Ok(prometheus::sum(&self.metrics().await?, name, labels))
    }

    /// The process ID.
    #[must_use]
    pub fn id(&self) -> u32 {
        locked(&self.process).id()
    }

    /// Sends SIGTERM.
    pub fn sigterm(&self) -> Result<()> {
        self.signal(Signal::TERM)
    }

    /// Sends a signal, such as `Signal::STOP` to freeze it.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        locked(&self.process).signal(signal)
    }

    /// Waits for the end: the exit code, or −1 if a signal ended it.
    pub async fn wait(&self, deadline: Duration) -> Result<i32> {
        wait::until("the product has ended", deadline, || async { self.exit_code() }).await
    }

    /// The exit code if it has ended.
    pub fn exit_code(&self) -> Result<Option<i32>> {
        let status = locked(&self.process).try_wait()?;
        Ok(status.map(|status| status.code().unwrap_or(-1)))
    }

    /// After its end, waits until everything that it wrote is read.
    pub async fn all_read(&self, deadline: Duration) -> Result<()> {
        // Each reader holds the lines until its pipe ends.
        let read = || async { Ok((Arc::strong_count(&self.lines) == 1).then_some(())) };
        wait::until("everything that the product wrote is read", deadline, read).await
    }

    /// Ends it with SIGKILL.
    pub fn kill(&self) {
        locked(&self.process).kill();
    }

    /// The last lines it logged, for messages.
    #[must_use]
    pub fn tail(&self) -> String {
        let lines = locked(&self.lines);
        let shown = &lines[lines.len().saturating_sub(SHOWN)..];
        shown
            .iter()
            .map(|line| line.as_str().map_or_else(|| line.to_string(), ToOwned::to_owned))
            .collect::<Vec<_>>()
            .join("\n")
    }

    async fn await_some<T>(&self, what: &str, deadline: Duration, look: impl Fn() -> Option<T>) -> Result<T> {
        let found = wait::until(what, deadline, || async {
            // The process first: what it wrote before its end is read then.
            let ended = self.exit_code()?;
            Ok(match look() {
                Some(value) => Some(Some(value)),
                None if ended.is_some() => Some(None),
                None => None,
            })
        });
        let found = found.await.with_context(|| format!("the last lines:\n{}", self.tail()))?;
        if let Some(value) = found {
            return Ok(value);
        }
        self.all_read(deadline).await?;
        look().with_context(|| format!("the product ended without {what}; its last lines:\n{}", self.tail()))
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        if std::thread::panicking() {
            say(&format!("the last lines of the product, process {}:\n{}", self.id(), self.tail()));
        }
    }
}

/// A field of a log line, at the top or, as tracing writes it by default, below `fields`.
#[must_use]
pub fn field<'a>(line: &'a Value, name: &str) -> Option<&'a str> {
    line.get(name).or_else(|| line.get("fields")?.get(name))?.as_str()
}

fn keep(pipe: impl Read + Send + 'static, lines: &Lines) {
    let lines = Arc::clone(lines);
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n') {
            let Ok(line) = line else { return };
            let line = String::from_utf8_lossy(&line).into_owned();
            let value = serde_json::from_str(&line).unwrap_or(Value::String(line));
            locked(&lines).push(value);
        }
    });
}

async fn get(address: SocketAddr, path: &str) -> Result<(u16, String)> {
    crate::install_tls_provider();
    let client = reqwest::Client::builder().timeout(Duration::from_secs(30)).no_proxy().build()?;
    let answer = client.get(format!("http://{address}{path}")).send().await?;
    Ok((answer.status().as_u16(), answer.text().await?))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
