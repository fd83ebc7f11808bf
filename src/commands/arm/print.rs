//! What the operator reads: a line a shoot, its reasons below, a summary.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::outcome::{Outcome, Verdict};

/// As wide as the longest result.
const RESULT: usize = 28;

/// The lines of one shoot; `width` is the length of the longest namespace, `all` says that nobody named the shoot.
pub(super) fn lines(outcome: &Outcome, width: usize, all: bool) -> String {
    let Outcome { namespace, verdict, detail } = outcome;
    let mut text = String::new();
    // Writing into a String does not fail.
    let line = format!("{namespace:width$}  {:RESULT$}  {detail}", result(verdict));
    let _ = writeln!(text, "{}", line.trim_end());
    if let Verdict::No(reasons) = verdict
        && !(all && outcome.is_no_concern())
    {
        for because in reasons {
            let reason = because.reason;
            let _ = writeln!(text, "  {because}: {} {}", reason.meaning(), reason.what_to_do());
        }
    }
    if let Verdict::Failed(reason) = verdict {
        let _ = writeln!(text, "  {reason}: {} {}", reason.meaning(), reason.what_to_do());
    }
    text
}

fn result(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Done(reason) | Verdict::Failed(reason) => reason.to_string(),
        Verdict::Would(reason) => format!("would be {reason}"),
        Verdict::No(reasons) => reasons.first().map(|because| because.reason.to_string()).unwrap_or_default(),
    }
}

/// How many shoots ended how.
pub(super) fn summary(outcomes: &[Outcome], all: bool) -> String {
    let mut counts: BTreeMap<(u8, String), usize> = BTreeMap::new();
    for outcome in outcomes {
        let group = match &outcome.verdict {
            verdict @ (Verdict::Done(_) | Verdict::Would(_)) => (0, result(verdict)),
            Verdict::No(_) if all && outcome.is_no_concern() => (1, "of no concern".to_owned()),
            Verdict::No(_) => (2, "not qualified".to_owned()),
            verdict @ Verdict::Failed(_) => (3, format!("failed with {}", result(verdict))),
        };
        *counts.entry(group).or_default() += 1;
    }
    let shoots = if outcomes.len() == 1 { "shoot" } else { "shoots" };
    let counts: Vec<String> = counts.into_iter().map(|((_, what), count)| format!("{count} {what}")).collect();
    if counts.is_empty() {
        return "no shoots: no namespace has a Worker".to_owned();
    }
    format!("{} {shoots}: {}", outcomes.len(), counts.join(", "))
}

#[cfg(test)]
mod tests {
    use mcm_migration_core::decide::Because;
    use mcm_migration_core::domain::Reason;

    use super::*;

    fn outcome(namespace: &str, verdict: Verdict, detail: &str) -> Outcome {
        Outcome { namespace: namespace.to_owned(), verdict, detail: detail.to_owned() }
    }

    #[test]
    fn a_no_tells_every_reason_with_its_object_and_what_to_do() {
        let reasons = vec![Because::about(Reason::OpenstackMcmAlive, "mcm-0"), Because::of(Reason::NoClass)];
        let text = lines(&outcome("shoot--p--s", Verdict::No(reasons), ""), 12, false);
        let found: Vec<&str> = text.lines().collect();
        assert_eq!(found[0], "shoot--p--s   openstack-mcm-alive");
        assert!(
            found[1].starts_with("  openstack-mcm-alive (mcm-0): A pod of the machine-controller-manager"),
            "{text}"
        );
        assert!(found[2].ends_with(Reason::NoClass.what_to_do()), "{text}");
    }

    #[test]
    fn every_result_fits_its_column() {
        for reason in Reason::ALL {
            assert!(reason.name().len() <= RESULT, "{reason}");
        }
    }

    #[test]
    fn the_summary_counts_results_and_leaves_out_what_is_of_no_concern() {
        let of = |verdict| outcome("n", verdict, "");
        let outcomes = [
            of(Verdict::Done(Reason::Armed)),
            of(Verdict::Done(Reason::Armed)),
            of(Verdict::No(vec![Because::of(Reason::WorkerNotStackit)])),
            of(Verdict::No(vec![Because::of(Reason::NoClass)])),
            of(Verdict::Failed(Reason::GuardOpen)),
        ];
        assert_eq!(
            summary(&outcomes, true),
            "5 shoots: 2 armed, 1 of no concern, 1 not qualified, 1 failed with guard-open"
        );
    }
}
