use std::collections::BTreeSet;
use std::time::Instant;

use mcm_migration_core::archive::{Change, Finding, Record, Verdict, finding};
use mcm_migration_core::decide::{Because, MachineFacts, NamespaceFacts};
use mcm_migration_core::domain::ProviderId;
use mcm_migration_core::plan::way_back::{WayBack, may_write_old};
use mcm_migration_core::plan::{CloudView, Direction, Listed, Moment, Seen, Settings};

use super::print::{self, Counts};
use super::write::write;
use crate::cloud::Clouds;
use crate::commands::shoot_cloud;
use crate::seed::Seed;
use crate::world::{WayBackSnapshot, WorldError, way_back_snapshot};

/// One shoot, as it is now.
pub(super) struct Shoot<'a> {
    pub(super) seed: &'a Seed,
    pub(super) namespace: &'a str,
    pub(super) snapshot: WayBackSnapshot,
    settings: &'a Settings,
    clouds: &'a Clouds,
    cloud: CloudView,
    seen: Seen,
    nobody: BTreeSet<Box<str>>,
    started: Instant,
}

impl<'a> Shoot<'a> {
    /// Reads it, past every cache.
    pub(super) async fn read(
        api: &'a Seed,
        namespace: &'a str,
        settings: &'a Settings,
        clouds: &'a Clouds,
    ) -> Result<Self, WorldError> {
        let snapshot = way_back_snapshot(&api.client(), namespace).await?;
        let seen = Seen::of(Direction::Back);
        let (cloud, nobody, started) = (CloudView::default(), BTreeSet::new(), Instant::now());
        Ok(Self { seed: api, namespace, snapshot, settings, clouds, cloud, seen, nobody, started })
    }

    /// Looks at each record and, unless it is a dry run, writes what may be written. Tells of each object that is not as the record has it.
    pub(super) async fn restore(mut self, records: impl Iterator<Item = &Record>, dry_run: bool, counts: &mut Counts) {
        let mut records: Vec<&Record> = records.collect();
        // The Worker's mark comes off after the IDs, as on the whole way back: before, admission could put it back.
        records.sort_by_key(|record| matches!(record, Record::Worker(_)));
        if may_write_old(&self.snapshot.facts).is_ok()
            && records.iter().any(|record| self.goes_back(record))
            && let Err(because) = self.list().await
        {
            // Each of its Machines says that the labels are not known; this says why.
            crate::commands::fail(super::Exit::No, &format_args!("{}: {because}", self.namespace));
        }
        for record in records {
            let Some(found) = self.finding(record, &self.snapshot) else { continue };
            match &found.verdict {
                Verdict::Same => counts.same += 1,
                Verdict::Left(_) => {
                    counts.left += 1;
                    print::object(self.namespace, &found, "left", &print::reasons(&found.verdict));
                }
                Verdict::Refused(_) => {
                    counts.refused += 1;
                    print::object(self.namespace, &found, "refused", &print::reasons(&found.verdict));
                }
                Verdict::Write(change) if dry_run => {
                    counts.written += 1;
                    print::object(self.namespace, &found, "would be written", &print::change(change));
                }
                Verdict::Write(change) => self.write(record, &found, change, counts).await,
            }
        }
    }

    async fn write(&mut self, record: &Record, found: &Finding, change: &Change, counts: &mut Counts) {
        let old = self.cloud.lists.values().any(|listed| listed.age(self.now()) > Settings::LIST_MAX_AGE / 2);
        if old && matches!(change, Change::ProviderId { .. }) {
            // Where it fails the labels count as unknown, and the Machine is refused below.
            drop(self.list().await);
        }
        match write(self, record, change).await {
            Ok(()) => {
                counts.written += 1;
                print::object(self.namespace, found, "written", &print::change(change));
            }
            Err(error) => {
                counts.failed += 1;
                print::object(self.namespace, found, "failed", &error.to_string());
            }
        }
    }

    /// What a record comes to, were the shoot as in `snapshot`.
    pub(super) fn finding(&self, record: &Record, snapshot: &WayBackSnapshot) -> Option<Finding> {
        let way_back = WayBack {
            namespace: self.namespace,
            facts: &snapshot.facts,
            classes: &snapshot.classes,
            previous: &snapshot.previous,
            paused_by_us: false,
            seen: &self.seen,
            nodes: None,
            cloud: &self.cloud,
            settings: self.settings,
            leave_behind: &self.nobody,
        };
        finding(record, &way_back, self.now())
    }

    /// The shoot with these facts, read right now, and with one Machine as it is now.
    pub(super) fn with(
        &self,
        mut facts: NamespaceFacts,
        name: &str,
        machine: MachineFacts,
        previous: Option<Box<str>>,
    ) -> WayBackSnapshot {
        facts.machines.insert(name.into(), machine);
        let previous = previous.map(|id| (name.into(), id)).into_iter().collect();
        WayBackSnapshot { facts, classes: self.snapshot.classes.clone(), previous }
    }

    /// Whether it would take an OpenStack ID back.
    fn goes_back(&self, record: &Record) -> bool {
        let Record::Machine(record) = record else { return false };
        let now = self.snapshot.facts.machines.get(&record.name).map(|machine| &*machine.provider_id);
        ProviderId::of(&record.provider_id).is_legacy() && now.is_some_and(|now| *now != *record.provider_id)
    }

    /// LISTs the servers of all regions of the shoot.
    async fn list(&mut self) -> Result<(), Because> {
        let asked = self.now();
        self.cloud = CloudView::default();
        let project = shoot_cloud::project(&self.seed.client(), self.namespace, self.clouds).await?;
        let regions: BTreeSet<_> =
            self.snapshot.classes.values().filter_map(|class| class.region(&self.settings.regions)).collect();
        for (region, servers) in shoot_cloud::servers(&project, regions).await? {
            self.cloud.lists.insert(region, Listed::new(servers, asked));
        }
        Ok(())
    }

    fn now(&self) -> Moment {
        self.started.elapsed()
    }
}
