use crate::decide::NamespaceFacts;
use crate::domain::{GuardLabel, McmContainers, ProviderId};

/// Which way a shoot moves: whose IDs are the new ones, and whose machine-controller-manager has to know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// From OpenStack to STACKIT.
    #[default]
    Forward,
    /// Back to OpenStack.
    Back,
}

impl Direction {
    /// Whether the ID is one that the shoot moves to.
    pub(super) fn is_new(self, id: &ProviderId<'_>) -> bool {
        match self {
            Self::Forward => matches!(id, ProviderId::Stackit(_)),
            Self::Back => matches!(id, ProviderId::Legacy(_)),
        }
    }

    /// Whether the time of a new ID counts by now. On the way back it does from `rolling-back` on: before that, a replica of the webhook whose
    /// caches are late may still rewrite.
    pub(super) fn counts(self, facts: &NamespaceFacts) -> bool {
        match self {
            Self::Forward => true,
            Self::Back => facts.guard() == Some(GuardLabel::RollingBack),
        }
    }

    /// Whether a pod runs the provider that the shoot moves to, and not the other.
    pub(super) fn is_alone(self, containers: McmContainers) -> bool {
        match self {
            Self::Forward => containers.is_stackit_alone(),
            Self::Back => containers.is_openstack_alone(),
        }
    }

    /// Whether the provider that the shoot leaves has a pod, or a Deployment that makes one.
    pub(super) fn other_remains(self, facts: &NamespaceFacts) -> bool {
        match self {
            Self::Forward => facts.openstack_mcm_deployed() || facts.openstack_mcm_pod().is_some(),
            Self::Back => facts.stackit_remains().next().is_some(),
        }
    }
}
