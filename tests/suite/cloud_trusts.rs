//! Which certificates the client trusts, and where it sends what it holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cloud_support::stub::{Stub, response};
use crate::cloud_support::{PROJECT, config, parse, project, region, server};
use mcm_migration_webhook::cloud::{CloudMetrics, Clouds, ConfigError, Endpoint, ProjectClient};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A certificate authority, and a TLS server that passes everything on to `url`.
async fn behind_tls(url: &str, folder: &Path) -> (String, PathBuf) {
    let (ca_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut ca = CertificateParams::default();
    ca.distinguished_name.push(DnType::CommonName, "a test's authority");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let bundle = folder.join("ca.pem");
    fs::write(&bundle, ca.self_signed(&ca_key).unwrap().pem()).unwrap();
    let leaf = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &Issuer::new(ca, ca_key)).unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], private)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let behind = url.trim_start_matches("http://").to_owned();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut behind = TcpStream::connect(behind).await.unwrap();
                drop(copy_bidirectional(&mut stream, &mut behind).await);
            });
        }
    });
    (format!("https://localhost:{port}"), bundle)
}

fn client(stub: &Stub, iaas: &str, ca_bundle: &Path) -> ProjectClient {
    let mut config = config(iaas, &format!("{}/token", stub.url));
    config.ca_bundle = Some(ca_bundle.to_owned());
    Clouds::new(config, CloudMetrics::default()).unwrap().project(project(PROJECT), parse(&stub.key))
}

#[tokio::test]
async fn a_further_authority_is_trusted_and_a_wrong_one_is_named_at_once() {
    let stub = Stub::start().await;
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (iaas, bundle) = behind_tls(&stub.url, folder.path()).await;
    let (_, wrong) = behind_tls(&stub.url, other.path()).await;
    stub.then_json(200, r#"{"items":[]}"#);
    assert_eq!(client(&stub, &iaas, &bundle).list_servers(&region()).await.unwrap(), []);

    let before = stub.asked().len();
    let error = client(&stub, &iaas, &wrong).list_servers(&region()).await.unwrap_err();
    assert_eq!((error.reason_class(), error.failure().attempts), ("untrusted", 1), "{error}");
    assert!(error.to_string().contains("--ca-bundle"), "{error}");
    // The token alone came through; the request with it was never sent.
    assert_eq!(stub.asked().len(), before + 1);
}

#[tokio::test]
async fn a_bundle_without_a_certificate_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config("http://127.0.0.1:1", "http://127.0.0.1:1/token");
    for (name, content) in [
        ("none.pem", Some("")),
        ("bad.pem", Some("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n")),
        ("absent.pem", None),
    ] {
        let path = folder.path().join(name);
        if let Some(content) = content {
            fs::write(&path, content).unwrap();
        }
        config.ca_bundle = Some(path);
        let error = Clouds::new(config.clone(), CloudMetrics::default()).unwrap_err();
        assert!(matches!(error, ConfigError::CaBundle { .. }) && error.to_string().contains(name), "{error}");
    }
}

#[tokio::test]
async fn no_redirection_is_followed_with_a_token_or_an_assertion() {
    let (stub, thief) = (Stub::start().await, Stub::start().await);
    let (iaas, token) = (format!("{}/servers", thief.url), format!("{}/token", thief.url));
    for status in [301, 302, 303, 307, 308] {
        let to = iaas.clone();
        stub.then(move |_| response(status, &[("location", &to)], String::new()));
        let error = stub.client.get_server(&region(), server()).await.unwrap_err();
        assert_eq!((error.reason_class(), error.failure().status), ("unexpected", Some(status)), "{error}");
    }
    let stub = Stub::start().await;
    stub.then_token(move |_| response(307, &[("location", &token)], String::new()));
    let error = stub.client.get_server(&region(), server()).await.unwrap_err();
    assert_eq!(error.reason_class(), "unexpected", "{error}");
    assert!(thief.asked().is_empty());
}

#[tokio::test]
async fn a_key_sends_its_assertion_nowhere_but_to_stackit() {
    let stub = Stub::start().await;
    let mut key: serde_json::Value = serde_json::from_str(&stub.key).unwrap();
    key["credentials"]["tokenEndpoint"] = format!("{}/token", stub.url).into();
    let mut config = config(&stub.url, &stub.url);
    config.token_endpoint = None;
    let clouds = Clouds::new(config.clone(), CloudMetrics::default()).unwrap();
    let error = clouds.project(project(PROJECT), parse(&key.to_string())).list_servers(&region()).await.unwrap_err();
    assert_eq!(error.reason_class(), "key");
    assert!(error.to_string().contains("STACKIT_TOKEN_BASEURL"), "{error}");
    assert!(stub.asked().is_empty());

    // What the operator names goes before what the key names.
    config.token_endpoint = Some(Endpoint::token(&format!("{}/token", stub.url)).unwrap());
    key["credentials"]["tokenEndpoint"] = "https://service-account.api.stackit.cloud/token".into();
    let clouds = Clouds::new(config, CloudMetrics::default()).unwrap();
    stub.then_json(200, r#"{"items":[]}"#);
    clouds.project(project(PROJECT), parse(&key.to_string())).list_servers(&region()).await.unwrap();
}
