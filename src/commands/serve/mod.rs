mod flags;
mod side_task;
mod source;
mod world_metrics;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::Shared;
use prometheus_client::registry::Registry;
use tokio_util::task::AbortOnDropHandle;

use super::{ClusterError, Exit, fail, logging};
use crate::VERSION;
use crate::admission::{self, Admission, AdmissionMetrics, Switches};
use crate::serving::certificates::rotation::Lifetimes;
use crate::serving::certificates::{KubeShelf, RotationError, SelfManagedConfig, ShelfError};
use crate::serving::{
    self, Admin, CertificateFolder, CertificateStore, ListenConfig, Listeners, Readiness, SelfManaged, ServingError,
    ServingMetrics, Shutdown, UnixTime,
};
use crate::world::World;
use side_task::{SideTaskFlags, SideTaskPart};
use source::Source;
use world_metrics::WorldMetrics;

pub(super) use flags::ServeFlags;
pub(super) use side_task::label_domain;

/// How often certificates are looked at.
const CERTIFICATES_EVERY: Duration = Duration::from_secs(10);

/// How long the Lease may take to be given back at the end.
const LEASE_GIVEN_BACK: Duration = Duration::from_secs(5);

/// Why `serve` ends.
#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error(transparent)]
    Configuration(Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Serving(#[from] ServingError),
    #[error(transparent)]
    Certificates(#[from] RotationError),
    #[error("{0}; start the program again")]
    TaskEnded(String),
}

impl ServeError {
    fn configuration(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Configuration(error.into())
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Cluster(ClusterError::Unreachable { .. }) | Self::TaskEnded(_) => Exit::Restart,
            Self::Configuration(_) | Self::Cluster(_) | Self::Serving(ServingError::Bind { .. }) => Exit::Usage,
            Self::Certificates(error) => match error {
                RotationError::Shelf(ShelfError::Foreign { .. }) => Exit::Usage,
                RotationError::Shelf(_) | RotationError::Contended => Exit::Restart,
                RotationError::Step(_) => Exit::Failed,
            },
            Self::Serving(_) => Exit::Failed,
        }
    }
}

pub(super) fn run(flags: ServeFlags) -> Exit {
    if let Err(error) = logging::start(&flags.log) {
        return fail(Exit::Usage, &error);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(Exit::Failed, &format_args!("cannot start the runtime: {error}")),
    };
    match runtime.block_on(serve(flags)) {
        Ok(()) => Exit::Done,
        Err(error) => fail(error.exit(), &error),
    }
}

async fn serve(flags: ServeFlags) -> Result<(), ServeError> {
    // Taken apart completely, so that a new flag cannot be forgotten.
    let ServeFlags {
        cluster,
        objects,
        listen,
        admin_listen,
        tls_cert_dir,
        tls_self_managed: _, // the one that is left when there is no folder
        tls_secret,
        tls_extra_san,
        webhook_configuration,
        namespace,
        service_name,
        cache_max_age,
        shutdown_delay,
        drain_timeout,
        max_connections,
        dry_run,
        side_task,
        log: _, // in use already
    } = flags;
    tracing::info!(build = VERSION, dry_run, "starting");
    let shutdown = Shutdown::on_signals()?;
    let mut registry = Registry::with_prefix(serving::metrics::PREFIX);
    let serving_metrics = ServingMetrics::register(&mut registry);
    let admission_metrics = AdmissionMetrics::register(&mut registry);
    let world_metrics = WorldMetrics::register(&mut registry);

    let world = Arc::new(World::new(cache_max_age));
    let source = tokio::select! {
        opened = Source::open(&cluster, objects) => opened?,
        () = shutdown.stopped() => return Ok(()),
    };
    let mut tasks = tokio::task::JoinSet::new();
    let certificates = match (tls_cert_dir, source.client()) {
        (Some(folder), _) => from_folder(folder, &serving_metrics, &mut tasks).await?,
        (None, Some(client)) => {
            let config = SelfManagedConfig {
                service: service_name,
                namespace: namespace.clone(),
                extra_names: tls_extra_san,
                lifetimes: Lifetimes::default(),
                interval: CERTIFICATES_EVERY,
            };
            // A name stands for the configurations of both kinds.
            let names = &webhook_configuration;
            let shelf = KubeShelf::new(client.clone(), &namespace, &tls_secret, names, names);
            tokio::select! {
                managed = self_managed(shelf, &config, &serving_metrics, &mut tasks) => managed?,
                () = shutdown.stopped() => return Ok(()),
            }
        }
        (None, None) => {
            return Err(ServeError::configuration(
                "--objects needs --tls-cert-dir; `certs --out DIR` makes what it needs",
            ));
        }
    };
    let takes_part = side_task.side_task && source.client().is_some();
    let part = if takes_part {
        let config = cluster.config().await?;
        Some(SideTaskPart::new(&side_task, config, &world, &namespace, dry_run, &mut registry)?)
    } else {
        None
    };
    tasks.spawn(source.follow(Arc::clone(&world)));

    let config = ListenConfig { listen, admin_listen, max_connections, shutdown_delay, drain_timeout };
    let listeners = Listeners::bind(&config).await?;
    let readiness = readiness(Arc::clone(&certificates), Arc::clone(&world));
    let switches = Switches { dry_run, side_task: takes_part };
    let routes = admission::router(Arc::new(Admission::new(Arc::clone(&world), admission_metrics, switches)));
    let shown = Arc::clone(&world);
    let admin = Admin { readiness, registry, refresh: Box::new(move || world_metrics.refresh(&shown)) };
    let leading = lead(part, Arc::clone(&world), shutdown.clone());
    let aborted = shutdown.clone();
    tokio::select! {
        served = serving::serve(listeners, routes, certificates, admin, serving_metrics, shutdown) => served?,
        why = ended(&mut tasks) => return Err(ServeError::TaskEnded(why)),
        // Without a failure it ends only when the end was asked for, and then the calls are still to be answered.
        why = failed(leading.clone()) => return Err(ServeError::TaskEnded(why)),
    }
    // The work of the side task has ended long before the last call was answered; what is left is to give the Lease back.
    tokio::select! {
        _ = leading => {}
        () = aborted.aborted() => {}
        () = tokio::time::sleep(LEASE_GIVEN_BACK) => {
            tracing::warn!("the Lease was not given back in time; it expires by itself");
        }
    }
    Ok(())
}

/// Certificates of a mounted folder, followed as they change.
async fn from_folder(
    folder: std::path::PathBuf,
    metrics: &ServingMetrics,
    tasks: &mut tokio::task::JoinSet<String>,
) -> Result<Arc<CertificateStore>, ServeError> {
    let opened = CertificateFolder::open(folder, metrics.clone()).await;
    let (folder, store) = opened.map_err(ServeError::configuration)?;
    let watching = folder.watch(Arc::clone(&store), CERTIFICATES_EVERY);
    tasks.spawn(async move { match watching.await {} });
    Ok(store)
}

/// Certificates that the replicas make and rotate themselves.
async fn self_managed(
    shelf: KubeShelf,
    config: &SelfManagedConfig,
    metrics: &ServingMetrics,
    tasks: &mut tokio::task::JoinSet<String>,
) -> Result<Arc<CertificateStore>, ServeError> {
    let (managed, store) = SelfManaged::start(shelf, config, metrics.clone()).await?;
    tasks.spawn(async move { match managed.run().await {} });
    Ok(store)
}

/// The side task, in a task of its own. Without one it is as if it had nothing to do.
fn lead(
    part: Option<SideTaskPart>,
    world: Arc<World>,
    shutdown: Shutdown,
) -> Shared<impl Future<Output = Result<(), String>>> {
    let leading = AbortOnDropHandle::new(tokio::spawn(async move {
        if let Some(part) = part {
            return part.run(world, shutdown).await;
        }
        shutdown.stopped().await;
        Ok(())
    }));
    let ended = async move {
        match leading.await {
            Ok(ended) => ended,
            Err(error) => Err(format!("the side task ended: {error}")),
        }
    };
    ended.shared()
}

async fn ended(tasks: &mut tokio::task::JoinSet<String>) -> String {
    match tasks.join_next().await {
        Some(Ok(why)) => why,
        Some(Err(error)) => format!("a task ended: {error}"),
        None => std::future::pending().await,
    }
}

/// Waits until the side task fails.
async fn failed(leading: impl Future<Output = Result<(), String>>) -> String {
    match leading.await {
        Ok(()) => std::future::pending().await,
        Err(why) => why,
    }
}

fn readiness(certificates: Arc<CertificateStore>, world: Arc<World>) -> Readiness {
    let certificate = move || certificates.check(UnixTime::now()).map_err(|error| error.to_string());
    let caches = move || {
        let Some(stale) = world.stale() else { return Ok(()) };
        let age = world.ages().into_iter().find(|(resource, _)| *resource == stale).and_then(|(_, age)| age);
        Err(match age {
            None => format!("{stale} have not been listed yet"),
            Some(age) => format!("{stale} gave no sign of life for {} s", age.as_secs()),
        })
    };
    Readiness::default().with("certificate", certificate).with("caches", caches)
}
