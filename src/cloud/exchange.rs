//! A call with all its tries: token, queue, request, verdict, pause.

use std::sync::Arc;
use std::time::Duration;

use mcm_migration_core::domain::{ProjectId, ServerId};
use reqwest::{RequestBuilder, Url};
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::time::Instant;

use super::budget::Budget;
use super::clouds::Shared;
use super::judge::{Target, Verdict};
use super::limiter::Limiter;
use super::token::{AccessToken, TokenCache, read, sign};
use super::transport::{Answer, send};
use super::{Check, CloudError, Endpoint, InvalidEndpoint, Operation, ServiceAccountKey};

/// The most that is read of the answer of the token endpoint, and of one object.
const OBJECT: usize = 1024 * 1024;
/// The most that is read of a list: 10,000 servers with all that the API says of each.
const LIST: usize = 64 * 1024 * 1024;

/// A project with a key to it.
pub(super) struct Project {
    shared: Arc<Shared>,
    id: ProjectId,
    key: ServiceAccountKey,
    limiter: Arc<Limiter>,
    tokens: TokenCache,
    token_endpoint: Result<Endpoint, InvalidEndpoint>,
}

/// A request to the IaaS API. All of them can be repeated: they read, set a value, or delete what has an ID that is never used again.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) operation: Operation,
    pub(super) server: Option<ServerId>,
    pub(super) url: Url,
    pub(super) method: Method,
}

/// What is done with what the URL names.
#[derive(Debug)]
pub(super) enum Method {
    Get,
    /// With this body.
    Patch(Value),
    Delete,
}

impl Project {
    pub(super) fn new(shared: Arc<Shared>, id: ProjectId, key: ServiceAccountKey) -> Self {
        let token_endpoint = match (&shared.config.token_endpoint, key.token_endpoint()) {
            (Some(endpoint), _) => Ok(endpoint.clone()),
            (None, Some(text)) => Endpoint::of_key(text),
            (None, None) => Endpoint::default_token(),
        };
        let limiter = shared.projects.of(id);
        Self { shared, id, key, limiter, tokens: TokenCache::default(), token_endpoint }
    }

    pub(super) fn id(&self) -> ProjectId {
        self.id
    }

    pub(super) fn key(&self) -> &ServiceAccountKey {
        &self.key
    }

    pub(super) fn iaas(&self) -> &Endpoint {
        &self.shared.config.iaas_endpoint
    }

    /// Makes a call, and returns the answer that tells of its success and the number of tries. What `check` is for is sent only as long as that lets it.
    pub(super) async fn call(&self, call: &Call, check: Option<&Check>) -> Result<(Answer, u32), CloudError> {
        let target = Target { operation: call.operation, project: self.id, server: call.server };
        let limit = if call.operation.is_list_of_region() { LIST } else { OBJECT };
        let is_write = !matches!(call.method, Method::Get);
        let check = check.filter(|check| check.is_for(call.operation, is_write));
        let mut tries = Tries::new(&self.shared);
        let mut signed_in_again = false;
        loop {
            let token = self.token_after_queue().await?;
            if let Some(check) = check
                && let Err(why) = check.ask().await
            {
                return Err(CloudError::CalledOff(target.failure(tries.made, super::message::clean(&why))));
            }
            let (http, url) = (&self.shared.http, call.url.clone());
            let request = match &call.method {
                Method::Get => http.get(url),
                Method::Patch(body) => http.patch(url).json(body),
                Method::Delete => http.delete(url),
            };
            let secret = token.secret.expose_secret();
            match tries.send(target, request.bearer_auth(secret), limit, secret).await {
                Verdict::Done(answer) => return Ok((answer, tries.made)),
                Verdict::SignInAgain(_) if !signed_in_again => {
                    signed_in_again = true;
                    self.tokens.forget(&token);
                }
                Verdict::SignInAgain(error) | Verdict::Final(error) => return Err(error),
                Verdict::Again { error, after } => tries.pause(error, after).await?,
            }
        }
    }

    /// A token that still lives when it is this call's turn.
    async fn token_after_queue(&self) -> Result<Arc<AccessToken>, CloudError> {
        let token = self.tokens.get(self.fetch_token()).await?;
        self.queue().await;
        // The queue can be longer than the token lives.
        if token.is_fresh() { Ok(token) } else { self.tokens.get(self.fetch_token()).await }
    }

    /// Waits for the turn of one request.
    async fn queue(&self) {
        self.limiter.turn().await;
        self.shared.seed.turn().await;
    }

    async fn fetch_token(&self) -> Result<AccessToken, CloudError> {
        let target = Target { operation: Operation::GetToken, project: self.id, server: None };
        let endpoint =
            self.token_endpoint.as_ref().map_err(|error| CloudError::Key(target.failure(0, error.to_string())))?;
        let mut tries = Tries::new(&self.shared);
        loop {
            self.queue().await;
            // A new one for each try: the endpoint may refuse to see the same ID twice.
            let assertion = sign(&self.key, jiff::Timestamp::now())
                .ok_or_else(|| CloudError::Key(target.failure(tries.made, "the private key cannot sign")))?;
            let secret = assertion.expose_secret();
            let form = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", secret)];
            let request = self.shared.http.post(endpoint.url().clone()).form(&form);
            match tries.send(target, request, OBJECT, secret).await {
                Verdict::Done(answer) => {
                    return read(&answer.body).map(AccessToken::new).map_err(|error| {
                        CloudError::Unreadable(target.failure_of(tries.made, &answer, error.to_string()))
                    });
                }
                Verdict::SignInAgain(error) | Verdict::Final(error) => return Err(error),
                Verdict::Again { error, after } => tries.pause(error, after).await?,
            }
        }
    }
}

/// The tries of one call.
struct Tries<'a> {
    shared: &'a Shared,
    budget: Budget,
    made: u32,
}

impl<'a> Tries<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self { shared, budget: Budget::new(shared.config.call_deadline), made: 0 }
    }

    /// Sends one try, within what is left of the deadline.
    async fn send(&mut self, target: Target, request: RequestBuilder, limit: usize, secret: &str) -> Verdict {
        self.made += 1;
        let timeout = self.shared.config.request_timeout.min(self.budget.left());
        let request = request.header(reqwest::header::ACCEPT, "application/json").timeout(timeout);
        let start = Instant::now();
        let outcome = self.budget.spend(send(request, limit)).await;
        let code = outcome.as_ref().map_or(0, |answer| answer.status);
        self.shared.metrics.tried(target.operation, code, start.elapsed());
        target.judge(self.made, outcome, secret)
    }

    /// Waits before the next try; returns the error when there is to be none.
    async fn pause(&mut self, error: CloudError, after: Option<Duration>) -> Result<(), CloudError> {
        let schedule = &self.shared.config.retries;
        let pause = schedule.pause(self.made, after, rand::random());
        if self.made >= schedule.tries || pause >= self.budget.left() {
            return Err(error);
        }
        tracing::debug!(pause_ms = pause.as_millis(), "trying again: {error}");
        self.budget.spend(tokio::time::sleep(pause)).await;
        Ok(())
    }
}
