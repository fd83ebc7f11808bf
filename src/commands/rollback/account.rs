//! The account in the status of the MachineMigration: it survives the command.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::tell::named;
use crate::seed::{CallError, Seed};
use crate::world::{RollbackAccount, RollbackStep};

/// As many steps are kept.
const STEPS: usize = 40;
/// As many names of Machines that were left behind.
const NAMES: usize = 100;
/// As long is the text of a step, in characters.
const TEXT: usize = 400;
/// How often a write is begun again because somebody changed the object in between.
const TRIES: usize = 8;

/// Writes down that a step begins; `anew` where the last rollback of the shoot is through.
pub(super) async fn begin(
    seed: &Seed,
    namespace: &str,
    step: &str,
    objects: &[String],
    left_behind: &[String],
    anew: bool,
) -> Result<(), CallError> {
    change(seed, namespace, |account, now| {
        if anew {
            begin_anew(account, now);
        }
        account.ended = None;
        keep_left_behind(account, left_behind);
        let text = named(objects).trim().chars().take(TEXT).collect();
        match account.steps.last_mut() {
            // The next batch of the same step, or one that was begun before the command was killed.
            Some(last) if last.step == step => (last.text, last.ended) = (text, None),
            _ => account.steps.push(RollbackStep {
                step: step.to_owned(),
                began: Time(now),
                ended: None,
                objects: 0,
                text,
            }),
        }
        let over = account.steps.len().saturating_sub(STEPS);
        account.steps.drain(..over);
    })
    .await
}

/// Writes down that a step was done to so many objects.
pub(super) async fn end(seed: &Seed, namespace: &str, step: &str, objects: usize) -> Result<(), CallError> {
    change(seed, namespace, |account, now| {
        let objects = i32::try_from(objects).unwrap_or(i32::MAX);
        match account.steps.iter_mut().rev().find(|last| last.step == step) {
            Some(last) => {
                last.ended = Some(Time(now));
                last.objects = last.objects.saturating_add(objects);
            }
            // The first pause makes the object that the account is kept in.
            None => account.steps.push(RollbackStep {
                step: step.to_owned(),
                began: Time(now),
                ended: Some(Time(now)),
                objects,
                text: String::new(),
            }),
        }
    })
    .await
}

/// Writes down that the shoot is back.
pub(super) async fn through(seed: &Seed, namespace: &str) -> Result<(), CallError> {
    change(seed, namespace, |account, now| account.ended = Some(Time(now))).await
}

fn fresh(now: Timestamp) -> RollbackAccount {
    RollbackAccount { began: Time(now), ended: None, left_behind: Vec::new(), left_behind_total: 0, steps: Vec::new() }
}

/// Another way back of the same shoot. What an earlier one left behind is still somebody's to delete by hand.
fn begin_anew(account: &mut RollbackAccount, now: Timestamp) {
    let before = std::mem::replace(account, fresh(now));
    (account.left_behind, account.left_behind_total) = (before.left_behind, before.left_behind_total);
}

fn keep_left_behind(account: &mut RollbackAccount, names: &[String]) {
    for name in names {
        if !account.left_behind.contains(name) && account.left_behind.len() < NAMES {
            account.left_behind.push(name.clone());
        }
    }
    let total = i32::try_from(names.len().max(account.left_behind.len())).unwrap_or(i32::MAX);
    account.left_behind_total = account.left_behind_total.max(total);
}

/// Changes the account, whatever others write meanwhile. Without a MachineMigration there is none.
async fn change(
    seed: &Seed,
    namespace: &str,
    change: impl Fn(&mut RollbackAccount, Timestamp),
) -> Result<(), CallError> {
    let mut tries = TRIES;
    loop {
        let Some(migration) = seed.migration(namespace).await? else { return Ok(()) };
        let now = Timestamp::now();
        let old = migration.status.and_then(|status| status.rollback);
        let mut account = old.clone().unwrap_or_else(|| fresh(now));
        change(&mut account, now);
        if old.as_ref() == Some(&account) {
            return Ok(());
        }
        let mut value = json!(account);
        // A merge patch keeps what it does not name.
        for (key, absent) in [("ended", account.ended.is_none()), ("leftBehind", account.left_behind.is_empty())] {
            if absent {
                value[key] = serde_json::Value::Null;
            }
        }
        let version = migration.metadata.resource_version;
        let patch = json!({"metadata": {"resourceVersion": version}, "status": {"rollback": value}});
        match seed.patch_status(namespace, &patch).await {
            Err(error) if error.is_conflict() && tries > 1 => tries -= 1,
            other => return other.map(drop),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn another_way_back_keeps_what_an_earlier_one_left_behind() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (then, now) = (Timestamp::from_second(1).unwrap(), Timestamp::from_second(2).unwrap());
        let mut account = fresh(then);
        account.ended = Some(Time(then));
        let step =
            RollbackStep { step: "pause".to_owned(), began: Time(then), ended: None, objects: 1, text: String::new() };
        account.steps.push(step);
        keep_left_behind(&mut account, &names(&["a", "b"]));
        begin_anew(&mut account, now);
        assert_eq!((account.began.0, account.ended.is_none(), account.steps.len()), (now, true, 0));
        keep_left_behind(&mut account, &names(&["b", "c"]));
        assert_eq!((account.left_behind, account.left_behind_total), (names(&["a", "b", "c"]), 3));
    }
}
