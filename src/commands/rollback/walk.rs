//! The way of one shoot: look, find the next step, do it, look again.

use std::time::{Duration, Instant};

use mcm_migration_core::decide::Because;
use mcm_migration_core::plan::way_back::{Ends, Next, Step, outline};

use super::account;
use super::cloud::{Planned, Session};
use super::sight::{LOOK_EVERY, SLEPT, Sight};
use super::tell::Teller;
use super::writes::{Failed, write};
use crate::commands::Exit;

/// Steps of one kind are done for so long, or so many, before everything is read again.
const BATCH: (Duration, usize) = (Duration::from_secs(5), 25);
/// How long it is waited for what only has to be seen: a Lease, a Node.
const SIGHT: Duration = Duration::from_secs(600);
/// What is said where it ends early.
const RUN_AGAIN: &str = "run the command again, it goes on where it was";
/// How long it is tried to read the shoot for the first time.
const FIRST_SIGHT: Duration = Duration::from_secs(10);
/// How often a step may fail in a row.
const FAILURES: u32 = 5;

/// The way back of one shoot.
pub(super) struct Walk {
    pub(super) sight: Sight,
    pub(super) session: Session,
    pub(super) teller: Teller,
    pub(super) wait: Duration,
    /// Whether this command wrote anything yet.
    pub(super) wrote: bool,
}

/// What it waits for, and since when.
struct Waiting {
    reasons: Vec<Because>,
    since: Instant,
}

impl Walk {
    /// Walks to the end, or to where it goes no further.
    pub(super) async fn run(mut self) -> Exit {
        let (mut failures, mut waiting) = (0, None::<Waiting>);
        let (mut moved, mut blind, mut saw) = (Instant::now(), None::<Instant>, false);
        loop {
            if let Err(because) = self.sight.look().await {
                // An API server that is started again costs no more than the time: what was seen of the IDs is kept. One that has not answered
                // yet may not let us read at all.
                if blind.is_none() {
                    self.teller.reasons("waits", std::slice::from_ref(&because), "");
                }
                let since = *blind.get_or_insert_with(Instant::now);
                if since.elapsed() >= if saw { SIGHT } else { FIRST_SIGHT } {
                    self.teller.reasons("failed", &[because], RUN_AGAIN);
                    return if saw { Exit::Restart } else { Exit::Failed };
                }
                tokio::time::sleep(LOOK_EVERY).await;
                continue;
            }
            (saw, blind) = (true, None);
            let failed = match self.sight.next() {
                Next::Done => return self.done().await,
                Next::Refuse(reasons) => return self.stop("refused", &reasons),
                // Lists that are too old before they can be used, or a Node that comes and goes, must not hold a shoot paused for ever.
                Next::Wait { reasons, .. } if moved.elapsed() >= self.longest() => {
                    return self.stop("not-yet", &reasons);
                }
                Next::Do(_) if moved.elapsed() >= self.longest() => return self.stop("not-yet", &[]),
                Next::Wait { reasons, ends } => {
                    failures = 0;
                    if let Some(exit) = self.wait_for(&mut waiting, reasons, ends) {
                        return exit;
                    }
                    let pause = if let Ends::InTime(left) = ends { left.min(LOOK_EVERY) } else { LOOK_EVERY };
                    tokio::time::sleep(pause.max(Duration::from_millis(50))).await;
                    continue;
                }
                Next::Do(steps) => {
                    waiting = None;
                    let failed = self.carry_out(&steps).await.err();
                    if failed.is_none() && !steps.first().is_some_and(looks) {
                        moved = Instant::now();
                    }
                    failed
                }
            };
            let Some(why) = failed else {
                failures = 0;
                continue;
            };
            failures += 1;
            if failures >= FAILURES {
                self.teller.say("failed", &[], &format!("{why}; {RUN_AGAIN}"));
                return Exit::Failed;
            }
            tokio::time::sleep(Duration::from_millis(250) * 2_u32.pow(failures)).await;
        }
    }

    /// A dry run: the whole way back with what holds it. The servers are listed, and nothing is written.
    pub(super) async fn outline(mut self) -> Exit {
        if let Err(because) = self.sight.look().await {
            // It was reached a moment ago, so it refuses to be read, which another try does not change.
            self.teller.reasons("failed", &[because], RUN_AGAIN);
            return Exit::Failed;
        }
        for region in self.sight.way_back().regions() {
            if let Err(error) = self.session.list(&mut self.sight, &region).await {
                let trouble = Because::about(mcm_migration_core::domain::Reason::CloudUnavailable, error.to_string());
                self.sight.cloud.troubles.insert(region, trouble);
            }
        }
        let lines = outline(&self.sight.way_back(), self.sight.now());
        self.tell_left_behind();
        let mut held = false;
        for line in &lines {
            held |= matches!(line.state, mcm_migration_core::plan::way_back::State::Held(_));
            let note = match line.step {
                "nodes" => "wait until every Node of the seed is Ready long enough (not looked at here)",
                "quarantine" => {
                    "wait until every machine-controller-manager is known to have the old IDs (not looked at here)"
                }
                _ => "",
            };
            self.teller.outline(line, note);
        }
        if lines.is_empty() {
            self.teller.say("done", &[], mcm_migration_core::domain::Reason::NothingToRollBack.meaning());
        }
        self.teller.say("dry-run", &[], "nothing was written");
        if held { Exit::No } else { Exit::Done }
    }

    async fn done(&self) -> Exit {
        use mcm_migration_core::domain::Reason;
        let account = self.sight.migration.as_ref().and_then(|migration| migration.status.as_ref()?.rollback.as_ref());
        // One that was killed after its last step could not say that it was through.
        if !self.wrote && account.is_none_or(|account| account.ended.is_some()) {
            self.teller.say("done", &[], Reason::NothingToRollBack.meaning());
            return Exit::Done;
        }
        if let Err(error) = account::through(&self.sight.seed, &self.sight.namespace).await {
            self.teller.say("account-not-written", &[], &error.to_string());
        }
        self.tell_left_behind();
        self.teller.say("done", &[], Reason::RolledBack.meaning());
        Exit::Done
    }

    fn stop(&self, event: &str, reasons: &[Because]) -> Exit {
        self.teller.reasons(event, reasons, "run the command again when this has changed, it goes on where it was");
        if self.sight.paused_by_us() {
            self.teller.say(
                "paused",
                &[],
                "the shoot stays paused by this command until the way back is done; docs/rollback.md says how to give it up",
            );
        }
        Exit::No
    }

    /// The longest time without a step that changes something, whatever is waited for meanwhile.
    fn longest(&self) -> Duration {
        let settings = &self.sight.settings;
        settings.quarantine + settings.nodes.ready_for + 3 * SIGHT + self.wait
    }

    /// Tells what is waited for, when that changes, and ends the command when it has lasted too long.
    fn wait_for(&self, waiting: &mut Option<Waiting>, reasons: Vec<Because>, ends: Ends) -> Option<Exit> {
        let same = waiting.as_ref().is_some_and(|waiting| waiting.reasons == reasons);
        let began = waiting.as_ref().map_or_else(Instant::now, |waiting| waiting.since);
        let patience = match ends {
            Ends::InTime(_) => None,
            Ends::BySight => Some(SIGHT.max(self.wait)),
            Ends::ByOthers => Some(self.wait),
        };
        if patience.is_some_and(|patience| began.elapsed() >= patience) {
            return Some(self.stop("not-yet", &reasons));
        }
        if !same {
            let more = match ends {
                Ends::InTime(left) => format!("{} s to go", left.as_secs().max(1)),
                Ends::BySight => self.sight.nodes_error().unwrap_or_default(),
                Ends::ByOthers => format!("for {} s at most", self.wait.as_secs()),
            };
            self.teller.reasons("waits", &reasons, &more);
        }
        // Time that passes by itself is not patience.
        let since = if matches!(ends, Ends::InTime(_)) { Instant::now() } else { began };
        *waiting = Some(Waiting { reasons, since });
        None
    }

    /// Does steps of one kind, each after what it relies on was read again. Fails only if none could be done.
    async fn carry_out(&mut self, steps: &[Step]) -> Result<(), String> {
        let Some(first) = steps.first() else { return Ok(()) };
        let (name, looks) = (first.name(), looks(first));
        let steps = &steps[..steps.len().min(BATCH.1)];
        let objects: Vec<String> =
            steps.iter().map(|step| step.subject().to_owned()).filter(|subject| !subject.is_empty()).collect();
        if !looks {
            self.begin(name, &objects).await?;
        }
        let (begun, mut done, mut first_error) = (Instant::now(), Vec::new(), None);
        // What is seen while one of them is carried out must not change what the others were planned for.
        let planned: Vec<Box<str>> = steps.iter().map(|step| self.sight.provider_id(step.subject())).collect();
        for (step, id) in steps.iter().zip(&planned) {
            if self.sight.has_slept() {
                // The LISTs are older than they look.
                first_error.get_or_insert_with(|| SLEPT.to_owned());
                break;
            }
            match self.carry_out_one(step, id).await {
                Ok(()) => done.push(step.subject().to_owned()),
                Err(failed) => {
                    let why = failed.to_string();
                    self.teller.step("failed", name, &one(step), Some(&why));
                    first_error.get_or_insert(why);
                }
            }
            if begun.elapsed() >= BATCH.0 {
                break;
            }
        }
        if done.is_empty() {
            return Err(first_error.unwrap_or_default());
        }
        if !looks {
            let objects: Vec<String> = done.iter().filter(|subject| !subject.is_empty()).cloned().collect();
            self.teller.step("done", name, &objects, None);
            if let Err(error) = account::end(&self.sight.seed, &self.sight.namespace, name, done.len()).await {
                self.teller.say("account-not-written", &[], &error.to_string());
            }
        }
        Ok(())
    }

    /// Says and writes down what is about to be done, so that a command that is killed leaves that behind.
    async fn begin(&mut self, name: &str, objects: &[String]) -> Result<(), String> {
        let anew = !self.wrote && self.sight.begins_anew();
        if !self.wrote {
            self.tell_left_behind();
        }
        self.teller.step("begun", name, objects, None);
        let left_behind = self.left_behind();
        let written = account::begin(&self.sight.seed, &self.sight.namespace, name, objects, &left_behind, anew).await;
        self.wrote = true;
        written.map_err(|error| error.to_string())
    }

    async fn carry_out_one(&mut self, step: &Step, id: &str) -> Result<(), Failed> {
        let planned = Planned { name: step.subject(), id };
        match step {
            Step::List { region } => self.session.list(&mut self.sight, region).await,
            Step::Unlabel { region, server, keys, .. } => {
                self.session.unlabel(&mut self.sight, &planned, region, *server, keys).await
            }
            Step::ListParts { region, kind } => self.session.list_parts(&mut self.sight, region, *kind).await,
            Step::UnlabelPart { region, part, keys, .. } => {
                self.session.unlabel_part(&mut self.sight, &planned, region, *part, keys).await
            }
            other => write(&mut self.sight, other).await,
        }
    }

    fn left_behind(&self) -> Vec<String> {
        self.sight.way_back().left_behind().into_iter().map(str::to_owned).collect()
    }

    fn tell_left_behind(&self) {
        let left = self.left_behind();
        if !left.is_empty() {
            self.teller.say(
                "left-behind",
                &left,
                "their VMs are not deleted with these Machines; somebody has to delete them by hand",
            );
        }
        let known =
            |name: &str| self.sight.snapshot.facts.machines.contains_key(name) && !left.iter().any(|left| left == name);
        let moot: Vec<String> =
            self.sight.leave_behind.iter().filter(|name| known(name)).map(ToString::to_string).collect();
        if !moot.is_empty() {
            self.teller.say("not-left-behind", &moot, "came from OpenStack and gets its old ID back");
        }
    }
}

/// Whether the step changes nothing.
fn looks(step: &Step) -> bool {
    matches!(step, Step::List { .. } | Step::ListParts { .. })
}

fn one(step: &Step) -> Vec<String> {
    if step.subject().is_empty() { Vec::new() } else { vec![step.subject().to_owned()] }
}
