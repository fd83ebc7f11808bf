//! Network interfaces.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::labels::{LabelMode, Labels, schema_error};

/// A network interface.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Nic {
    /// UUID, lower case.
    pub id: String,
    /// Up to 127 characters. The OpenStack provider gives it the name of the Machine.
    pub name: String,
    /// The network that it belongs to.
    pub network: String,
    /// Its address.
    pub ipv4: String,
    /// Hardware address.
    pub mac: String,
    /// Its labels.
    pub labels: Labels,
    /// Addresses and networks in CIDR form that may be used besides its own.
    pub allowed_addresses: Vec<String>,
    /// IDs of security groups.
    pub security_groups: Vec<String>,
    /// Whether packets from other addresses are dropped.
    pub nic_security: bool,
    /// `type`; otherwise `server` while it is attached and `none` after that.
    pub kind: Option<String>,
    /// Whether it goes away with its server: made along with it, not handed over by ID.
    pub dies_with_server: bool,
}

impl Nic {
    /// A network interface that outlives its server, as the OpenStack provider makes them.
    #[must_use]
    pub fn new(network: impl Into<String>, name: impl Into<String>) -> Self {
        let [a, b, c]: [u8; 3] = rand::random();
        Self {
            id: Uuid::new_v4().to_string(),
            name: name.into(),
            network: network.into(),
            ipv4: format!("10.{a}.{b}.{c}"),
            mac: format!("fa:16:3e:{a:02x}:{b:02x}:{c:02x}"),
            labels: Labels::Absent,
            allowed_addresses: Vec::new(),
            security_groups: Vec::new(),
            nic_security: true,
            kind: None,
            dies_with_server: false,
        }
    }

    /// With this ID.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Self { id: id.into(), ..self }
    }

    /// With these labels.
    #[must_use]
    pub fn with_labels(self, labels: impl Into<Labels>) -> Self {
        Self { labels: labels.into(), ..self }
    }

    /// With these allowed addresses.
    #[must_use]
    pub fn with_allowed_addresses<A: Into<String>>(self, addresses: impl IntoIterator<Item = A>) -> Self {
        Self { allowed_addresses: addresses.into_iter().map(Into::into).collect(), ..self }
    }

    pub(crate) fn render(&self, device: Option<&str>) -> Value {
        let mut nic = json!({
            "id": self.id,
            "name": self.name,
            "networkId": self.network,
            "ipv4": self.ipv4,
            "mac": self.mac,
            "nicSecurity": self.nic_security,
            "allowedAddresses": self.allowed_addresses,
            "securityGroups": self.security_groups,
            "status": if device.is_some() { "ACTIVE" } else { "DOWN" },
            "type": self.kind.as_deref().unwrap_or(if device.is_some() { "server" } else { "none" }),
        });
        if let Some(object) = nic.as_object_mut() {
            if let Some(device) = device {
                object.insert("device".to_owned(), Value::from(device));
            }
            self.labels.write_to(object);
        }
        nic
    }

    /// The form in which a server with details shows it.
    pub(crate) fn render_in_server(&self) -> Value {
        json!({
            "nicId": self.id,
            "networkId": self.network,
            "networkName": "network",
            "mac": self.mac,
            "ipv4": self.ipv4,
            "nicSecurity": self.nic_security,
            "allowedAddresses": self.allowed_addresses,
            "securityGroups": self.security_groups,
        })
    }

    /// What a PATCH does; the message of the 400 if it is not acceptable.
    pub(crate) fn patch(&mut self, mode: LabelMode, change: &Map<String, Value>) -> Result<(), String> {
        let mut next = self.clone();
        if let Some(labels) = change.get("labels") {
            next.labels.patch(mode, labels)?;
        }
        if let Some(name) = change.get("name") {
            next.name = text("/name", name)?;
        }
        if let Some(addresses) = change.get("allowedAddresses") {
            next.allowed_addresses = texts("/allowedAddresses", addresses)?;
            for address in &next.allowed_addresses {
                check_address(address)?;
            }
        }
        if let Some(groups) = change.get("securityGroups") {
            next.security_groups = texts("/securityGroups", groups)?;
        }
        if let Some(security) = change.get("nicSecurity") {
            next.nic_security =
                security.as_bool().ok_or_else(|| schema_error("/nicSecurity", "value must be a boolean"))?;
        }
        *self = next;
        Ok(())
    }
}

fn text(pointer: &str, value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| schema_error(pointer, "value must be a string"))
}

fn texts(pointer: &str, value: &Value) -> Result<Vec<String>, String> {
    let values = value.as_array().ok_or_else(|| schema_error(pointer, "value must be an array"))?;
    values.iter().map(|value| text(pointer, value)).collect()
}

/// An IP address, or a network in CIDR form.
fn check_address(text: &str) -> Result<(), String> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let address: Result<std::net::IpAddr, _> = address.parse();
    let longest = match address {
        Ok(std::net::IpAddr::V4(_)) => 32,
        Ok(std::net::IpAddr::V6(_)) => 128,
        Err(_) => return Err(schema_error("/allowedAddresses", &format!("{text} is no address or CIDR"))),
    };
    let fits = length.is_none_or(|length| length.parse::<u8>().is_ok_and(|length| length <= longest));
    if fits { Ok(()) } else { Err(schema_error("/allowedAddresses", &format!("{text} is no address or CIDR"))) }
}
