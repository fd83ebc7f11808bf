use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ProtocolConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{Name, RData};
use hickory_resolver::{ResolverBuilder, TokioResolver};

use super::{LookupError, OwnerConfigError, TxtResolver};
use crate::error_chain::chain;

/// How long one server may take for one try; there are two tries.
const TRY: Duration = Duration::from_secs(2);

/// Looks TXT records up by DNS, over UDP and, where an answer is too long for that, TCP.
pub struct DnsResolver(TokioResolver);

impl DnsResolver {
    /// By the servers of the system's configuration, `/etc/resolv.conf`. Its search list does not matter: the names
    /// that are looked up are full ones.
    ///
    /// # Errors
    /// [`OwnerConfigError::Resolver`] if that cannot be read.
    pub fn system() -> Result<Self, OwnerConfigError> {
        TokioResolver::builder_tokio().map_err(|error| OwnerConfigError::Resolver(chain(&error))).and_then(Self::build)
    }

    /// By one server.
    ///
    /// # Errors
    /// [`OwnerConfigError::Resolver`] if it cannot be set up.
    pub fn at(server: SocketAddr) -> Result<Self, OwnerConfigError> {
        let connections = [ProtocolConfig::Udp, ProtocolConfig::Tcp].map(|protocol| {
            let mut connection = ConnectionConfig::new(protocol);
            connection.port = server.port();
            connection
        });
        let server = NameServerConfig::new(server.ip(), true, connections.into());
        let config = ResolverConfig::from_name_servers(vec![server]);
        Self::build(TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()))
    }

    fn build(mut builder: ResolverBuilder<TokioRuntimeProvider>) -> Result<Self, OwnerConfigError> {
        let options: &mut ResolverOpts = builder.options_mut();
        // How long an answer holds is not for its TTL to say.
        options.cache_size = 0;
        options.timeout = TRY;
        options.attempts = 1;
        options.use_hosts_file = ResolveHosts::Never;
        builder.build().map(Self).map_err(|error| OwnerConfigError::Resolver(chain(&error)))
    }
}

impl TxtResolver for DnsResolver {
    async fn values(&self, name: &str) -> Result<Vec<String>, LookupError> {
        let failed = |error: &dyn std::error::Error| LookupError(chain(error));
        let name = Name::from_ascii(name).map_err(|error| failed(&error))?;
        let lookup = self.0.txt_lookup(name).await.map_err(|error| failed(&error))?;
        let values = lookup.answers().iter().filter_map(|record| match &record.data {
            RData::TXT(txt) => Some(txt.txt_data.concat()),
            _ => None,
        });
        let readable = |value| String::from_utf8(value).map_err(|_| LookupError("a value is not UTF-8".to_owned()));
        values.map(readable).collect()
    }
}

#[cfg(test)]
mod tests;
