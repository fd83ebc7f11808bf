use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::version::{TLS12, TLS13};

use super::CertificateStore;

/// TLS 1.2 and 1.3, HTTP/1.1 only: the API server forces HTTP/1.1 to webhooks, so that connections spread over the replicas.
pub(super) fn server_config(certificates: Arc<CertificateStore>) -> Result<Arc<ServerConfig>, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
