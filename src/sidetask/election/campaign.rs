//! The tries of one candidate: look, decide, write.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::Client;
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until};

use super::candidate::{Candidate, Loss, Step};
use super::config::JITTER;
use super::lease_api::{CallError, LeaseApi};
use super::{ElectionConfig, Standing, Term};

/// One candidate with the calls that it makes.
pub(super) struct Campaign {
    config: ElectionConfig,
    candidate: Candidate,
    api: LeaseApi,
    standing: watch::Sender<Standing>,
    /// A write was sent and no answer came: this candidate may hold the Lease without knowing it.
    unanswered: bool,
    /// What went wrong last, so that an outage is one line in the log.
    trouble: Option<String>,
}

/// What a try came to.
enum Attempt {
    Holds(Instant),
    Waits(Instant),
    Lost(Loss),
}

impl Campaign {
    pub(super) fn new(client: Client, config: ElectionConfig, standing: watch::Sender<Standing>) -> Self {
        Self {
            candidate: Candidate::new(&config),
            api: LeaseApi::new(client, config.clone()),
            config,
            standing,
            unanswered: false,
            trouble: None,
        }
    }

    /// Waits until this candidate leads; gives the deadline of the new term.
    pub(super) async fn acquire(&mut self) -> Instant {
        loop {
            let attempt = match self.look().await {
                Ok(()) => self.act().await,
                Err(error) => Err(error),
            };
            let wait = self.config.retry_period.mul_f64(1.0 + JITTER * rand::random::<f64>());
            match self.settle(attempt) {
                Some(Attempt::Holds(deadline)) => return deadline,
                Some(Attempt::Waits(free_at)) => {
                    sleep(free_at.saturating_duration_since(Instant::now()).min(wait)).await;
                }
                Some(Attempt::Lost(_)) | None => sleep(wait).await,
            }
        }
    }

    /// Renews until the term is lost.
    pub(super) async fn keep(&mut self, term: &Term) -> Loss {
        while let Some(deadline) = self.candidate.deadline() {
            let next = Instant::now() + self.config.retry_period;
            sleep_until(next.min(deadline).into()).await;
            let attempt = match self.act().await {
                Err(CallError::Outdated) => match self.look().await {
                    Ok(()) => self.act().await,
                    Err(error) => Err(error),
                },
                attempt => attempt,
            };
            match self.settle(attempt) {
                Some(Attempt::Holds(deadline)) if term.extend(deadline) => {}
                Some(Attempt::Holds(_)) => break,
                Some(Attempt::Lost(loss)) => return loss,
                Some(Attempt::Waits(_)) | None => {}
            }
        }
        Loss::Deadline
    }

    /// Until when the term lasts, from now on without renewals.
    pub(super) fn deadline(&self) -> Instant {
        self.candidate.deadline().unwrap_or_else(Instant::now)
    }

    /// Goes on as a follower.
    pub(super) fn follow(&mut self) {
        self.candidate.follow();
    }

    /// Gives the Lease back, so that another candidate need not wait. Only for when no work is left. A failure costs
    /// nothing but time: the record expires.
    pub(super) async fn release(&mut self) {
        self.follow();
        // Once more if something else changed the Lease in between.
        for _ in 0..2 {
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "the lease is not released and has to expire");
                return;
            }
            let Some(record) = self.candidate.release(Timestamp::now()) else { return };
            match self.api.replace(&record, None).await {
                Ok(record) => {
                    self.candidate.saw(Some(record), Instant::now());
                    self.tell();
                    tracing::info!(lease = self.config.lease, "released the lease");
                    return;
                }
                Err(CallError::Outdated) => {}
                Err(error) => {
                    tracing::warn!(%error, "the lease is not released and has to expire");
                    return;
                }
            }
        }
    }

    /// As [`Self::release`], for a follower, which holds the Lease only if an answer got lost.
    pub(super) async fn release_if_unsure(&mut self) {
        if self.unanswered {
            self.release().await;
        }
    }

    async fn look(&mut self) -> Result<(), CallError> {
        let record = self.api.read(self.candidate.deadline()).await?;
        self.candidate.saw(record, Instant::now());
        Ok(())
    }

    /// Acts on what was seen last; a write succeeds only if that is still so.
    async fn act(&mut self) -> Result<Attempt, CallError> {
        let until = self.candidate.deadline();
        let sent = Instant::now();
        let step = self.candidate.next(sent, Timestamp::now());
        self.unanswered |= matches!(step, Step::Create(_) | Step::Replace(_));
        let written = match step {
            Step::Look => Err(CallError::Outdated),
            Step::Wait(free_at) => return Ok(Attempt::Waits(free_at)),
            Step::Lost(loss) => return Ok(Attempt::Lost(loss)),
            Step::Prepare(record) => {
                let record = self.api.create(&record, until).await?;
                let now = Instant::now();
                self.candidate.saw(Some(record), now);
                return Ok(Attempt::Waits(now + self.config.lease_duration));
            }
            Step::Create(record) => self.api.create(&record, until).await,
            Step::Replace(record) => self.api.replace(&record, until).await,
        };
        self.unanswered &= matches!(written, Err(CallError::Failed { .. }));
        let deadline = self.candidate.wrote(written?, sent, Instant::now());
        Ok(deadline.map_or(Attempt::Lost(Loss::Deadline), Attempt::Holds))
    }

    /// Tells others what is known now, and the log what is new; a try that was lost to another is no error.
    fn settle(&mut self, attempt: Result<Attempt, CallError>) -> Option<Attempt> {
        self.tell();
        match attempt {
            Ok(attempt) => {
                if self.trouble.take().is_some() {
                    tracing::info!(lease = self.config.lease, "the lease can be read and written again");
                }
                Some(attempt)
            }
            Err(CallError::Outdated) => None,
            Err(error) => {
                let error = error.to_string();
                if self.trouble.as_ref() == Some(&error) {
                    tracing::debug!(error, "the leader election failed again");
                } else {
                    tracing::warn!(error, "the leader election failed; trying again");
                    self.trouble = Some(error);
                }
                None
            }
        }
    }

    fn tell(&self) {
        self.standing.send_if_modified(|standing| {
            let holder = self.candidate.holder();
            let changed = standing.holder.as_deref() != holder;
            if changed {
                standing.holder = holder.map(str::to_owned);
            }
            changed
        });
    }

    /// For how long the work of a lost term may go on ending.
    pub(super) fn end_deadline(&self) -> Duration {
        self.config.end_deadline()
    }
}
