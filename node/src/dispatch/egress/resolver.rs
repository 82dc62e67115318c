//! The resolver behind every connection of a webhook: names become addresses that were judged, and no others. What is
//! connected to is one of them, so that a name which changes its answer between check and connect gains nothing.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::Egress;

/// Looks a name up: all addresses that it has now.
pub type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// What the system answers: hosts file, DNS, whatever it is set to use.
pub(super) fn system() -> Lookup {
    Arc::new(|host| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// What a client is for, since a resolver is not told the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// To a port that no node of the cluster has.
    Out,
    /// To a port that a node has, at another address.
    Beside,
}

/// The resolver of one client.
pub(crate) struct Guarded {
    pub(crate) egress: Arc<Egress>,
    pub(crate) way: Way,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let (egress, way) = (Arc::clone(&self.egress), self.way);
        Box::pin(async move {
            let passed = egress.resolve(name.as_str(), way).await?;
            // The client puts the port in.
            let addresses: Addrs = Box::new(passed.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(addresses)
        })
    }
}
