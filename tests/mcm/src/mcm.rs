//! The stand-in as a test holds it.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rig::shoot::{Provider, Shoot};
use rig::{ApiProxy, ApiServer, api_server, objects};
use simulator::Cloud;
use tokio::task::JoinHandle;

use crate::event::Event;
use crate::killed::Killed;
use crate::options::Options;
use crate::shared::{Access, Shared};
use crate::{background, life, network, pod};

/// A running machine-controller-manager of one shoot. Dropping it ends the process, leaves its pod, and panics if it would have
/// killed a server and nobody has asked.
pub struct Mcm {
    shared: Arc<Shared>,
    process: JoinHandle<()>,
    proxy: Option<ApiProxy>,
}

impl Mcm {
    /// Starts one in a shoot's namespace, with a pod; a pod of that name that is there already is taken over.
    ///
    /// `project` is the STACKIT project of the shoot; the OpenStack provider sees the same servers.
    pub async fn start(
        server: &ApiServer,
        namespace: &str,
        provider: Provider,
        cloud: Arc<Cloud>,
        project: &str,
        options: Options,
    ) -> Result<Self> {
        let (proxy, kubeconfig) = if options.proxied {
            let (proxy, kubeconfig) = network::proxied(server, namespace).await?;
            (Some(proxy), kubeconfig)
        } else {
            (None, server.admin_kubeconfig().to_owned())
        };
        let admin = server.admin_kubeconfig().to_owned();
        let access = background::run(async move {
            let (client, admin) = (api_server::client(&kubeconfig).await?, api_server::client(&admin).await?);
            Ok(Access { client, admin })
        });
        let shared = Shared::new(provider, namespace, project, options, cloud, access.await?);
        Self::run(shared, proxy).await
    }

    pub(crate) async fn run(shared: Shared, proxy: Option<ApiProxy>) -> Result<Self> {
        let shared = Arc::new(shared);
        say_seed(&shared);
        let starting = Arc::clone(&shared);
        background::run(async move {
            let Shared { access, namespace, pod, provider, options, .. } = &*starting;
            pod::ensure(&access.admin, namespace, pod, *provider, &options.node).await
        })
        .await?;
        let process = background::handle()?.spawn(life::run(Arc::clone(&shared)));
        Ok(Self { shared, process, proxy })
    }

    /// Starts the one that a shoot's pod stands for, and takes the pod over. There has to be exactly one MCM pod.
    pub async fn for_shoot(server: &ApiServer, shoot: &Shoot, cloud: Arc<Cloud>, options: Options) -> Result<Self> {
        let namespace = shoot.namespace();
        let pods = pod::of_mcm(&server.admin_client().await?, &namespace).await?;
        let [(pod, provider)] = &pods[..] else { bail!("{namespace} has {} MCM pods, and not one", pods.len()) };
        Self::start(server, &namespace, *provider, cloud, &shoot.project_id(), options.pod(pod)).await
    }

    /// The name of its pod.
    #[must_use]
    pub fn pod(&self) -> &str {
        &self.shared.pod
    }

    /// Whether it has left all servers of live Machines alone so far.
    pub fn verdict(&self) -> Result<(), Killed> {
        self.shared.verdicts.read().into_iter().next().map_or(Ok(()), Err)
    }

    /// Everything that it would have killed so far, each server once.
    #[must_use]
    pub fn killed(&self) -> Vec<Killed> {
        self.shared.verdicts.read()
    }

    /// Returns as soon as it would have killed a server; for `tokio::select!` beside what must not lead there.
    pub async fn would_kill(&self) -> Killed {
        self.shared.verdicts.first().await
    }

    /// Awaits what a test does, and fails the test the moment it would have killed a server.
    ///
    /// # Panics
    /// At that moment.
    pub async fn watch_over<T>(&self, test: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            killed = self.would_kill() => fail(&[killed]),
            done = test => done,
        }
    }

    /// Ends the process and removes its pod, as when a Deployment rolls. The Lease stays as it is.
    pub async fn stop(&self) -> Result<()> {
        self.process.abort();
        self.shared.copy.send_replace(None);
        let shared = Arc::clone(&self.shared);
        background::run(async move { objects::end_pod(&shared.access.admin, &shared.namespace, &shared.pod).await })
            .await
    }

    /// Cuts it off from the API server, not from the cloud: connections are closed, and new ones too.
    ///
    /// # Panics
    /// If it was not started with [`Options::proxied`].
    pub fn cut_off(&self) {
        self.proxy().cut();
    }

    /// The same without closing connections: nothing passes, and it notices only by its deadlines.
    ///
    /// # Panics
    /// If it was not started with [`Options::proxied`].
    pub fn hang(&self) {
        self.proxy().hang();
    }

    /// Connects it again.
    ///
    /// # Panics
    /// If it was not started with [`Options::proxied`].
    pub fn heal(&self) {
        self.proxy().heal();
    }

    #[expect(clippy::expect_used, reason = "a test that cuts off what cannot be cut off tests nothing")]
    fn proxy(&self) -> &ApiProxy {
        self.proxy.as_ref().expect("started with `Options::proxied`")
    }

    /// The process does nothing more, as on a Node that hangs.
    pub fn freeze(&self) {
        self.shared.frost.set(true);
    }

    /// It wakes up and goes on with what it knew; what was sent to it meanwhile arrives a moment later.
    pub fn thaw(&self) {
        self.shared.frost.set(false);
    }

    /// What it did so far, in order.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.shared.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The `spec.providerID` that a Machine has in its copy.
    #[must_use]
    pub fn knows(&self, machine: &str) -> Option<String> {
        let copy = self.shared.copy.borrow().clone()?;
        copy.machines.get(machine).map(|machine| machine.provider_id)
    }

    /// Waits until its copy has this `spec.providerID` for a Machine.
    pub async fn await_known(&self, machine: &str, provider_id: &str, deadline: Duration) -> Result<()> {
        let what = format!("{} knows {machine} by {provider_id}", self.pod());
        let known = || async { Ok((self.knows(machine).as_deref() == Some(provider_id)).then_some(())) };
        rig::until(&what, deadline, known).await
    }

    /// Waits until so many orphan runs have ended that began after this call.
    pub async fn await_runs(&self, count: u64, deadline: Duration) -> Result<()> {
        let mut runs = self.shared.runs.subscribe();
        let wanted = runs.borrow().begun + count;
        let ended = tokio::time::timeout(deadline, runs.wait_for(|runs| runs.finished >= wanted)).await;
        ended.with_context(|| format!("{} made no {count} orphan runs within {deadline:?}", self.pod()))??;
        Ok(())
    }

    /// Waits until something happens that is `wanted`, or finds it among what has happened.
    pub async fn await_event(&self, what: &str, deadline: Duration, wanted: impl Fn(&Event) -> bool) -> Result<Event> {
        let found = || async { Ok(self.events().into_iter().find(|event| wanted(event))) };
        rig::until(what, deadline, found).await
    }
}

impl std::fmt::Debug for Mcm {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Mcm")
            .field("pod", &self.shared.pod)
            .field("seed", &self.shared.seed)
            .finish_non_exhaustive()
    }
}

impl Drop for Mcm {
    fn drop(&mut self) {
        self.process.abort();
        let unread = self.shared.verdicts.unread();
        if !unread.is_empty() && !std::thread::panicking() {
            fail(&unread);
        }
    }
}

#[expect(clippy::panic, reason = "a test that does not ask has to fail all the same")]
pub(crate) fn fail(killed: &[Killed]) -> ! {
    let lines: Vec<String> = killed.iter().map(ToString::to_string).collect();
    panic!("{}", lines.join("\n"));
}

#[expect(clippy::print_stdout, reason = "cargo shows it with the output of a test that failed")]
fn say_seed(shared: &Shared) {
    println!("{} of {}: seed {}", shared.pod, shared.namespace, shared.seed);
}
