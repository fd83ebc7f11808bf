//! The calls on the Lease, each with a deadline: the client itself tries some answers again up to 15 times.

use std::time::Instant;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Error};

use super::ElectionConfig;
use super::record::Record;
use crate::error_chain::chain;

/// The Lease on the API server, and the object that the next write replaces.
pub(super) struct LeaseApi {
    api: Api<Lease>,
    config: ElectionConfig,
    object: Option<Lease>,
}

/// Why a call gave nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// The Lease is not the one that was seen: a try that was lost.
    #[error("the Lease has changed since it was read")]
    Outdated,
    #[error("cannot {verb} the Lease {namespace}/{lease}: {message}", namespace = .config.namespace, lease = .config.lease)]
    Failed { verb: &'static str, config: Box<ElectionConfig>, message: String },
}

impl LeaseApi {
    pub(super) fn new(client: Client, config: ElectionConfig) -> Self {
        Self { api: Api::namespaced(client, &config.namespace), config, object: None }
    }

    /// Reads the Lease from no cache; `None` if there is none.
    pub(super) async fn read(&mut self, until: Option<Instant>) -> Result<Option<Record>, CallError> {
        self.object = self.call("read", until, self.api.get_opt(&self.config.lease)).await?;
        Ok(self.object.as_ref().map(Record::read))
    }

    /// Creates the Lease; gives what stands in it now.
    pub(super) async fn create(&mut self, record: &Record, until: Option<Instant>) -> Result<Record, CallError> {
        let metadata = ObjectMeta { name: Some(self.config.lease.clone()), ..ObjectMeta::default() };
        let lease = record.write(Lease { metadata, spec: None });
        let created = self.call("create", until, self.api.create(&PostParams::default(), &lease)).await?;
        Ok(Record::read(self.object.insert(created)))
    }

    /// Replaces the Lease that was read or written last, and no other; gives what stands in it now.
    pub(super) async fn replace(&mut self, record: &Record, until: Option<Instant>) -> Result<Record, CallError> {
        // Without a resourceVersion the API server would replace whatever is there.
        let read = self.object.clone().filter(|lease| lease.metadata.resource_version.is_some());
        let lease = record.write(read.ok_or(CallError::Outdated)?);
        let params = PostParams::default();
        let replaced = self.call("replace", until, self.api.replace(&self.config.lease, &params, &lease)).await?;
        Ok(Record::read(self.object.insert(replaced)))
    }

    /// Awaits a call until its own deadline and `until`, whichever comes first.
    async fn call<T>(
        &self,
        verb: &'static str,
        until: Option<Instant>,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, CallError> {
        let longest = self.config.call_deadline();
        let left = until.map_or(longest, |until| until.saturating_duration_since(Instant::now()).min(longest));
        let message = match tokio::time::timeout(left, call).await {
            Ok(Ok(answer)) => return Ok(answer),
            // 404 as the answer to a write: the Lease was deleted, or its namespace is absent.
            Ok(Err(Error::Api(status))) if status.code == 409 || (status.code == 404 && verb == "replace") => {
                return Err(CallError::Outdated);
            }
            Ok(Err(error)) => chain(&error),
            Err(_) => format!("no answer within {left:?}"),
        };
        Err(CallError::Failed { verb, config: Box::new(self.config.clone()), message })
    }
}
