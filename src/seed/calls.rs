//! Calls to the seed's API server, each with a deadline.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Config};
use mcm_migration_core::domain::{GuardLabel, keys};
use serde_json::json;

use crate::error_chain::chain;
use crate::world::{MachineMigration, MachineMigrationSpec};

/// The longest that one call may take: the client itself tries some answers again up to 15 times.
const DEADLINE: Duration = Duration::from_secs(20);

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The API server answered, with an error.
    #[error("{doing}: the API server answered {code}: {message}")]
    Refused {
        /// What was tried, on which object.
        doing: String,
        /// The HTTP status.
        code: u16,
        /// `status.message`
        message: String,
    },
    /// There was no answer.
    #[error("{doing}: {message}")]
    NoAnswer {
        /// What was tried, on which object.
        doing: String,
        /// The client's words.
        message: String,
    },
}

impl CallError {
    /// The HTTP status, where there was an answer.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::NoAnswer { .. } => None,
        }
    }

    /// Whether the object changed in between, or is there already: what was read before no longer counts.
    pub(crate) fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }
}

/// Awaits a call, for [`DEADLINE`] at most.
pub(crate) async fn call<T>(
    doing: impl fmt::Display,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, CallError> {
    match tokio::time::timeout(DEADLINE, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => {
            Err(CallError::Refused { doing: doing.to_string(), code: status.code, message: status.message })
        }
        Ok(Err(error)) => Err(CallError::NoAnswer { doing: doing.to_string(), message: chain(&error) }),
        Err(_) => {
            let message = format!("no answer from the API server within {} s", DEADLINE.as_secs());
            Err(CallError::NoAnswer { doing: doing.to_string(), message })
        }
    }
}

/// The seed.
#[derive(Clone)]
pub(crate) struct Seed {
    config: Config,
    client: Client,
    manager: &'static str,
}

impl Seed {
    /// Calls nobody yet. The fields that are written belong to `manager`.
    pub(crate) fn new(mut config: Config, manager: &'static str) -> Result<Self, kube::Error> {
        // A server that is not there is told within seconds, not after half a minute.
        config.connect_timeout = Some(Duration::from_secs(5));
        Ok(Self { client: Client::try_from(config.clone())?, config, manager })
    }

    /// Whom the fields belong to that are written.
    pub(crate) fn manager(&self) -> &'static str {
        self.manager
    }

    /// How a patch is made: in the manager's name.
    pub(crate) fn patching(&self) -> PatchParams {
        PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() }
    }

    /// The client whose connections are shared.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// A client with connections of its own: behind a load balancer it may meet another API server.
    pub(crate) fn fresh_client(&self) -> Result<Client, kube::Error> {
        Client::try_from(self.config.clone())
    }

    /// Where the API server is.
    pub(crate) fn url(&self) -> String {
        self.config.cluster_url.to_string()
    }

    /// Whether the API server is there and knows the credentials.
    pub(crate) async fn greet(&self) -> Result<(), CallError> {
        call("cannot ask the API server for its version", self.client.apiserver_version()).await.map(drop)
    }

    /// The `resourceVersion` of a Namespace; none when it does not exist.
    pub(crate) async fn namespace_version(&self, name: &str) -> Result<Option<String>, CallError> {
        let api: Api<Namespace> = Api::all(self.client());
        let namespace = call(format!("cannot read Namespace {name}"), api.get_opt(name)).await?;
        Ok(namespace.and_then(|namespace| namespace.metadata.resource_version))
    }

    /// Sets the guard's label to `closed`, if the Namespace is still the one of `version`. The answer says whether it is set.
    pub(crate) async fn close_guard(&self, name: &str, version: &str) -> Result<bool, CallError> {
        self.set_guard(name, version, Some(GuardLabel::CLOSED)).await
    }

    /// Sets the guard's label to `value` or takes it off, if the Namespace is still the one of `version`; the guard's policy lets it be taken off only
    /// by a write that says so. The answer says whether it shows.
    pub(crate) async fn set_guard(&self, name: &str, version: &str, value: Option<&str>) -> Result<bool, CallError> {
        let api: Api<Namespace> = Api::all(self.client());
        let off = value.is_none().then_some(version);
        let annotations = json!({keys::GUARD_OFF: off});
        let labels = json!({keys::GUARD: value});
        let patch = json!({"metadata": {"resourceVersion": version, "labels": labels, "annotations": annotations}});
        let (params, patch) = (self.patching(), Patch::Merge(&patch));
        let doing = match value {
            Some(value) => format!("cannot set the guard's label on Namespace {name} to {value}"),
            None => format!("cannot take the guard's label off Namespace {name}"),
        };
        let labels = call(doing, api.patch(name, &params, &patch)).await?.metadata.labels.unwrap_or_default();
        Ok(labels.get(keys::GUARD).map(String::as_str) == value)
    }

    /// Writes members of the MachineMigration, but not of its status, if it is still the one that `patch` names the `resourceVersion` of.
    pub(crate) async fn patch_migration(
        &self,
        namespace: &str,
        patch: &serde_json::Value,
    ) -> Result<MachineMigration, CallError> {
        let (api, params, patch) = (self.migrations(namespace), self.patching(), Patch::Merge(patch));
        let doing = format!("cannot write the MachineMigration of {namespace}");
        call(doing, api.patch(keys::MACHINE_MIGRATION, &params, &patch)).await
    }

    /// The MachineMigration of a namespace; none when it, or its definition, does not exist.
    pub(crate) async fn migration(&self, namespace: &str) -> Result<Option<MachineMigration>, CallError> {
        let api = self.migrations(namespace);
        call(format!("cannot read the MachineMigration of {namespace}"), api.get_opt(keys::MACHINE_MIGRATION)).await
    }

    /// Makes the MachineMigration of a namespace.
    pub(crate) async fn make_migration(&self, namespace: &str) -> Result<MachineMigration, CallError> {
        let migration = MachineMigration::new(keys::MACHINE_MIGRATION, MachineMigrationSpec { paused: false });
        self.make_this_migration(namespace, migration).await
    }

    /// Makes this MachineMigration.
    pub(crate) async fn make_this_migration(
        &self,
        namespace: &str,
        migration: MachineMigration,
    ) -> Result<MachineMigration, CallError> {
        let params = PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() };
        let api = self.migrations(namespace);
        call(format!("cannot make the MachineMigration of {namespace}"), api.create(&params, &migration)).await
    }

    /// Writes members of the status of the MachineMigration that `patch` names the `resourceVersion` of.
    pub(crate) async fn patch_status(
        &self,
        namespace: &str,
        patch: &serde_json::Value,
    ) -> Result<MachineMigration, CallError> {
        let (api, params, patch) = (self.migrations(namespace), self.patching(), Patch::Merge(patch));
        let doing = format!("cannot write the status of the MachineMigration of {namespace}");
        call(doing, api.patch_status(keys::MACHINE_MIGRATION, &params, &patch)).await
    }

    fn migrations(&self, namespace: &str) -> Api<MachineMigration> {
        Api::namespaced(self.client(), namespace)
    }
}
