//! A bare client: one request, one answer, no retry.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::time::Duration;

use serde_json::{Value, json};
use simulator::{ServiceAccountKey, Simulator};

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.body))
    }

    /// `msg` of the API's errors.
    pub(crate) fn message(&self) -> String {
        self.json()["msg"].as_str().expect("the error has no msg").to_owned()
    }

    /// `member` of each item, sorted.
    pub(crate) fn items(&self, member: &str) -> Vec<String> {
        let list = self.json();
        let items = list["items"].as_array().expect("no list");
        let mut found: Vec<String> = items.iter().map(|item| item[member].as_str().unwrap().to_owned()).collect();
        found.sort();
        found
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

pub(crate) fn http() -> reqwest::Client {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        // A call that fails must not be sent again behind the test's back.
        .pool_max_idle_per_host(0)
        .retry(reqwest::retry::never())
        .timeout(Duration::from_secs(60))
        .no_proxy()
        .build()
        .unwrap()
}

async fn answer(request: reqwest::RequestBuilder) -> Result<Answer, reqwest::Error> {
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Ok(Answer { status, headers, body: response.text().await? })
}

/// Posts an assertion.
pub(crate) async fn exchange(simulator: &Simulator, assertion: &str) -> Answer {
    post_form(simulator, &[("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", assertion)])
        .await
}

pub(crate) async fn post_form(simulator: &Simulator, form: &[(&str, &str)]) -> Answer {
    answer(http().post(simulator.token_url()).form(form)).await.unwrap()
}

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) base: String,
    pub(crate) token: String,
}

impl Client {
    /// In the region `eu01` of the key's project.
    pub(crate) async fn new(simulator: &Simulator, key: &ServiceAccountKey) -> Self {
        let token = exchange(simulator, &key.assertion(&json!({})).unwrap()).await.json()["access_token"]
            .as_str()
            .expect("no access token")
            .to_owned();
        let base = format!("{}/v2/projects/{}/regions/eu01", simulator.iaas_url(), key.project);
        Self { http: http(), base, token }
    }

    pub(crate) async fn try_call(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, reqwest::Error> {
        let url = format!("{}{path}", self.base);
        let mut request = self.http.request(method.parse().unwrap(), url).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(body);
        }
        answer(request).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.try_call("GET", path, None).await.unwrap()
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.try_call("PATCH", path, Some(body)).await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.try_call("POST", path, Some(body)).await.unwrap()
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.try_call("DELETE", path, None).await.unwrap()
    }
}
