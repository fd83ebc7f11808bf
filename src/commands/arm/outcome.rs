use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::Reason;

use crate::commands::Exit;

/// How a shoot's walk ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is armed, or guarded without anything to arm for.
    Done(Reason),
    /// A dry run: it would end as this.
    Would(Reason),
    /// It does not qualify, for all of these reasons.
    No(Vec<Because>),
    /// A step failed.
    Failed(Reason),
}

/// The end of one shoot's walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The shoot's namespace.
    pub(super) namespace: String,
    /// How it ended.
    pub(super) verdict: Verdict,
    /// More words, on one line; may be empty.
    pub(super) detail: String,
}

impl Outcome {
    /// Whether the shoot is of no concern where nobody named it: another provider's, or without anything that migrates.
    pub(super) fn is_no_concern(&self) -> bool {
        let none_of_ours =
            |because: &Because| matches!(because.reason, Reason::WorkerNotStackit | Reason::NothingToMigrate);
        matches!(&self.verdict, Verdict::No(reasons) if reasons.iter().any(none_of_ours))
    }
}

/// The exit code of all walks: a failed step weighs more than a no. `all` says that nobody named the shoots.
pub(super) fn exit_of(outcomes: &[Outcome], all: bool) -> Exit {
    let is_no = |outcome: &Outcome| matches!(outcome.verdict, Verdict::No(_)) && !(all && outcome.is_no_concern());
    if outcomes.iter().any(|outcome| matches!(outcome.verdict, Verdict::Failed(_))) {
        Exit::Failed
    } else if outcomes.iter().any(is_no) {
        Exit::No
    } else {
        Exit::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(verdict: Verdict) -> Outcome {
        Outcome { namespace: "shoot--p--s".to_owned(), verdict, detail: String::new() }
    }

    fn no(reason: Reason) -> Outcome {
        outcome(Verdict::No(vec![Because::of(reason)]))
    }

    #[test]
    fn a_failure_weighs_more_than_a_no_and_a_no_more_than_what_is_done() {
        let done = outcome(Verdict::Done(Reason::Armed));
        let failed = outcome(Verdict::Failed(Reason::GuardOpen));
        assert_eq!(exit_of(&[done.clone(), outcome(Verdict::Would(Reason::Armed))], false), Exit::Done);
        assert_eq!(exit_of(&[done.clone(), no(Reason::NoClass)], true), Exit::No);
        assert_eq!(exit_of(&[done, no(Reason::NoClass), failed], false), Exit::Failed);
        assert_eq!(exit_of(&[], true), Exit::Done);
    }

    #[test]
    fn what_does_not_belong_to_the_migration_is_a_no_only_where_it_was_named() {
        for reason in [Reason::WorkerNotStackit, Reason::NothingToMigrate] {
            assert_eq!(exit_of(&[no(reason)], true), Exit::Done);
            assert_eq!(exit_of(&[no(reason)], false), Exit::No);
        }
    }
}
