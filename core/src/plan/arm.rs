use crate::decide::NamespaceFacts;

/// Whether a guarded shoot has something to rewrite: a Machine with a legacy ID or the marker. A shoot without one (restored
/// after its migration) stays guarded and is not armed.
///
/// That every Node of the seed was Ready long enough is asked of [`super::every_node_ready_long_enough`].
#[must_use]
pub fn needs_arming(facts: &NamespaceFacts) -> bool {
    facts.machines.values().any(|machine| machine.is_legacy() || machine.marked)
}
