//! No credential comes out, whatever the other side says and however much is logged.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod cloud_support;

use std::io::Write;
use std::sync::{Arc, Mutex};

use cloud_support::stub::{Asked, Stub, response};
use cloud_support::{Rig, parse, region, server};
use mcm_migration_webhook::cloud::CloudError;
use simulator::{Fault, FaultPlan, Operation};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Repeats all that was sent, in the words of the other side.
fn repeat(asked: &Asked, json: bool) -> String {
    let header = asked.headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let bare = header.trim_start_matches("Bearer ");
    let said = format!("refused {bare} of {header}, {}", asked.body);
    if json { serde_json::json!({"code": 400, "msg": said}).to_string() } else { said }
}

fn form_value(body: &str, name: &str) -> String {
    body.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).unwrap().to_owned()
}

#[tokio::test]
async fn no_credential_is_shown_or_logged() {
    let log = Log::default();
    tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).init();
    let mut shown = Vec::new();
    let mut show = |error: CloudError| shown.push(format!("{error} {error:?}"));

    let stub = Stub::start().await;
    for status in [302, 400, 401, 403, 404, 409, 418, 429, 500, 503] {
        for json in [true, false] {
            // As many as the client tries at most; what it leaves is forgotten.
            for _ in 0..6 {
                stub.then(move |asked| response(status, &[], repeat(asked, json)));
            }
            show(stub.client.get_server(&region(), server()).await.unwrap_err());
            stub.forget();
        }
    }
    let tokens = Stub::start().await;
    for status in [400, 401, 403, 404, 418] {
        for json in [true, false] {
            tokens.then_token(move |asked| response(status, &[], repeat(asked, json)));
            show(tokens.client.get_server(&region(), server()).await.unwrap_err());
        }
    }
    tokens.then_token(|_| response(200, &[], r#"{"access_token":"hush-token","token_type":"strange"}"#.into()));
    show(tokens.client.get_server(&region(), server()).await.unwrap_err());

    let rig = Rig::start();
    for fault in [Fault::UnauthorizedJson, Fault::ResetMidBody, Fault::NotJson, Fault::NotFoundHtml] {
        rig.simulator.cloud().inject(FaultPlan::always(Operation::GetServer, fault));
        show(rig.client.get_server(&region(), server()).await.unwrap_err());
        rig.simulator.cloud().clear_faults();
    }
    shown.push(format!("{:?} {:?} {:?}", rig.client, rig.clouds, parse(&rig.key)));
    let shown = shown.join("\n");

    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("trying again"), "the log was not written");
    let key: serde_json::Value = serde_json::from_str(&stub.key).unwrap();
    let pem = key["credentials"]["privateKey"].as_str().unwrap();
    let mut secrets: Vec<String> =
        pem.lines().filter(|line| line.len() > 20 && !line.starts_with('-')).map(str::to_owned).collect();
    assert!(secrets.len() > 10);
    secrets.push("hush-token".to_owned());
    for asked in tokens.asked().iter().chain(&stub.asked()).filter(|asked| asked.uri.path() == "/token") {
        let assertion = form_value(&asked.body, "assertion");
        assert_eq!(assertion.split('.').count(), 3);
        secrets.extend(assertion.split('.').skip(1).map(str::to_owned));
    }
    for secret in secrets {
        assert!(!shown.contains(&secret), "an error shows {secret}");
        assert!(!log.contains(&secret), "the log shows {secret}");
    }
}
