//! A server that answers as it was told, for what the real API never does.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::{IntoResponse, Response};
use mcm_migration_webhook::cloud::{CloudConfig, CloudMetrics, Clouds, ProjectClient};
use serde_json::json;
use simulator::Simulator;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{PROJECT, config, parse, project};

/// What came in.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: String,
}

type Answer = Box<dyn FnOnce(&Asked) -> Response + Send>;

#[derive(Default)]
struct Script {
    asked: Mutex<Vec<Asked>>,
    answers: Mutex<VecDeque<Answer>>,
    tokens: Mutex<VecDeque<Answer>>,
}

/// Gives out the token `hush-token` at `/token` unless told otherwise; for the rest it follows the script.
pub struct Stub {
    pub url: String,
    pub client: ProjectClient,
    pub key: String,
    script: Arc<Script>,
    task: JoinHandle<()>,
    _keys: Simulator,
}

impl Stub {
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut CloudConfig)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::<Script>::default();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&script));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let keys = Simulator::start().unwrap();
        let key = keys.cloud().add_project(PROJECT).json();
        let mut config = config(&url, &format!("{url}/token"));
        change(&mut config);
        let clouds = Clouds::new(config, CloudMetrics::default()).unwrap();
        let client = clouds.project(project(PROJECT), parse(&key));
        Self { url, client, key, script, task, _keys: keys }
    }

    /// The next call that the script does not answer yet is answered like this.
    pub fn then(&self, answer: impl FnOnce(&Asked) -> Response + Send + 'static) {
        self.script.answers.lock().unwrap().push_back(Box::new(answer));
    }

    /// The next request for a token is answered like this.
    pub fn then_token(&self, answer: impl FnOnce(&Asked) -> Response + Send + 'static) {
        self.script.tokens.lock().unwrap().push_back(Box::new(answer));
    }

    pub fn then_json(&self, status: u16, body: impl Into<String>) {
        let body = body.into();
        self.then(move |_| response(status, &[("content-type", "application/json")], body));
    }

    /// Forgets the answers that nobody asked for.
    pub fn forget(&self) {
        self.script.answers.lock().unwrap().clear();
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.script.asked.lock().unwrap().clone()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub fn response(status: u16, headers: &[(&'static str, &str)], body: String) -> Response {
    let mut response = body.into_response();
    *response.status_mut() = status.try_into().unwrap();
    for (name, value) in headers {
        response.headers_mut().insert(*name, value.parse().unwrap());
    }
    response
}

async fn answer(
    State(script): State<Arc<Script>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let asked = Asked { method, uri, headers, body: String::from_utf8_lossy(&body).into_owned() };
    script.asked.lock().unwrap().push(asked.clone());
    if asked.uri.path() == "/token" {
        let answer = script.tokens.lock().unwrap().pop_front();
        if let Some(answer) = answer {
            return answer(&asked);
        }
        let token = json!({"access_token": "hush-token", "token_type": "Bearer", "expires_in": 600});
        return response(200, &[], token.to_string());
    }
    let answer = script.answers.lock().unwrap().pop_front();
    answer.map_or_else(|| response(418, &[], "the script is at its end".to_owned()), |answer| answer(&asked))
}
