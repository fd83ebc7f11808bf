//! `sweep`: lists what migrated Machines left behind in the cloud and, with `--delete`, removes it, with the operator's own credentials.

mod act;
mod flags;
mod look;
mod print;

use std::collections::BTreeMap;
use std::io::Write;

use kube::Client;
use mcm_migration_core::plan::{OldLabels, confirmed};

use super::reach::reach;
use super::{ClusterError, Exit, fail};
use crate::cloud::{CloudConfig, CloudMetrics, Clouds};
use crate::seed::CallError;
use crate::world::shoot_namespaces;
use act::{End, Seed};
use look::{Domains, Found, Look, look};
use print::{FAILED, Tally};

pub(super) use flags::SweepFlags;

/// Nothing is written in the seed; it is said all the same who reads.
const FIELD_MANAGER: &str = "mcm-migration-sweep";

pub(super) fn run(flags: &SweepFlags) -> Exit {
    match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime.block_on(sweep(flags)),
        Err(error) => fail(Exit::Failed, &format_args!("cannot start the runtime: {error}")),
    }
}

async fn sweep(flags: &SweepFlags) -> Exit {
    let clouds = match clouds(flags) {
        Ok(clouds) => clouds,
        Err(error) => return fail(Exit::Usage, &error),
    };
    let seed = match reach(&flags.cluster, FIELD_MANAGER).await {
        Ok(seed) => seed,
        Err(exit) => return exit,
    };
    match take(&seed.client(), &clouds, flags).await {
        Ok(tally) if !tally.has(FAILED) => return Exit::Done,
        Ok(_) => {}
        Err(error) => drop(fail(Exit::Failed, &error)),
    }
    // What failed is told already; an API server that is gone is a reason to run it again, whatever else there was.
    match seed.greet().await {
        Err(CallError::NoAnswer { message, .. }) => {
            fail(Exit::Restart, &ClusterError::Unreachable { url: seed.url(), message })
        }
        _ => Exit::Failed,
    }
}

fn clouds(flags: &SweepFlags) -> Result<Clouds, crate::cloud::ConfigError> {
    let config = CloudConfig { ca_bundle: flags.ca_bundle.clone(), ..CloudConfig::from_env()? };
    Clouds::new(config, CloudMetrics::default())
}

async fn take(client: &Client, clouds: &Clouds, flags: &SweepFlags) -> Result<Tally, String> {
    let mut namespaces = flags.namespace.clone();
    if flags.all {
        namespaces = shoot_namespaces(client).await.map_err(|error| error.to_string())?;
    }
    namespaces.sort();
    namespaces.dedup();
    let domains = Domains { present: flags.label_domain.clone(), old: flags.old_label_domain.clone() };
    let first = look(client, clouds, &namespaces, &domains, flags.all).await?;
    let mut tally = Tally::default();
    tell(&print::look(&first, &mut tally));
    tell(&format!("{}\n", tally.line()));
    if !flags.delete {
        tell("nothing was deleted; --delete removes what is called leftover or old labels\n");
        return Ok(tally);
    }
    if !has_work(&first) {
        return Ok(tally);
    }
    tell(&format!("looking again after {}s (--grace)\n", flags.grace.as_secs()));
    tokio::time::sleep(flags.grace).await;
    let second = look(client, clouds, &namespaces, &domains, flags.all).await?;
    let mut tally = Tally::default();
    remove(client, &first, &second, &mut tally).await;
    tell(&format!("{}\n", tally.line()));
    Ok(tally)
}

fn has_work(look: &Look) -> bool {
    let of_shoot = |found: &Found| {
        let mut leftovers = found.leftovers.values().flatten();
        leftovers.any(|leftover| leftover.fate.is_ok()) || found.old_labels.values().any(|old| !old.is_empty())
    };
    look.shoots.values().flatten().any(of_shoot)
}

/// Removes what both looks show, one after the other: there is no hurry.
async fn remove(client: &Client, first: &Look, second: &Look, tally: &mut Tally) {
    let seed = Seed::new(client.clone());
    for (namespace, found) in &second.shoots {
        let (before, found) = match (first.shoots.get(namespace), found) {
            (Some(Ok(before)), Ok(found)) => (before, found),
            (_, Err(why)) => {
                tell(&print::end(namespace, "the shoot", &End::Failed(why.clone()), tally));
                continue;
            }
            // It was told when it failed, and still counts.
            (Some(Err(_)), Ok(_)) => {
                tally.add(FAILED);
                continue;
            }
            _ => continue,
        };
        for (region, leftovers) in &found.leftovers {
            let earlier = before.leftovers.get(region).map(Vec::as_slice).unwrap_or_default();
            for part in confirmed(earlier, leftovers) {
                let end = seed.delete(&found.client, namespace, region, &part).await;
                tell(&print::end(namespace, &print::part(&part), &end, tally));
            }
        }
        for (region, old) in &found.old_labels {
            for old in same(before.old_labels.get(region), old) {
                let end = seed.unlabel(&found.client, namespace, region, old).await;
                tell(&print::end(namespace, &print::labels(old), &end, tally));
            }
        }
    }
}

/// The labels that were there at the first look as well.
fn same<'a>(before: Option<&'a Vec<OldLabels>>, after: &'a [OldLabels]) -> impl Iterator<Item = &'a OldLabels> {
    let before: BTreeMap<_, _> = before.into_iter().flatten().map(|old| (&old.machine, old)).collect();
    after.iter().filter(move |old| before.get(&old.machine).is_some_and(|before| before.keys == old.keys))
}

fn tell(text: &str) {
    // Whoever closed standard output does not want to read on; the sweep goes on all the same.
    let mut out = std::io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}
