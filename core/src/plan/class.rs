use std::collections::BTreeMap;

use serde_json::Value;

use crate::domain::{NetworkId, Provider, Region};

/// A MachineClass, reduced to what the side task needs of it. Read for one pass, kept by no cache.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassDetails {
    /// `provider`
    pub provider: Provider,
    /// The region as the class says it: `providerSpec.region` of a `stackit` class, `providerSpec.spec.region` of an `OpenStack`
    /// one; empty when it names none.
    pub region: Box<str>,
    /// `providerSpec.labels` of a `stackit` class, those whose values are strings.
    pub labels: BTreeMap<Box<str>, Box<str>>,
    /// The network of its servers: `providerSpec.networking.networkId`, or `providerSpec.spec.networkID`.
    pub network: Option<NetworkId>,
    /// `providerSpec.spec.podNetworkCIDRs` of an `OpenStack` class, or its older `podNetworkCidr`.
    pub pod_network_cidrs: Vec<String>,
    /// The whole `providerSpec`, which a retired class takes over from its sibling.
    pub provider_spec: Value,
}

impl ClassDetails {
    /// Reads `provider` and `providerSpec` of a MachineClass. A member that is absent or of another type counts as absent.
    ///
    /// Sources: gardener/machine-controller-manager-provider-openstack `pkg/apis/openstack/types.go`,
    /// stackitcloud/machine-controller-manager-provider-stackit `pkg/provider/apis`.
    #[must_use]
    pub fn of(provider: &str, provider_spec: Value) -> Self {
        let provider = Provider::of(provider);
        let spec = if provider == Provider::OpenStack { &provider_spec["spec"] } else { &provider_spec };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let network =
            if provider == Provider::OpenStack { &spec["networkID"] } else { &spec["networking"]["networkId"] };
        let network = NetworkId::parse(&text(network)).ok();
        let region = text(&spec["region"]).into();
        let labels = provider_spec["labels"].as_object().into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into()))).collect();
        let listed = spec["podNetworkCIDRs"].as_array().into_iter().flatten();
        let mut pod_network_cidrs: Vec<String> = listed.filter_map(Value::as_str).map(str::to_owned).collect();
        if pod_network_cidrs.is_empty() {
            pod_network_cidrs.extend(spec["podNetworkCidr"].as_str().map(str::to_owned));
        }
        Self { provider, region, labels, network, pod_network_cidrs, provider_spec }
    }

    /// The region of the IaaS API: what the map says of the class's own, or that itself.
    #[must_use]
    pub fn region(&self, map: &BTreeMap<String, Region>) -> Option<Region> {
        map.get(&*self.region).cloned().or_else(|| Region::parse(&self.region).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NETWORK: &str = "5d3e0fd2-1f0e-4b1c-9c52-8c1d6a1b2c3d";

    #[test]
    fn each_provider_has_its_own_shape() {
        let old = ClassDetails::of(
            "OpenStack",
            json!({"spec": {"region": "RegionOne", "networkID": NETWORK, "podNetworkCIDRs": ["100.64.0.0/12"]}}),
        );
        assert_eq!((&*old.region, old.pod_network_cidrs.len(), old.network.is_some()), ("RegionOne", 1, true));
        assert_eq!(old.region(&BTreeMap::new()), None);
        let map = Region::parse("eu01").map(|region| BTreeMap::from([("RegionOne".to_owned(), region)]));
        assert_eq!(map.ok().and_then(|map| old.region(&map)).map(|region| region.to_string()), Some("eu01".to_owned()));

        let new = ClassDetails::of(
            "stackit",
            json!({"region": "eu01", "labels": {"a": "b", "n": 7}, "networking": {"networkId": NETWORK}}),
        );
        assert_eq!((&*new.region, new.labels.len(), new.network.is_some()), ("eu01", 1, true));
    }

    #[test]
    fn what_is_absent_or_odd_counts_as_absent() {
        for spec in [json!(null), json!([]), json!({"spec": 7}), json!({"region": {}, "labels": [], "networking": "x"})]
        {
            for provider in ["OpenStack", "stackit", ""] {
                let class = ClassDetails::of(provider, spec.clone());
                assert!(class.region.is_empty() && class.labels.is_empty() && class.network.is_none(), "{class:?}");
            }
        }
    }
}
