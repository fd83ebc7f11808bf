//! The election bound to the work: it runs while this process leads, and never beside that of another term.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio::time::{timeout, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::campaign::Campaign;
use super::candidate::Loss;
use super::{ElectionConfig, ElectionError, Leadership, Standing, Term};

/// An election that has not begun; [`Self::standing`] can be handed on before it runs.
pub struct Election {
    client: Client,
    config: ElectionConfig,
    standing: watch::Sender<Standing>,
}

/// Runs an election whose standing nobody asks for; see [`Election::run`].
///
/// # Errors
/// Those of [`Election::run`].
pub async fn run<W, F>(
    client: Client,
    config: ElectionConfig,
    shutdown: impl Future,
    work: W,
) -> Result<(), ElectionError>
where
    W: FnMut(Leadership) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    Election::new(client, config).run(shutdown, work).await
}

/// Why a term is over.
enum End {
    Lost(Loss),
    Shutdown,
    Work(Result<(), JoinError>),
}

impl Election {
    /// An election for the Lease that `config` names.
    #[must_use]
    pub fn new(client: Client, config: ElectionConfig) -> Self {
        Self { client, config, standing: watch::Sender::default() }
    }

    /// What is known of the election, now and later.
    #[must_use]
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// Waits to become the leader and then runs `work`, in a task of its own, until `shutdown`.
    ///
    /// - When the leadership is lost, the work is cancelled at once; when it is gone, this process goes on as a follower.
    /// - On shutdown the work is told through [`Leadership::lost`], has until the renew deadline to end by itself, is
    ///   cancelled otherwise, and when it is gone the Lease is released.
    /// - Dropping the future cancels the work too, and leaves the Lease to expire.
    ///
    /// *Gone* means that the work's task has ended and every clone of its [`Leadership`] was dropped.
    ///
    /// # Errors
    /// [`ElectionError`]; the process has to end then.
    pub async fn run<W, F>(self, shutdown: impl Future, mut work: W) -> Result<(), ElectionError>
    where
        W: FnMut(Leadership) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { client, config, standing } = self;
        let (lease, identity) = (config.lease.clone(), config.identity.clone());
        let mut campaign = Campaign::new(client, config, standing.clone());
        let mut shutdown = pin!(shutdown);
        loop {
            let deadline = tokio::select! {
                biased;
                _ = &mut shutdown => {
                    campaign.release_if_unsure().await;
                    return Ok(());
                }
                deadline = campaign.acquire() => deadline,
            };
            tracing::info!(lease, identity, "leading");
            let leading = Leading::begin(&standing);
            let (term, leadership) = Term::start(deadline);
            let mut task = match catch_unwind(AssertUnwindSafe(|| work(leadership))) {
                Ok(work) => AbortOnDropHandle::new(tokio::spawn(work)),
                Err(panic) => return Err(ElectionError::Panicked(message(&*panic))),
            };
            let end = tokio::select! {
                biased;
                loss = campaign.keep(&term) => End::Lost(loss),
                _ = &mut shutdown => End::Shutdown,
                joined = &mut task => End::Work(joined),
            };
            // Work that watches its leadership may notice the loss before the campaign does.
            let told = !term.holds();
            term.end();
            drop(leading);
            match end {
                End::Lost(loss) => {
                    tracing::warn!(lease, identity, %loss, "no longer leading; cancelling the work");
                    ended(&term, Some(&mut task), campaign.end_deadline(), &loss.to_string()).await?;
                    campaign.follow();
                }
                End::Shutdown => {
                    tracing::info!(lease, identity, "stopping the work");
                    let running = match timeout_at(campaign.deadline().into(), &mut task).await {
                        Ok(joined) => panicked(joined).map(|()| None)?,
                        Err(_) => Some(&mut task),
                    };
                    ended(&term, running, campaign.end_deadline(), "the process shuts down").await?;
                    campaign.release().await;
                    return Ok(());
                }
                End::Work(joined) => {
                    panicked(joined)?;
                    ended(&term, None, campaign.end_deadline(), "the work ended").await?;
                    if told {
                        tracing::warn!(lease, identity, loss = %Loss::Deadline, "no longer leading; the work has ended");
                        campaign.follow();
                        continue;
                    }
                    campaign.release().await;
                    return Err(ElectionError::Ended);
                }
            }
        }
    }
}

/// Says in the standing that this process leads, until it is dropped.
struct Leading<'a>(&'a watch::Sender<Standing>);

impl<'a> Leading<'a> {
    fn begin(standing: &'a watch::Sender<Standing>) -> Self {
        standing.send_modify(|standing| {
            standing.leads = true;
            standing.terms += 1;
        });
        Self(standing)
    }
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|standing| standing.leads = false);
    }
}

/// Cancels the term's task, where it still runs, and waits until nothing of the term is left: the task and all who hold
/// its leadership.
async fn ended(
    term: &Term,
    task: Option<&mut AbortOnDropHandle<()>>,
    longest: Duration,
    lost: &str,
) -> Result<(), ElectionError> {
    let gone = async {
        if let Some(task) = task {
            task.abort();
            panicked(task.await)?;
        }
        term.gone().await;
        Ok(())
    };
    match timeout(longest, gone).await {
        Ok(result) => result,
        Err(_) => Err(ElectionError::StillRunning { lost: lost.to_owned(), waited: longest }),
    }
}

/// An error if the work panicked; that it was cancelled is none.
fn panicked(joined: Result<(), JoinError>) -> Result<(), ElectionError> {
    match joined.map_err(JoinError::try_into_panic) {
        Err(Ok(panic)) => Err(ElectionError::Panicked(message(&*panic))),
        Ok(()) | Err(Err(_)) => Ok(()),
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
