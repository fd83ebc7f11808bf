//! What to do next with the CA and the certificate that all replicas share: pure functions of the Secret's content, of what is
//! published, and of the time.
//!
//! One promise holds at every moment, however late a replica reads: *the certificate that it serves verifies against the bundle
//! that API servers have*. So
//!
//! - a certificate is issued only by a CA that has stood in every webhook configuration for [`Lifetimes::settling`];
//! - a CA leaves the bundle only when it has expired and proves nothing any more;
//! - what the Secret holds is the one truth, and only who wrote it last may publish it (see `self_managed`).

use std::collections::BTreeSet;
use std::time::Duration;

use super::SharedTls;
use super::authority::{IssueError, issue, new_authority};
use super::shared::{Leaf, NextCa, SharedTlsError, SigningCa};
use crate::serving::UnixTime;

/// How long things are valid. Both kinds of certificate are replaced when two thirds of their time are over.
#[derive(Debug, Clone, Copy)]
pub struct Lifetimes {
    /// Of a CA.
    pub authority: Duration,
    /// Of a serving certificate; never longer than what is left of its CA.
    pub leaf: Duration,
    /// How long a new CA has to be in every webhook configuration before it signs: API servers read these late.
    pub settling: Duration,
    /// How much earlier than its making a certificate begins: clocks differ.
    pub backdated: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        let days = |days: u64| Duration::from_secs(days * 86_400);
        Self {
            authority: days(730),
            leaf: days(90),
            settling: Duration::from_secs(3600),
            backdated: Duration::from_secs(3600),
        }
    }
}

/// What the serving certificate is to be.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// DNS names and IP addresses.
    pub names: BTreeSet<String>,
    /// How long things are valid.
    pub lifetimes: Lifetimes,
}

/// Whether every webhook configuration there is holds the whole bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// Each one does; also when there is none, because then nobody calls.
    Everywhere,
    /// At least one does not.
    NotEverywhere,
    /// They could not be read.
    Unknown,
}

/// One change of the Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A first CA and certificate: there are none, or they have expired and nobody trusts them any more.
    Found,
    /// A new CA joins the bundle.
    AppendNext,
    /// The new CA is in every configuration; it begins to settle.
    BeginSettling,
    /// The new CA is missing in a configuration again; it has to settle anew.
    RestartSettling,
    /// The new CA has settled: from now on it signs, beginning with a new certificate.
    PromoteNext,
    /// A new certificate from the same CA.
    Reissue,
    /// Expired CAs leave the bundle.
    DropExpired,
}

/// Why a step could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// No certificate could be made.
    #[error(transparent)]
    Issue(#[from] IssueError),
    /// What was made cannot be read.
    #[error("a new certificate cannot be used: {0}")]
    Made(#[from] SharedTlsError),
}

/// The next change of the Secret at `now`, or none.
#[must_use]
pub fn next_step(state: Option<&SharedTls>, wanted: &Wanted, published: Published, now: UnixTime) -> Option<Step> {
    let Some(SharedTls { authority, next, retired, leaf }) = state else { return Some(Step::Found) };
    let authority = &authority.ca;
    match next {
        None if authority.validity.is_over(now) => return Some(Step::Found),
        None if authority.validity.is_due(now) => return Some(Step::AppendNext),
        None => {}
        Some(next) if next.signing.ca.validity.is_over(now) => return Some(Step::Found),
        // Nothing that the old one signed is trusted any more: there is nothing left to wait for.
        Some(_) if authority.validity.is_over(now) => return Some(Step::PromoteNext),
        Some(next) => match (published, next.published_since) {
            (Published::Everywhere, None) => return Some(Step::BeginSettling),
            (Published::NotEverywhere, Some(_)) => return Some(Step::RestartSettling),
            (Published::Everywhere, Some(since)) if now.since(since) >= wanted.lifetimes.settling => {
                return Some(Step::PromoteNext);
            }
            _ => {}
        },
    }
    let usable = leaf.authority_key_id == authority.key_id && wanted.names.is_subset(&leaf.names);
    // A certificate as old as what is left of its CA cannot be made any better.
    let improvable = leaf.pair.validity.not_after < authority.validity.not_after;
    if !usable || (leaf.pair.validity.is_due(now) && improvable) {
        return Some(Step::Reissue);
    }
    retired.iter().any(|ca| ca.validity.is_over(now)).then_some(Step::DropExpired)
}

/// The Secret's content after `step`.
///
/// # Errors
/// [`StepError`] where the cryptographic library fails or a wanted name is none.
pub fn take(step: Step, state: Option<SharedTls>, wanted: &Wanted, now: UnixTime) -> Result<SharedTls, StepError> {
    let Some(mut state) = state else { return found(wanted, now) };
    match step {
        Step::Found => return found(wanted, now),
        Step::AppendNext => {
            state.next = Some(NextCa { signing: new_ca(wanted, now)?, published_since: None });
        }
        Step::BeginSettling | Step::RestartSettling => {
            if let Some(next) = &mut state.next {
                next.published_since = (step == Step::BeginSettling).then_some(now);
            }
        }
        Step::PromoteNext => {
            if let Some(next) = state.next.take() {
                let old = std::mem::replace(&mut state.authority, next.signing);
                state.retired.push(old.ca);
                state.leaf = new_leaf(&state.authority, wanted, &BTreeSet::new(), now)?;
            }
        }
        Step::Reissue => {
            // Names that only another replica wants (it has other flags during a roll-out) stay until the next renewal.
            let due = state.leaf.pair.validity.is_due(now);
            let others = if due { BTreeSet::new() } else { state.leaf.names };
            state.leaf = new_leaf(&state.authority, wanted, &others, now)?;
        }
        Step::DropExpired => state.retired.retain(|ca| !ca.validity.is_over(now)),
    }
    Ok(state)
}

fn found(wanted: &Wanted, now: UnixTime) -> Result<SharedTls, StepError> {
    let authority = new_ca(wanted, now)?;
    let leaf = new_leaf(&authority, wanted, &BTreeSet::new(), now)?;
    Ok(SharedTls { authority, next: None, retired: Vec::new(), leaf })
}

fn new_ca(wanted: &Wanted, now: UnixTime) -> Result<SigningCa, StepError> {
    let Lifetimes { authority, backdated, .. } = wanted.lifetimes;
    Ok(SigningCa::from_issued(&new_authority(now.minus(backdated), authority + backdated)?)?)
}

fn new_leaf(
    authority: &SigningCa,
    wanted: &Wanted,
    others: &BTreeSet<String>,
    now: UnixTime,
) -> Result<Leaf, StepError> {
    let Lifetimes { leaf, backdated, .. } = wanted.lifetimes;
    let names = wanted.names.union(others).cloned().collect();
    let from = now.minus(backdated).max(authority.ca.validity.not_before);
    let until = now.plus(leaf).min(authority.ca.validity.not_after);
    Ok(Leaf::new(issue(&authority.issued(), &names, from, until)?, &authority.ca)?)
}
