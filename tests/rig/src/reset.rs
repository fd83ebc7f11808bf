//! What has to change in a cluster's store to make it again what it was.

use crate::etcd::{Change, Keys};

/// The books of the API server itself, which it writes whenever it likes. A test that changes one of them wants an API
/// server of its own.
const ITS_OWN: [&str; 6] = [
    "/registry/apiregistration.k8s.io/",
    "/registry/configmaps/kube-system/extension-apiserver-authentication",
    "/registry/flowschemas/",
    "/registry/leases/kube-system/",
    "/registry/prioritylevelconfigurations/",
    "/registry/ranges/",
];
const DEFINITIONS: &str = "/registry/apiextensions.k8s.io/customresourcedefinitions/";
const POLICIES: &str = "/registry/validatingadmissionpolic";

/// The way back to an earlier state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reset {
    pub(crate) changes: Vec<Change>,
    /// A definition that was there is gone or another one: the API server takes long to serve it again.
    pub(crate) definitions: bool,
    /// Admission policies or their bindings change: the API server goes on with the old ones for a moment.
    pub(crate) policies: bool,
}

/// What leads from `now` (whose values are not looked at) back to `before`.
pub(crate) fn plan(before: &Keys, now: &Keys) -> Reset {
    let its_own = |key: &str| ITS_OWN.iter().any(|prefix| key.starts_with(prefix));
    let mut reset = Reset::default();
    let added = now.keys().filter(|key| !before.contains_key(*key) && !its_own(key));
    reset.changes.extend(added.map(|key| Change::Delete { key: key.clone() }));
    let kept = before.iter().filter(|(key, entry)| !entry.expires && !its_own(key));
    for (key, entry) in kept.filter(|(key, entry)| now.get(*key).map(|now| now.revision) != Some(entry.revision)) {
        reset.definitions |= key.starts_with(DEFINITIONS);
        reset.changes.push(Change::Put { key: key.clone(), value: entry.value.clone() });
    }
    reset.policies = reset.changes.iter().any(|change| key_of(change).starts_with(POLICIES));
    reset
}

fn key_of(change: &Change) -> &str {
    match change {
        Change::Delete { key } | Change::Put { key, .. } => key,
    }
}

#[cfg(test)]
mod tests {
    use super::{Reset, plan};
    use crate::etcd::{Change, Entry, Keys};

    fn keys(them: &[(&str, u64)]) -> Keys {
        let entry = |revision: u64| Entry { revision, expires: false, value: format!("value {revision}") };
        them.iter().map(|(key, revision)| ((*key).to_owned(), entry(*revision))).collect()
    }

    const BEFORE: [(&str, u64); 4] = [
        ("/registry/namespaces/default", 3),
        ("/registry/apiextensions.k8s.io/customresourcedefinitions/machines.machine.sapcloud.io", 5),
        ("/registry/leases/kube-system/apiserver-1", 7),
        ("/registry/validatingadmissionpolicies/keep-ids", 9),
    ];

    #[test]
    fn what_has_not_changed_is_left_alone() {
        assert_eq!(plan(&keys(&BEFORE), &keys(&BEFORE)), Reset::default());
    }

    #[test]
    fn what_was_added_goes_and_what_was_changed_or_removed_comes_back() {
        let mut now = keys(&BEFORE);
        now.remove("/registry/validatingadmissionpolicies/keep-ids");
        now.extend(keys(&[("/registry/namespaces/default", 20), ("/registry/secrets/default/new", 21)]));
        // The API server renewed it.
        now.extend(keys(&[("/registry/leases/kube-system/apiserver-1", 22)]));
        let reset = plan(&keys(&BEFORE), &now);
        let put = |key: &str, value: &str| Change::Put { key: key.to_owned(), value: value.to_owned() };
        let expected = [
            Change::Delete { key: "/registry/secrets/default/new".to_owned() },
            put("/registry/namespaces/default", "value 3"),
            put("/registry/validatingadmissionpolicies/keep-ids", "value 9"),
        ];
        assert_eq!(reset, Reset { changes: expected.to_vec(), definitions: false, policies: true });
    }

    #[test]
    fn a_definition_that_changed_is_told() {
        let mut now = keys(&BEFORE);
        now.extend(keys(&[(BEFORE[1].0, 30)]));
        assert!(plan(&keys(&BEFORE), &now).definitions);
    }

    #[test]
    fn an_event_that_has_expired_is_not_missed() {
        let mut before = keys(&[("/registry/events/default/it-happened", 4)]);
        for entry in before.values_mut() {
            entry.expires = true;
        }
        assert_eq!(plan(&before, &Keys::new()), Reset::default());
    }
}
