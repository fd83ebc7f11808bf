//! A real kube-apiserver over a real etcd.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;

use crate::kubeconfig::Credential;
use crate::kubectl::{self, Output};
use crate::ports::Port;
use crate::process::{Process, tail};
use crate::store::Store;
use crate::{assets, audit, kubeconfig, prometheus, wait};

/// How long an API server may take to be ready (measured: about 4 s on two idle cores).
const READY: Duration = Duration::from_secs(90);
/// How long it may take to end by itself before it is killed; with an open watch it would take a minute.
const GRACE: Duration = Duration::from_secs(2);
/// How long a token of a service account is valid, in seconds; longer than any test.
const TOKEN_SECONDS: i64 = 24 * 3600;

/// What differs between the API servers of different tests.
#[derive(Clone, Debug, Default)]
pub struct ApiServerOptions {
    /// Further flags of kube-apiserver, such as `--feature-gates=…`.
    pub args: Vec<String>,
}

/// A running API server with RBAC. There is no controller manager: namespaces stay terminating
/// (see [`crate::namespaces`]), owner references are not followed, Deployments make no pods.
#[derive(Debug)]
pub struct ApiServer {
    // Goes before the store with its etcd.
    process: Mutex<Option<Process>>,
    port: Port,
    options: ApiServerOptions,
    folder: PathBuf,
    admin: PathBuf,
    store: Arc<Store>,
    /// Nobody else should get it: it was stopped, frozen or joined by another one over the same etcd.
    spoilt: AtomicBool,
    past: Mutex<Past>,
}

/// What an earlier test has left in the books that cannot be cleaned.
#[derive(Debug, Default)]
struct Past {
    /// So many bytes of the audit log are not of this test.
    audit: u64,
    /// The metrics at its beginning, in the text format of Prometheus.
    metrics: String,
}

impl ApiServer {
    /// Starts etcd and an API server, and waits until it is ready.
    pub async fn start(options: ApiServerOptions) -> Result<Self> {
        crate::install_tls_provider();
        let store = Arc::new(Store::start(assets::ensure().await?).await?);
        Self::over(store, options).await
    }

    /// Another API server over the same etcd, as in a seed with a highly available control plane.
    pub async fn second_on_same_etcd(&self) -> Result<Self> {
        self.spoil();
        Self::over(Arc::clone(&self.store), self.options.clone()).await
    }

    async fn over(store: Arc<Store>, options: ApiServerOptions) -> Result<Self> {
        let folder = store.new_path("apiserver");
        std::fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let port = Port::reserve()?;
        let pair = store.ca.server("kube-apiserver", &["127.0.0.1", "localhost", "kubernetes.default.svc"])?;
        std::fs::write(folder.join("tls.crt"), &pair.cert).context("cannot write a certificate")?;
        kubeconfig::write_private(&folder.join("tls.key"), &pair.key)?;
        std::fs::write(folder.join("audit-policy.yaml"), audit::POLICY).context("cannot write the audit policy")?;
        let admin = folder.join("admin.kubeconfig");
        let client = store.ca.client("kubernetes-admin", &["system:masters"])?;
        let url = format!("https://127.0.0.1:{}", port.number());
        kubeconfig::write(&admin, &url, store.ca.pem(), Credential::Certificate(&client))?;
        let process = Mutex::new(None);
        let (spoilt, past) = (AtomicBool::new(false), Mutex::default());
        let server = Self { process, port, options, folder, admin, store, spoilt, past };
        server.start_api_server().await?;
        Ok(server)
    }

    /// Starts the API server again after [`Self::stop_api_server`], on the same port, and waits until it is ready.
    pub async fn start_api_server(&self) -> Result<()> {
        let log = self.folder.join("kube-apiserver.log");
        let process = Process::spawn_logged("kube-apiserver", &mut self.command(), &log)?;
        *self.lock() = Some(process);
        // A client certificate: anonymous users may see /readyz only once the RBAC roles exist.
        let pem = std::fs::read_to_string(&self.admin).context("cannot read the admin's kubeconfig")?;
        let http = self.http(&pem)?;
        let ready = wait::until("the API server is ready", READY, || async {
            if let Some(status) = self.lock().as_mut().map(Process::try_wait).transpose()?.flatten() {
                // Not worth waiting for.
                return Ok(Some(Err(status)));
            }
            let answer = http.get(format!("{}/readyz", self.url())).send().await?;
            Ok(answer.status().is_success().then_some(Ok(())))
        });
        let ended = ready.await.with_context(|| format!("the end of its log:\n{}", tail(&log, 20)))?;
        if let Err(status) = ended {
            bail!("kube-apiserver ended with {status}:\n{}", tail(&log, 20));
        }
        // Made by a controller inside the API server, a moment after it is ready.
        let namespaces: Api<Namespace> = Api::all(self.admin_client().await?);
        wait::until("the namespace default exists", READY, || async { Ok(namespaces.get_opt("default").await?) })
            .await?;
        Ok(())
    }

    /// Ends the API server (SIGTERM, after 2 s SIGKILL); etcd stays.
    pub async fn stop_api_server(&self) -> Result<()> {
        self.spoil();
        let process = self.lock().take();
        if let Some(mut process) = process {
            process.stop(GRACE).await?;
        }
        Ok(())
    }

    /// Ends the API server at once (SIGKILL); etcd stays.
    pub fn kill_api_server(&self) {
        self.spoil();
        drop(self.lock().take());
    }

    /// Stops the API server and starts it again, on the same port over the same etcd.
    pub async fn restart(&self) -> Result<()> {
        self.stop_api_server().await?;
        self.start_api_server().await
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.store.assets.kube_apiserver);
        let mut set = |flag: &str, value: &dyn AsRef<std::ffi::OsStr>| {
            let mut arg = std::ffi::OsString::from(format!("--{flag}="));
            arg.push(value.as_ref());
            command.arg(arg);
        };
        let shared = |name: &str| self.store.folder().join(name);
        let own = |name: &str| self.folder.join(name);
        set("etcd-servers", &self.store.url());
        set("bind-address", &"127.0.0.1");
        set("secure-port", &self.port.number().to_string());
        set("tls-cert-file", &own("tls.crt"));
        set("tls-private-key-file", &own("tls.key"));
        set("client-ca-file", &shared("ca.crt"));
        set("service-account-issuer", &"https://kubernetes.default.svc");
        set("service-account-key-file", &shared("service-account.pub"));
        set("service-account-signing-key-file", &shared("service-account.key"));
        set("service-cluster-ip-range", &"10.0.0.0/24");
        set("authorization-mode", &"RBAC");
        // There is no controller that would make the accounts this one insists on.
        set("disable-admission-plugins", &"ServiceAccount");
        set("audit-policy-file", &own("audit-policy.yaml"));
        set("audit-log-path", &self.audit_log());
        // An event is in the log before its request is answered; and the log is one file (size in MB).
        set("audit-log-mode", &"blocking");
        set("audit-log-maxsize", &"10000");
        // A loopback address may not stand in an Endpoints object.
        set("endpoint-reconciler-type", &"none");
        set("profiling", &"false");
        command.args(&self.options.args);
        // Collecting garbage this seldom takes a tenth off its work, for a hundred MB or two.
        command.env("GOGC", "200");
        command
    }

    fn http(&self, admin_kubeconfig: &str) -> Result<reqwest::Client> {
        use base64::Engine as _;
        let config: Value = serde_json::from_str(admin_kubeconfig).context("the admin's kubeconfig is no JSON")?;
        let mut pem = Vec::new();
        for key in ["client-key-data", "client-certificate-data"] {
            let data = config["users"][0]["user"][key].as_str().context("the admin has no certificate")?;
            pem.extend(base64::engine::general_purpose::STANDARD.decode(data).context("no base64")?);
        }
        reqwest::Client::builder()
            .tls_certs_only([reqwest::Certificate::from_pem(self.ca_pem().as_bytes())?])
            .identity(reqwest::Identity::from_pem(&pem)?)
            .timeout(Duration::from_secs(30))
            .build()
            .context("cannot make an HTTP client")
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `https://127.0.0.1:<port>`, the same after a restart.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port.number())
    }

    /// Its port on loopback.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The certificate that signed the API server's own.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        self.store.ca.pem()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn spoil(&self) {
        self.spoilt.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_spoilt(&self) -> bool {
        self.spoilt.load(Ordering::Relaxed)
    }

    /// From now on counters and the audit log begin anew.
    pub(crate) async fn forget_the_past(&self) -> Result<()> {
        let audit = std::fs::metadata(self.audit_log()).map_or(0, |log| log.len());
        let metrics = self.metrics().await?;
        *self.past() = Past { audit, metrics };
        Ok(())
    }

    /// From now on kubectl asks again which kinds there are.
    pub(crate) fn forget_kinds(&self) -> Result<()> {
        match std::fs::remove_dir_all(kubectl::cache(self.store.folder())) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).context("cannot clear a cache"),
            _ => Ok(()),
        }
    }

    fn past(&self) -> std::sync::MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    /// A folder for files of the test; it goes with the API server.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.store.folder()
    }

    /// The process ID of etcd, for tests that freeze it.
    #[must_use]
    pub fn etcd_id(&self) -> u32 {
        self.spoil();
        self.store.etcd_id()
    }

    /// The kubeconfig of a user in `system:masters`.
    #[must_use]
    pub fn admin_kubeconfig(&self) -> &Path {
        &self.admin
    }

    /// A new client of the admin; clients belong to the runtime that made them.
    pub async fn admin_client(&self) -> Result<kube::Client> {
        client(&self.admin).await
    }

    /// A kubeconfig with a token of a service account, which has to exist, by a `TokenRequest`.
    pub async fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.admin_client().await?, namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() },
            ..TokenRequest::default()
        };
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .with_context(|| format!("no token for the service account {namespace}/{name}"))?;
        let token = answer.status.context("a TokenRequest without an answer")?.token;
        let path = self.store.new_path(&format!("{namespace}-{name}.kubeconfig"));
        kubeconfig::write(&path, &self.url(), self.ca_pem(), Credential::Token(&token))?;
        Ok(path)
    }

    /// A kubeconfig with a client certificate of the user `name`; `groups` holds one at most.
    pub fn user_kubeconfig(&self, name: &str, groups: &[&str]) -> Result<PathBuf> {
        let pair = self.store.ca.client(name, groups)?;
        let path = self.store.new_path(&format!("{}.kubeconfig", name.replace([':', '/'], "-")));
        kubeconfig::write(&path, &self.url(), self.ca_pem(), Credential::Certificate(&pair))?;
        Ok(path)
    }

    /// Runs kubectl as the admin.
    pub async fn kubectl(&self, args: &[&str], stdin: Option<&str>) -> Result<Output> {
        self.kubectl_as(&self.admin, args, stdin).await
    }

    /// Runs kubectl with another kubeconfig.
    pub async fn kubectl_as(&self, kubeconfig: &Path, args: &[&str], stdin: Option<&str>) -> Result<Output> {
        kubectl::run(&self.store.assets.kubectl, Some(kubeconfig), self.store.folder(), args, stdin).await
    }

    /// The metrics of the API server in the text format of Prometheus.
    pub async fn metrics(&self) -> Result<String> {
        let request = http::Request::get("/metrics").body(Vec::new()).context("no request")?;
        self.admin_client().await?.request_text(request).await.context("cannot read the API server's metrics")
    }

    /// By how much a counter has grown since the beginning of the test, over the series that carry `labels`; 0 if there is none.
    pub async fn metric(&self, name: &str, labels: &[(&str, &str)]) -> Result<f64> {
        let now = prometheus::sum(&self.metrics().await?, name, labels);
        Ok(now - prometheus::sum(&self.past().metrics, name, labels))
    }

    /// The audit log of this test so far: `audit.k8s.io/v1` events, writes to objects of Gardener, MCM and ours with bodies.
    pub fn audit_events(&self) -> Result<Vec<Value>> {
        self.audit_events_about("")
    }

    /// Those events in whose text `about` stands: of a long log, much less.
    pub fn audit_events_about(&self, about: &str) -> Result<Vec<Value>> {
        let from = self.past().audit;
        audit::read(&self.audit_log(), from, about)
    }
}

/// A client for a kubeconfig.
pub async fn client(kubeconfig: &Path) -> Result<kube::Client> {
    crate::install_tls_provider();
    let file = Kubeconfig::read_from(kubeconfig).with_context(|| format!("cannot read {}", kubeconfig.display()))?;
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .context("not a usable kubeconfig")?;
    kube::Client::try_from(config).context("cannot make a client")
}
