//! What several test files need: the binary over a folder of objects, and a client for it.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

pub mod cluster;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rig::Product;
use serde_json::{Value, json};

/// The binary under test.
pub fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_mcm-migration-webhook"))
}

/// A file or folder of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Long enough for anything that happens at all.
pub const DEADLINE: Duration = Duration::from_secs(180);

pub const NAMESPACE: &str = "shoot--garden--prod";
pub const CLASS: &str = "shoot--garden--prod-pool-a-z1-5d3e0";
pub const PROJECT: &str = "2b1f0a3c-7d5e-4f60-8a91-b2c3d4e5f601";
pub const SERVER: &str = "5d3e0fd2-1f0e-4b1c-9c52-8c1d6a1b2c3d";

/// The binary serving over `examples/objects` or another folder, without a cluster.
pub struct Offline {
    pub product: Product,
    pub url: String,
    pub client: reqwest::Client,
    pub folder: tempfile::TempDir,
}

impl Offline {
    /// Serves what `change` makes of a copy of `examples/objects`.
    pub async fn start(more: &[&str], change: impl FnOnce(&Path)) -> Self {
        rig::install_tls_provider();
        let folder = tempfile::tempdir().unwrap();
        let objects = folder.path().join("objects");
        std::fs::create_dir(&objects).unwrap();
        std::fs::copy(repository("examples/objects/shoot.yaml"), objects.join("shoot.yaml")).unwrap();
        change(&objects);
        let tls = folder.path().join("tls");
        let made = std::process::Command::new(binary()).args(["certs", "--out"]).arg(&tls).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let (objects, tls) = (objects.to_str().unwrap(), tls.to_str().unwrap());
        let mut args = vec!["serve", "--objects", objects, "--tls-cert-dir", tls];
        args.extend(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
        if !more.contains(&"--shutdown-delay") {
            args.extend(["--shutdown-delay", "1s"]);
        }
        args.extend(more);
        let product = Product::start(binary(), &args, &[]).unwrap();
        product.ready(DEADLINE).await.unwrap();
        let address = product.address("admission", DEADLINE).await.unwrap();
        let client = client(&std::fs::read(Path::new(tls).join("ca.crt")).unwrap());
        Self { product, url: format!("https://localhost:{}", address.port()), client, folder }
    }

    /// Posts a body, and gives status and body back.
    pub async fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> (u16, String) {
        let answer = self
            .client
            .post(format!("{}{path}?timeout=2s", self.url))
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .unwrap();
        assert!(!answer.headers().contains_key("retry-after"), "an API server would send the call again");
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    /// Asks for a decision on a request, and gives the response back.
    pub async fn ask(&self, path: &str, request: Value) -> Value {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        let (status, body) = self.post(path, review.to_string()).await;
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (&answer["apiVersion"], &answer["kind"]),
            (&json!("admission.k8s.io/v1"), &json!("AdmissionReview"))
        );
        assert_eq!(answer["response"]["uid"], review["request"]["uid"]);
        assert_eq!(answer["response"]["allowed"], true);
        let both = (answer["response"].get("patch").is_some(), answer["response"].get("patchType").is_some());
        assert!(both == (true, true) || both == (false, false), "patch and patchType belong together: {answer}");
        answer["response"].clone()
    }
}

/// An HTTPS client that trusts one CA.
pub fn client(ca: &[u8]) -> reqwest::Client {
    rig::install_tls_provider();
    reqwest::Client::builder()
        .tls_certs_only([reqwest::Certificate::from_pem(ca).unwrap()])
        .timeout(Duration::from_secs(30))
        .build()
        .unwrap()
}

/// A legacy Machine of the armed shoot.
pub fn machine() -> Value {
    json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "Machine",
        "metadata": {"name": "m", "namespace": NAMESPACE, "finalizers": ["machine.sapcloud.io/machine-controller-manager"]},
        "spec": {"class": {"kind": "MachineClass", "name": CLASS}, "providerID": format!("openstack:///RegionOne/{SERVER}")},
    })
}

/// A request for a Machine.
#[allow(clippy::needless_pass_by_value, reason = "callers build the object in place")]
pub fn request(operation: &str, object: Value) -> Value {
    json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "resource": {"group": "machine.sapcloud.io", "version": "v1alpha1", "resource": "machines"},
        "namespace": NAMESPACE,
        "name": "m",
        "operation": operation,
        "userInfo": {"username": "system:serviceaccount:shoot--garden--prod:machine-controller-manager"},
        "object": object,
    })
}

/// The object after a response's patch, applied as RFC 6902 says.
pub fn patched(object: &Value, response: &Value) -> Value {
    use base64::Engine;
    let mut after = object.clone();
    if let Some(patch) = response.get("patch") {
        assert_eq!(response["patchType"], "JSONPatch");
        let json =
            base64::engine::general_purpose::STANDARD.decode(patch.as_str().expect("base64 in a string")).unwrap();
        let patch: json_patch::Patch = serde_json::from_slice(&json).unwrap();
        json_patch::patch(&mut after, &patch).unwrap();
    }
    after
}
