//! A proxy before the API server that misbehaves on demand: one watch goes silent, everything is cut or hangs, answers
//! are late.

mod faults;
mod path;
mod relay;

use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::TcpListener;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::background::Background;
use crate::{ApiServer, install_tls_provider, kubeconfig};
use faults::{Faults, Network};
use relay::Upstream;

/// The proxy: HTTPS and HTTP/1.1, one connection to the API server for each request. Bearer tokens pass through; client
/// certificates cannot. Dropping it closes everything.
#[derive(Debug)]
pub struct ApiProxy {
    address: SocketAddr,
    ca_pem: String,
    folder: PathBuf,
    faults: tokio::sync::watch::Sender<Faults>,
    _background: Background,
}

impl ApiProxy {
    /// Starts a proxy before `server`. It survives restarts of the API server.
    pub fn start(server: &ApiServer) -> Result<Self> {
        install_tls_provider();
        let background = Background::start("proxy")?;
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no loopback port for the proxy")?;
        listener.set_nonblocking(true).context("cannot set up the proxy's socket")?;
        let address = listener.local_addr().context("the proxy has no address")?;
        let acceptor = acceptor(server)?;
        let (faults, _) = tokio::sync::watch::channel(Faults::default());
        let upstream = Arc::new(Upstream {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, server.port())),
            name: ServerName::try_from("127.0.0.1").context("no server name")?,
            connector: connector(server)?,
            faults: faults.clone(),
        });
        background.handle()?.spawn(async move {
            if let Ok(listener) = TcpListener::from_std(listener) {
                relay::serve(listener, acceptor, upstream).await;
            }
        });
        let folder = server.store().new_path("proxy");
        std::fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self { address, ca_pem: server.ca_pem().to_owned(), folder, faults, _background: background })
    }

    /// `https://127.0.0.1:<port>`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// A copy of a kubeconfig with a token that goes through the proxy.
    pub fn kubeconfig_for(&self, token_kubeconfig: &Path) -> Result<PathBuf> {
        let text = std::fs::read_to_string(token_kubeconfig)
            .with_context(|| format!("cannot read {}", token_kubeconfig.display()))?;
        if !text.contains("\"token\"") {
            bail!("{} has no token; a client certificate does not pass through a proxy", token_kubeconfig.display());
        }
        let name = token_kubeconfig.file_name().context("a kubeconfig without a name")?;
        let path = self.folder.join(name);
        kubeconfig::redirect(token_kubeconfig, &path, &self.url(), &self.ca_pem)?;
        Ok(path)
    }

    /// From now on a watch of `resource` (the plural) is answered with 200 and then nothing, and the open ones deliver
    /// nothing more: no event, no bookmark, no end. A stream that fell silent stays so after [`Self::heal`], as a
    /// half-open connection does; until then every new one falls silent too.
    pub fn swallow_watch(&self, resource: &str) {
        self.faults.send_modify(|faults| {
            faults.swallowed.insert(resource.to_owned());
        });
    }

    /// All connections are closed, and new ones too as soon as they are accepted.
    pub fn cut(&self) {
        self.faults.send_modify(|faults| {
            faults.network = Network::Cut;
            faults.cuts += 1;
        });
    }

    /// Nothing passes in either direction, but no connection is closed; new ones are accepted and never answered.
    /// Answers that were held back arrive after [`Self::heal`].
    pub fn hang(&self) {
        self.faults.send_modify(|faults| faults.network = Network::Hanging);
    }

    /// Each request takes `duration` longer, and so does each event of a watch.
    pub fn delay(&self, duration: Duration) {
        self.faults.send_modify(|faults| faults.delay = duration);
    }

    /// Takes all faults back.
    pub fn heal(&self) {
        self.faults.send_modify(|faults| *faults = Faults { cuts: faults.cuts, ..Faults::default() });
    }
}

fn acceptor(server: &ApiServer) -> Result<TlsAcceptor> {
    let pair = server.store().ca.server("api-proxy", &["127.0.0.1", "localhost"])?;
    let certificate = CertificateDer::from_pem_slice(pair.cert.as_bytes()).context("no certificate for the proxy")?;
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).context("no key for the proxy")?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .context("the proxy's certificate is of no use")?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn connector(server: &ApiServer) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(server.ca_pem().as_bytes()).context("no CA certificate")?;
    roots.add(ca).context("the CA is of no use")?;
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
