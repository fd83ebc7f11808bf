//! What has to change in a cluster's store to make it again what it was.

use std::collections::BTreeSet;

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
const WEBHOOKS: [(&str, &str); 2] = [
    ("/registry/mutatingwebhookconfigurations/", "MutatingWebhookConfiguration"),
    ("/registry/validatingwebhookconfigurations/", "ValidatingWebhookConfiguration"),
];

/// The way back to an earlier state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reset {
    pub(crate) changes: Vec<Change>,
    /// A definition that was there is gone or another one: the API server takes long to serve it again.
    pub(crate) definitions: bool,
    /// With what changes the API server goes on as before for a moment.
    pub(crate) late: BTreeSet<Late>,
}

/// What the API server acts on a moment after it was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Late {
    /// The definition of this name, which was not there before.
    Definition(String),
    /// Admission policies or their bindings.
    Policies,
    /// Webhook configurations of this kind.
    Webhooks(&'static str),
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
    reset.late = reset.changes.iter().filter_map(late).collect();
    reset
}

fn late(change: &Change) -> Option<Late> {
    let key = key_of(change);
    if let Some(name) = key.strip_prefix(DEFINITIONS) {
        return Some(Late::Definition(name.to_owned()));
    }
    if key.starts_with(POLICIES) {
        return Some(Late::Policies);
    }
    WEBHOOKS.iter().find(|(prefix, _)| key.starts_with(prefix)).map(|(_, kind)| Late::Webhooks(kind))
}

fn key_of(change: &Change) -> &str {
    match change {
        Change::Delete { key } | Change::Put { key, .. } => key,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Late, Reset, plan};
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
        assert_eq!(
            reset,
            Reset { changes: expected.to_vec(), definitions: false, late: BTreeSet::from([Late::Policies]) }
        );
    }

    #[test]
    fn a_definition_that_changed_is_told() {
        let mut now = keys(&BEFORE);
        now.extend(keys(&[(BEFORE[1].0, 30)]));
        assert!(plan(&keys(&BEFORE), &now).definitions);
    }

    #[test]
    fn what_the_api_server_takes_up_late_is_told() {
        let now = [
            ("/registry/apiextensions.k8s.io/customresourcedefinitions/certificates.cert-manager.io", 30),
            ("/registry/mutatingwebhookconfigurations/ours", 31),
            ("/registry/validatingwebhookconfigurations/theirs", 32),
            ("/registry/validatingadmissionpolicybindings/keep-ids", 33),
            ("/registry/secrets/default/new", 34),
        ];
        let reset = plan(&Keys::new(), &keys(&now));
        assert!(!reset.definitions);
        let expected = [
            Late::Definition("certificates.cert-manager.io".to_owned()),
            Late::Policies,
            Late::Webhooks("MutatingWebhookConfiguration"),
            Late::Webhooks("ValidatingWebhookConfiguration"),
        ];
        assert_eq!(reset.late, BTreeSet::from(expected));
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
