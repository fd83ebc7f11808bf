//! The stand-ins of many shoots.

use std::sync::Arc;

use anyhow::Result;
use rig::{ApiServer, Shoot, api_server};
use simulator::Cloud;

use crate::killed::Killed;
use crate::mcm::{Mcm, fail};
use crate::options::Options;
use crate::shared::{Access, Shared};
use crate::{background, pod};

/// One [`Mcm`] for each MCM pod of some shoots. They share a client, so none of them can be cut off alone.
#[derive(Debug)]
pub struct Fleet(Vec<Mcm>);

impl Fleet {
    /// Starts them, and takes the pods over. A shoot may have any number of MCM pods.
    ///
    /// With hundreds of shoots, `options` should renew and collect every few seconds only: each renewal is a read and a write.
    pub async fn for_shoots(
        server: &ApiServer,
        shoots: &[Shoot],
        cloud: &Arc<Cloud>,
        options: &Options,
    ) -> Result<Self> {
        let admin = server.admin_kubeconfig().to_owned();
        let client = background::run(async move { api_server::client(&admin).await }).await?;
        let access = Access { client: client.clone(), admin: client };
        let mut fleet = Vec::new();
        for shoot in shoots {
            let (namespace, admin) = (shoot.namespace(), access.admin.clone());
            let pods = background::run(async move { pod::of_mcm(&admin, &namespace).await });
            for (pod, provider) in pods.await? {
                let (namespace, project, options) = (shoot.namespace(), shoot.project_id(), options.clone().pod(pod));
                let shared = Shared::new(provider, &namespace, &project, options, Arc::clone(cloud), access.clone());
                fleet.push(Mcm::run(shared, None).await?);
            }
        }
        Ok(Self(fleet))
    }

    /// Each of them.
    #[must_use]
    pub fn members(&self) -> &[Mcm] {
        &self.0
    }

    /// Whether all have left the servers of live Machines alone so far.
    pub fn verdict(&self) -> Result<(), Killed> {
        // Each is asked, so that none counts as unread.
        self.0.iter().map(Mcm::verdict).fold(Ok(()), Result::and)
    }

    /// Awaits what a test does, and fails the test the moment one of them would have killed a server.
    ///
    /// # Panics
    /// At that moment.
    pub async fn watch_over<T>(&self, test: impl Future<Output = T>) -> T {
        let first = async {
            match &self.0[..] {
                [] => std::future::pending().await,
                members => futures::future::select_all(members.iter().map(|mcm| Box::pin(mcm.would_kill()))).await.0,
            }
        };
        tokio::select! {
            biased;
            killed = first => fail(&[killed]),
            done = test => done,
        }
    }
}
