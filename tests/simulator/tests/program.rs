//! The simulator as a program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod client;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use client::http;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const PROJECTS: [&str; 2] = ["11111111-1111-4111-8111-111111111111", "11111111-1111-4111-8111-222222222222"];

/// Ends with the test, however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An assertion for the key in this file, made without the simulator's own code.
fn assertion(file: &Value) -> String {
    let credentials = &file["credentials"];
    let mut header = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::RS512);
    header.kid = Some(credentials["kid"].as_str().unwrap().to_owned());
    let now = jsonwebtoken::get_current_timestamp();
    let claims = json!({
        "iss": credentials["iss"], "sub": credentials["sub"], "aud": credentials["aud"],
        "jti": uuid::Uuid::new_v4().to_string(), "iat": now, "exp": now + 600,
    });
    let pem = credentials["privateKey"].as_str().unwrap();
    let key = jsonwebtoken::EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap();
    jsonwebtoken::encode(&header, &claims, &key).unwrap()
}

#[tokio::test]
async fn it_says_where_it_is_writes_the_keys_and_ends_on_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_simulator"));
    command.args(["--servers", "5", "--token-lifetime", "120", "--keys"]).arg(folder.path().join("keys"));
    for project in PROJECTS {
        command.args(["--project", project]);
    }
    let mut running = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    let mut value = |name: &str| lines.next().unwrap().unwrap().strip_prefix(&format!("{name}=")).unwrap().to_owned();
    let (iaas, token) = (value("STACKIT_IAAS_ENDPOINT"), value("STACKIT_TOKEN_BASEURL"));
    assert_eq!(token, format!("{iaas}/token"));

    for project in PROJECTS {
        let text = std::fs::read_to_string(folder.path().join("keys").join(format!("{project}.json"))).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(file["credentials"]["tokenEndpoint"], token);
        let form = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", &assertion(&file))];
        let got: Value = http().post(&token).form(&form).send().await.unwrap().json().await.unwrap();
        assert_eq!(got["expires_in"], 120);
        let url = format!("{iaas}/v2/projects/{project}/regions/eu01/servers");
        let bearer = got["access_token"].as_str().unwrap();
        let list: Value = http().get(url).bearer_auth(bearer).send().await.unwrap().json().await.unwrap();
        assert_eq!(list["items"].as_array().unwrap().len(), 5);
    }

    kill_process(Pid::from_child(&running.0), Signal::TERM).unwrap();
    let status = tokio::task::spawn_blocking(move || running.0.wait()).await.unwrap().unwrap();
    assert!(status.success(), "{status}");
}
