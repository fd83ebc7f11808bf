//! A small router behind the real listeners, and clients that speak to it byte by byte or as a pooling HTTP client.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use mcm_migration_webhook::serving::certificates::authority::{Issued, issue, new_authority};
use mcm_migration_webhook::serving::{
    Admin, CertificateStore, ListenConfig, Listeners, Readiness, ServingError, ServingMetrics, Shutdown, UnixTime,
    certificates::ServingPair, metrics, serve,
};
use prometheus_client::registry::Registry;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use secrecy::ExposeSecret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub const DAY: Duration = Duration::from_secs(86_400);

/// Nothing in these tests takes this long unless it hangs.
pub const SOON: Duration = Duration::from_secs(60);

pub fn install_provider() {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
}

pub fn new_ca() -> Issued {
    new_authority(UnixTime::now().minus(DAY), 10 * DAY).unwrap()
}

pub fn leaf_for_localhost(authority: &Issued) -> Issued {
    let names = BTreeSet::from(["localhost".to_owned(), "127.0.0.1".to_owned()]);
    issue(authority, &names, UnixTime::now().minus(DAY), UnixTime::now().plus(DAY)).unwrap()
}

pub fn store_of(leaf: &Issued, metrics: ServingMetrics) -> Arc<CertificateStore> {
    let pair = ServingPair::from_pem(leaf.certificate.as_bytes(), leaf.key.expose_secret().as_bytes(), None).unwrap();
    CertificateStore::new(pair, metrics)
}

/// What a test asks of the server.
pub struct Setup {
    pub max_connections: u32,
    pub shutdown_delay: Duration,
    pub drain_timeout: Duration,
    pub readiness: Readiness,
    /// Calls of `/held` wait for a permit of it.
    pub held: Arc<Semaphore>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            max_connections: 256,
            shutdown_delay: Duration::ZERO,
            drain_timeout: Duration::from_secs(20),
            readiness: Readiness::default(),
            held: Arc::new(Semaphore::new(0)),
        }
    }
}

pub struct Metrics {
    pub registry: Registry,
    pub serving: ServingMetrics,
}

impl Metrics {
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix(metrics::PREFIX);
        let serving = ServingMetrics::register(&mut registry);
        Self { registry, serving }
    }
}

pub struct Server {
    pub address: SocketAddr,
    pub admin: SocketAddr,
    pub shutdown: Shutdown,
    pub ca: Issued,
    pub store: Arc<CertificateStore>,
    pub ended: JoinHandle<Result<(), ServingError>>,
}

/// `POST /length` answers the length of the body, `POST /held` waits, `GET /panic` panics, `GET /hint` says when to come again.
fn router(held: Arc<Semaphore>) -> Router {
    let wait = async move |_: Bytes| {
        held.acquire().await.unwrap().forget();
        "done"
    };
    Router::new()
        .route("/length", post(async |body: Bytes| body.len().to_string()))
        .route("/held", post(wait))
        .route("/panic", get(async || -> &'static str { panic!("on purpose") }))
        .route(
            "/hint",
            get(async || (http::StatusCode::TOO_MANY_REQUESTS, [(http::header::RETRY_AFTER, "1")], "later")),
        )
        .layer(DefaultBodyLimit::disable())
}

impl Server {
    pub async fn start(setup: Setup) -> Self {
        install_provider();
        let ca = new_ca();
        let metrics = Metrics::new();
        let store = store_of(&leaf_for_localhost(&ca), metrics.serving.clone());
        Self::start_with(setup, metrics, ca, store).await
    }

    pub async fn start_with(setup: Setup, metrics: Metrics, ca: Issued, store: Arc<CertificateStore>) -> Self {
        install_provider();
        let Setup { max_connections, shutdown_delay, drain_timeout, readiness, held } = setup;
        let loopback: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let config =
            ListenConfig { listen: loopback, admin_listen: loopback, max_connections, shutdown_delay, drain_timeout };
        let listeners = Listeners::bind(&config).await.unwrap();
        let (address, admin_address) = (listeners.admission_address(), listeners.admin_address());
        let shutdown = Shutdown::new();
        let Metrics { registry, serving } = metrics;
        let admin = Admin { readiness, registry, refresh: Box::new(|| {}) };
        let certificates = Arc::clone(&store);
        let ended = tokio::spawn(serve(listeners, router(held), certificates, admin, serving, shutdown.clone()));
        Self { address, admin: admin_address, shutdown, ca, store, ended }
    }

    /// A TLS connection of the API server's kind.
    pub async fn connect(&self) -> TlsStream<TcpStream> {
        self.connect_with(client_config(&self.ca)).await.unwrap()
    }

    pub async fn connect_with(&self, config: ClientConfig) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    /// A client that keeps connections, as the API server's does.
    pub fn pooling_client(&self) -> reqwest::Client {
        pooling_client(&[&self.ca])
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.address.port())
    }

    pub fn admin_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.admin)
    }

    /// A call of the admin listener, on a connection of its own.
    pub async fn admin_get(&self, path: &str) -> reqwest::Result<reqwest::Response> {
        reqwest::Client::builder().no_proxy().timeout(SOON).build()?.get(self.admin_url(path)).send().await
    }

    /// The value of a metric, as `/metrics` shows it.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = self.admin_get("/metrics").await.unwrap().text().await.unwrap();
        let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in\n{text}")).rsplit(' ').next().unwrap().parse().unwrap()
    }
}

pub fn pooling_client(cas: &[&Issued]) -> reqwest::Client {
    client_builder(cas).build().unwrap()
}

pub fn client_builder(cas: &[&Issued]) -> reqwest::ClientBuilder {
    install_provider();
    let roots = cas.iter().map(|ca| reqwest::Certificate::from_pem(ca.certificate.as_bytes()).unwrap());
    reqwest::Client::builder().tls_certs_only(roots).no_proxy().timeout(SOON)
}

pub fn client_config(ca: &Issued) -> ClientConfig {
    client_config_for(ca, rustls::ALL_VERSIONS)
}

pub fn client_config_for(ca: &Issued, versions: &[&'static SupportedProtocolVersion]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.certificate.as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_protocol_versions(versions);
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// The head of a POST with a body of `length` bytes.
pub fn head(path: &str, length: usize) -> Vec<u8> {
    format!("POST {path}?timeout=2s HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n").into_bytes()
}

/// Reads until the other side closes; what came is what counts, however it was closed.
pub async fn read_to_close(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut all = Vec::new();
    let mut some = [0; 4096];
    loop {
        match tokio::time::timeout(SOON, stream.read(&mut some)).await.expect("the connection stays open") {
            Ok(0) | Err(_) => return String::from_utf8_lossy(&all).into_owned(),
            Ok(length) => all.extend_from_slice(&some[..length]),
        }
    }
}

/// Sends a POST over a connection and reads its answer, head and body.
pub async fn post_raw(stream: &mut TlsStream<TcpStream>, path: &str, body: &[u8]) -> std::io::Result<String> {
    stream.write_all(&[head(path, body.len()), body.to_vec()].concat()).await?;
    stream.flush().await?;
    read_answer(stream).await
}

/// Reads one answer whose length is announced.
pub async fn read_answer(stream: &mut (impl AsyncReadExt + Unpin)) -> std::io::Result<String> {
    let mut all = Vec::new();
    let mut some = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&all).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase().lines().find_map(|line| {
                line.strip_prefix("content-length:").map(|length| length.trim().parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                return Ok(text);
            }
        }
        match tokio::time::timeout(SOON, stream.read(&mut some)).await.expect("no answer")? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            length => all.extend_from_slice(&some[..length]),
        }
    }
}

/// Polls until `holds`.
pub async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let until = tokio::time::Instant::now() + SOON;
    while !holds().await {
        assert!(tokio::time::Instant::now() < until, "still not so: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Writes a pair as a Secret volume holds it: into a new folder behind `..data`, swapped in one step.
pub fn swap_in(dir: &Path, version: u32, certificate: &str, key: &str) {
    let data = dir.join(format!("..version_{version}"));
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("tls.crt"), certificate).unwrap();
    std::fs::write(data.join("tls.key"), key).unwrap();
    let temporary = dir.join("..data_tmp");
    std::os::unix::fs::symlink(&data, &temporary).unwrap();
    let old = std::fs::read_link(dir.join("..data")).ok();
    std::fs::rename(&temporary, dir.join("..data")).unwrap();
    for name in ["tls.crt", "tls.key"] {
        if !dir.join(name).exists() {
            std::os::unix::fs::symlink(Path::new("..data").join(name), dir.join(name)).unwrap();
        }
    }
    if let Some(old) = old {
        std::fs::remove_dir_all(old).unwrap();
    }
}
