//! One life of the process after the other.

use std::sync::Arc;
use std::time::Duration;

use crate::collector;
use crate::copy::Copy;
use crate::election::Election;
use crate::event::Event;
use crate::informer::{self, Pace};
use crate::machines;
use crate::pod;
use crate::shared::Shared;

/// How often the restart of the container is written down again if that failed.
const AGAIN: Duration = Duration::from_millis(200);

/// How much later than Machines classes come after a frost.
const CLASSES_RECONNECT: Duration = Duration::from_secs(2);

/// Leads, ends itself when the Lease is lost, and starts again with an empty copy; until its pod is gone.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut restarts = 0;
    loop {
        let mut election = Election::new(&shared);
        election.win().await;
        let copy = Arc::new(Copy::new());
        shared.copy.send_replace(Some(Arc::clone(&copy)));
        shared.note(Event::Leads);
        tokio::select! {
            () = election.keep() => {}
            () = work(&shared, &copy) => {}
        }
        shared.copy.send_replace(None);
        shared.note(Event::Ended);
        tokio::time::sleep(shared.options.restart_after).await;
        restarts += 1;
        loop {
            match pod::report(&shared.access.admin, &shared.namespace, &shared.pod, shared.provider, restarts).await {
                Ok(true) => break,
                // The kubelet starts nothing for a pod that is gone.
                Ok(false) => return,
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }
}

async fn work(shared: &Arc<Shared>, copy: &Arc<Copy>) {
    let (delay, watch_timeout) = (shared.options.delay, shared.options.watch_timeout);
    // Nothing orders the two kinds. The deadly order is the one to test with: new IDs, old classes.
    let machines = Pace { delay, watch_timeout, reconnect: Duration::ZERO };
    let classes = Pace { reconnect: CLASSES_RECONNECT, ..machines };
    let (client, namespace) = (&shared.access.client, &*shared.namespace);
    tokio::join!(
        informer::run(client.clone(), namespace, &copy.machines, &shared.frost, machines),
        informer::run(client.clone(), namespace, &copy.classes, &shared.frost, classes),
        collector::run(shared, copy),
        machines::run(shared, copy),
    );
}
