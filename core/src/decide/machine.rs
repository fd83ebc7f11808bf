use crate::domain::{ProviderId, Reason, StackitProviderId, keys};
use crate::review::{Object, Operation, Shape, Text};

use super::{Because, Decision, Known, Patch, open_for_rewrite};

/// Decides on a write of a Machine. The same for CREATE and UPDATE, for a dry run, for a terminating Machine.
///
/// The one exception is an UPDATE that leaves no finalizer on a terminating object: it is the last write and passes
/// untouched. The object alone and what is known decide; the decision on its own result is that there is nothing to do.
#[must_use]
pub fn decide_machine(operation: Operation, object: &Object<'_>, known: Known<'_>) -> Decision {
    if !matches!(operation, Operation::Create | Operation::Update) || object.shape != Shape::Right {
        return Decision::passed(Because::of(Reason::NotOurObject));
    }
    let id = match &object.spec.provider_id {
        Text::Absent => return Decision::passed(Because::of(Reason::NotLegacy)),
        Text::Other => return Decision::held(Because::about(Reason::ObjectUnreadable, "spec.providerID")),
        Text::Is(text) => text,
    };
    let legacy = match ProviderId::of(id) {
        ProviderId::Legacy(legacy) => Ok(legacy),
        ProviderId::MalformedLegacy(_) => Err(Because::about(Reason::ProviderIdMalformed, &**id)),
        ProviderId::None | ProviderId::Stackit(_) | ProviderId::Foreign(_) => {
            return Decision::passed(Because::of(Reason::NotLegacy));
        }
    };
    if is_last_write(operation, object) {
        return Decision::passed(Because::of(Reason::FinalizersGone));
    }
    let held = |because| Decision { old_id: Some(id.clone().into_owned()), ..Decision::held(because) };
    let legacy = match legacy {
        Ok(legacy) => legacy,
        Err(because) => return held(because),
    };
    let annotations = &object.metadata.annotations;
    if object.metadata.shape != Shape::Right || annotations.shape == Shape::Other {
        return held(Because::about(Reason::ObjectUnreadable, "metadata.annotations"));
    }
    let project = match open_for_rewrite(object.spec.class.name.text(), known) {
        Ok(project) => project,
        Err(because) => return held(because),
    };

    let new_id = StackitProviderId { project, server: legacy.server() };
    let mut patch = Patch::default();
    patch.set_provider_id(new_id.to_string());
    patch.set_annotations(
        annotations.shape,
        [
            (&annotations.migrated_machine, keys::MIGRATED_MACHINE, keys::TRUE),
            (&annotations.machine_should_be_migrated, keys::MACHINE_SHOULD_BE_MIGRATED, keys::TRUE),
            (&annotations.previous_provider_id, keys::PREVIOUS_PROVIDER_ID, &**id),
        ]
        .into_iter()
        .filter(|(is, _, wanted)| !matches!(is, Text::Is(text) if text == wanted))
        .map(|(_, key, wanted)| (key, wanted)),
    );
    Decision {
        old_id: Some(id.clone().into_owned()),
        new_id: Some(new_id),
        ..Decision::changed(Because::of(Reason::Rewritten), patch)
    }
}

/// An UPDATE of a terminating object that leaves no finalizer on it. A `finalizers` of another type than a list counts as
/// left: the API server would not take it anyway.
pub(super) fn is_last_write(operation: Operation, object: &Object<'_>) -> bool {
    operation == Operation::Update
        && object.metadata.deletion_timestamp.is_there()
        && object.metadata.finalizers.entries == 0
        && object.metadata.finalizers.shape != Shape::Other
}
