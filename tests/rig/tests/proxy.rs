//! The proxy swallows one watch, cuts, hangs and delays, and heals.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use rig::{ApiProxy, ApiServer, ApiServerOptions, api_server, objects};
use serde_json::{Value, json};

/// Longer than an event takes that comes at all.
const QUIET: Duration = Duration::from_secs(2);
const SOON: Duration = Duration::from_secs(60);

struct Rig {
    server: ApiServer,
    proxy: ApiProxy,
    /// Goes through the proxy.
    client: kube::Client,
}

async fn start() -> Rig {
    let server = ApiServer::start(ApiServerOptions::default()).await.unwrap();
    for args in [
        &["create", "serviceaccount", "user", "-n", "default"][..],
        &["create", "clusterrolebinding", "user", "--clusterrole=cluster-admin", "--serviceaccount=default:user"],
    ] {
        server.kubectl(args, None).await.unwrap().ok().unwrap();
    }
    let proxy = ApiProxy::start(&server).unwrap();
    let token = server.service_account_kubeconfig("default", "user").await.unwrap();
    let client = api_server::client(&proxy.kubeconfig_for(&token).unwrap()).await.unwrap();
    let rig = Rig { server, proxy, client };
    rig::until("the role works", SOON, || async { rig.read().await.map(Some) }).await.unwrap();
    rig
}

/// A watch through the proxy.
struct Watch(kube::client::Body);

impl Watch {
    /// The names of the objects in the next piece; `None` if nothing comes for so long. The end of the stream is "end".
    async fn next(&mut self, patience: Duration) -> Option<String> {
        match tokio::time::timeout(patience, self.0.frame()).await.ok()? {
            None | Some(Err(_)) => Some("end".to_owned()),
            Some(Ok(frame)) => {
                let data = frame.into_data().unwrap();
                let lines = data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                let events = lines.map(|line| serde_json::from_slice::<Value>(line).unwrap());
                Some(events.map(|event| event["object"]["metadata"]["name"].as_str().unwrap().to_owned()).collect())
            }
        }
    }

    async fn expect(&mut self, name: &str) {
        assert_eq!(self.next(SOON).await.as_deref(), Some(name));
    }

    async fn expect_silence(&mut self) {
        assert_eq!(self.next(QUIET).await, None);
    }
}

impl Rig {
    /// A watch from now on, after the objects that are there.
    async fn watch(&self, resource: &str) -> Watch {
        let path = format!("/api/v1/namespaces/default/{resource}");
        let list: Value = self.server.admin_client().await.unwrap().request(get(&path)).await.unwrap();
        let version = list["metadata"]["resourceVersion"].as_str().unwrap();
        let path = format!("{path}?watch=true&timeoutSeconds=300&resourceVersion={version}");
        let response = self.client.send(get(&path).map(kube::client::Body::from)).await.unwrap();
        assert_eq!(response.status(), 200);
        Watch(response.into_body())
    }

    /// Makes an object past the proxy.
    async fn create(&self, kind: &str, name: &str) {
        let client = self.server.admin_client().await.unwrap();
        let metadata = json!({ "namespace": "default", "name": name });
        objects::create(&client, &json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata })).await.unwrap();
    }

    /// A plain read through the proxy.
    async fn read(&self) -> anyhow::Result<Value> {
        Ok(self.client.request(get("/api/v1/namespaces/default/configmaps")).await?)
    }
}

fn get(path: &str) -> http::Request<Vec<u8>> {
    http::Request::get(path).body(Vec::new()).unwrap()
}

#[tokio::test]
async fn events_pass_until_one_watch_is_swallowed_and_new_watches_work_after_the_healing() {
    let rig = start().await;
    let (mut maps, mut secrets) = (rig.watch("configmaps").await, rig.watch("secrets").await);
    rig.create("ConfigMap", "first").await;
    maps.expect("first").await;

    rig.proxy.swallow_watch("configmaps");

    let mut late = rig.watch("configmaps").await;
    rig.create("ConfigMap", "second").await;
    rig.create("Secret", "other").await;
    secrets.expect("other").await;
    maps.expect_silence().await;
    late.expect_silence().await;
    // Reads are not watches.
    let items = rig.read().await.unwrap()["items"].as_array().unwrap().len();
    assert_eq!(items, 2);

    rig.proxy.heal();

    let mut fresh = rig.watch("configmaps").await;
    rig.create("ConfigMap", "third").await;
    fresh.expect("third").await;
    // What fell silent stays silent, like a connection that is half open.
    maps.expect_silence().await;
    late.expect_silence().await;
}

#[tokio::test]
async fn a_swallowed_watch_does_not_even_end_with_the_api_server() {
    let rig = start().await;
    let (mut maps, mut secrets) = (rig.watch("configmaps").await, rig.watch("secrets").await);
    rig.proxy.swallow_watch("configmaps");

    rig.server.stop_api_server().await.unwrap();

    secrets.expect("end").await;
    maps.expect_silence().await;
    // The proxy itself outlives a restart.
    rig.server.start_api_server().await.unwrap();
    rig.read().await.unwrap();
}

#[tokio::test]
async fn a_cut_closes_what_is_open_and_what_comes() {
    let rig = start().await;
    let mut maps = rig.watch("configmaps").await;

    rig.proxy.cut();

    maps.expect("end").await;
    rig.read().await.unwrap_err();
    rig.proxy.heal();
    rig.read().await.unwrap();
}

#[tokio::test]
async fn hanging_holds_everything_back_until_the_healing() {
    let rig = start().await;
    let mut maps = rig.watch("configmaps").await;

    rig.proxy.hang();

    rig.create("ConfigMap", "held").await;
    maps.expect_silence().await;
    tokio::time::timeout(QUIET, rig.read()).await.unwrap_err();
    rig.proxy.heal();
    maps.expect("held").await;
    rig.read().await.unwrap();
}

#[tokio::test]
async fn a_delay_makes_requests_and_events_late() {
    let rig = start().await;
    let mut maps = rig.watch("configmaps").await;

    rig.proxy.delay(Duration::from_secs(1));

    rig.create("ConfigMap", "late").await;
    let written = Instant::now();
    maps.expect("late").await;
    // The event may have set out a little before the write was answered.
    assert!(written.elapsed() >= Duration::from_millis(900), "{:?}", written.elapsed());
    let asked = Instant::now();
    rig.read().await.unwrap();
    assert!(asked.elapsed() >= Duration::from_secs(1), "{:?}", asked.elapsed());
}
