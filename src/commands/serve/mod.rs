mod flags;
mod source;
mod world_metrics;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use super::{ClusterError, Exit, fail, logging};
use crate::VERSION;
use crate::admission::{self, Admission, AdmissionMetrics};
use crate::serving::self_managed::{SelfManaged, rotation::Lifetimes};
use crate::serving::{
    CertificateFolder, CertificateStore, ListenConfig, Listeners, Readiness, ServingError, ServingMetrics, Signals,
    SignalsError, admin_router,
};
use crate::world::World;
use source::Source;
use world_metrics::WorldMetrics;

pub(super) use flags::ServeFlags;

/// How often certificates are looked at.
const CERTIFICATES_EVERY: Duration = Duration::from_secs(10);

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
    Signals(#[from] SignalsError),
    #[error("{0}; start the program again")]
    TaskEnded(String),
}

impl ServeError {
    fn configuration(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Configuration(error.into())
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Configuration(_) | Self::Cluster(_) | Self::Serving(ServingError::Bind { .. }) => Exit::Usage,
            Self::TaskEnded(_) => Exit::Restart,
            Self::Serving(_) | Self::Signals(_) => Exit::Failed,
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
        log: _, // in use already
    } = flags;
    tracing::info!(build = VERSION, dry_run, "starting");
    let mut signals = Signals::listen()?;
    let mut registry = Registry::with_prefix("mcm_migration_webhook");
    let serving_metrics = ServingMetrics::register(&mut registry);
    let admission_metrics = AdmissionMetrics::register(&mut registry);
    let world_metrics = WorldMetrics::register(&mut registry);

    let world = Arc::new(World::new(cache_max_age));
    let source = Source::open(&cluster, objects).await?;
    let certificates = CertificateStore::empty(serving_metrics.clone());
    let mut tasks = tokio::task::JoinSet::new();
    match (tls_cert_dir, source.client()) {
        (Some(folder), _) => {
            let folder = CertificateFolder::open(folder, &certificates).map_err(ServeError::configuration)?;
            let following = folder.follow(Arc::clone(&certificates), serving_metrics.clone(), CERTIFICATES_EVERY);
            tasks.spawn(async move { match following.await {} });
        }
        (None, Some(client)) => {
            let self_managed = SelfManaged {
                namespace,
                secret: tls_secret,
                service: service_name,
                extra_names: tls_extra_san,
                configurations: webhook_configuration,
                lifetimes: Lifetimes::DEFAULT,
                every: CERTIFICATES_EVERY,
            };
            let keeping = self_managed.keep(client.clone(), Arc::clone(&certificates), serving_metrics.clone());
            tasks.spawn(async move { match keeping.await {} });
        }
        (None, None) => {
            return Err(ServeError::configuration(
                "--objects needs --tls-cert-dir; `certs --out DIR` makes what it needs",
            ));
        }
    }
    tasks.spawn(source.follow(Arc::clone(&world)));

    let leave = CancellationToken::new();
    let readiness = readiness(&leave, Arc::clone(&certificates), Arc::clone(&world));
    let config = ListenConfig { listen, admin_listen, max_connections, shutdown_delay, drain_timeout };
    let listeners = Listeners::bind(config, certificates, serving_metrics).await?;
    let admission_routes = admission::router(Arc::new(Admission::new(Arc::clone(&world), admission_metrics, dry_run)));
    let admin_routes = admin_router(Arc::new(registry), readiness, move || world_metrics.refresh(&world));
    let abort = CancellationToken::new();
    let listening_for_signals = async {
        signals.next().await;
        leave.cancel();
        signals.next().await;
        abort.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        served = listeners.serve(admission_routes, admin_routes, leave.clone(), abort.clone()) => Ok(served?),
        () = listening_for_signals => Ok(()),
        Some(ended) = tasks.join_next() => Err(ServeError::TaskEnded(match ended {
            Ok(why) => why,
            Err(error) => format!("a task ended: {error}"),
        })),
    }
}

fn readiness(leave: &CancellationToken, certificates: Arc<CertificateStore>, world: Arc<World>) -> Readiness {
    let leaving = leave.clone();
    let not_leaving = move || if leaving.is_cancelled() { Err("the program is leaving".to_owned()) } else { Ok(()) };
    let certificate = move || certificates.check(jiff::Timestamp::now().as_second());
    let caches = move || {
        let Some(stale) = world.stale() else { return Ok(()) };
        let age = world.ages().into_iter().find(|(resource, _)| *resource == stale).and_then(|(_, age)| age);
        Err(match age {
            None => format!("{stale} have not been listed yet"),
            Some(age) => format!("{stale} gave no sign of life for {} s", age.as_secs()),
        })
    };
    Readiness::new(vec![
        ("shutdown", Box::new(not_leaving)),
        ("certificate", Box::new(certificate)),
        ("caches", Box::new(caches)),
    ])
}
