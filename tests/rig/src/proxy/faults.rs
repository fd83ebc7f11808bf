//! What the proxy does wrong at the moment.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::watch::Receiver;

/// The state of all faults; none by default.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    /// Plurals whose watches are silent.
    pub(super) swallowed: BTreeSet<String>,
    pub(super) network: Network,
    /// How much later requests and answers go on.
    pub(super) delay: Duration,
    /// How often connections have been cut; a connection ends when the number changes.
    pub(super) cuts: u64,
}

/// What happens to connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Network {
    /// They work.
    #[default]
    Whole,
    /// They are closed.
    Cut,
    /// They stay open, and nothing passes.
    Hanging,
}

/// Returns when nothing hangs; at once if nothing does.
pub(super) async fn pass(faults: &mut Receiver<Faults>) {
    // An error says that the proxy is gone, and this task with it.
    let _ = faults.wait_for(|faults| faults.network != Network::Hanging).await;
}

/// Returns when connections that were made under `cuts` have to end.
pub(super) async fn cut(mut faults: Receiver<Faults>, cuts: u64) {
    let _ = faults.wait_for(|faults| faults.cuts != cuts).await;
}
