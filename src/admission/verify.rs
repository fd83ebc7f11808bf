use mcm_migration_core::decide::Decision;
use serde_json::Value;

/// Applies the patch to the object that was received, as the API server will. Debug builds ask it of every answer: a patch that
/// does not apply would refuse the write even with `failurePolicy: Ignore`.
pub(super) fn applies(body: &[u8], decision: &Decision) -> bool {
    if decision.patch.is_empty() {
        return true;
    }
    let apply = || -> Option<()> {
        let mut review: Value = serde_json::from_slice(body).ok()?;
        let object = review.pointer_mut("/request/object")?;
        let patch: json_patch::Patch = serde_json::from_value(serde_json::to_value(&decision.patch).ok()?).ok()?;
        json_patch::patch(object, &patch).ok()
    };
    apply().is_some()
}
