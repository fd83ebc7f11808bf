use mcm_migration_core::decide::Decision;
use serde_json::Value;

/// Whether the patch applies to the object that was received, as the API server will apply it. Debug builds ask it of every answer: a
/// patch that does not apply would refuse the write even with `failurePolicy: Ignore`. An object too deep for a tree cannot be asked.
pub(super) fn applies(body: &[u8], decision: &Decision) -> bool {
    if decision.patch.is_empty() {
        return true;
    }
    let Ok(mut review) = serde_json::from_slice::<Value>(body) else { return true };
    let patch = serde_json::to_value(&decision.patch).and_then(serde_json::from_value::<json_patch::Patch>);
    match (review.pointer_mut("/request/object"), patch) {
        (Some(object), Ok(patch)) => json_patch::patch(object, &patch).is_ok(),
        _ => false,
    }
}
