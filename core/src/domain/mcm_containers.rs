/// Which provider containers a pod or a pod template of the machine-controller-manager has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct McmContainers {
    /// A container that acts on OpenStack.
    pub openstack: bool,
    /// A container that acts on STACKIT.
    pub stackit: bool,
}

impl McmContainers {
    /// Whether the STACKIT provider acts, and no OpenStack one.
    #[must_use]
    pub fn is_stackit_alone(self) -> bool {
        self.stackit && !self.openstack
    }

    /// Whether the OpenStack provider acts, and no STACKIT one.
    #[must_use]
    pub fn is_openstack_alone(self) -> bool {
        self.openstack && !self.stackit
    }

    /// Sorts the names of all containers, init and ephemeral ones included.
    ///
    /// The names are `machine-controller-manager-provider-openstack` and `…-provider-stackit`
    /// (gardener-extension-provider-stackit). What merely contains `openstack` counts as well, since that closes the gate.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut found = Self::default();
        for name in names {
            found.openstack |= name.contains("openstack");
            found.stackit |= name == "machine-controller-manager-provider-stackit";
        }
        found
    }
}
