//! The cluster's own doors: the addresses and ports of its nodes, which no firing may knock at. A request of ours that
//! came in there could reach what only nodes may reach.
//!
//! Members are known as `host:port` texts; their names are looked up only for a request to a port that one of them has.

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

use futures_util::future::join_all;
use url::{Host, Url};

use super::class::carried;
use super::resolver::Lookup;

/// Says where the nodes of the cluster listen: `host:port` texts or URLs.
pub type Members = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// How old the list of members may be: asking for it looks at all of consensus, which is too much for every request.
const FRESH: Duration = Duration::from_secs(1);
/// How long the name of a member may take to be looked up, before what it was last is taken.
const LOOK_UP: Duration = Duration::from_secs(2);

pub(super) struct Doors {
    members: Members,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    doors: Arc<Vec<Door>>,
    read_at: Option<Instant>,
    /// The last answers for the names of members: an outage of DNS does not open a door.
    known: BTreeMap<String, Vec<IpAddr>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Door {
    host: Host,
    port: u16,
    /// The name of something that ends TLS for a node, on the port of all of them: what stands behind the same address under
    /// another name is not the node. It is known by its name only.
    is_shared: bool,
}

impl Doors {
    pub(super) fn of(members: Members) -> Self {
        Self { members, book: Mutex::default() }
    }

    /// Whether any node listens on that port, wherever it is.
    pub(super) fn has_port(&self, port: u16) -> bool {
        self.list().iter().any(|door| door.port == port && !door.is_shared)
    }

    /// Whether it is the door of a node, by its text alone.
    pub(super) fn is_door(&self, host: &Host<&str>, port: u16) -> bool {
        let doors = self.list();
        let at_port: Vec<&Door> = doors.iter().filter(|door| door.port == port).collect();
        let owned: Vec<&Door> = at_port.iter().copied().filter(|door| !door.is_shared).collect();
        let is_one = |ip| is_among(ip, &owned.iter().filter_map(|door| door.ip()).collect::<Vec<_>>());
        match host {
            Host::Domain(name) => {
                let name = super::plain(name);
                let is_here = !owned.is_empty() && super::is_loopback_name(&name);
                is_here || at_port.iter().any(|door| door.name() == Some(&name))
            }
            Host::Ipv4(ip) => !owned.is_empty() && is_one((*ip).into()),
            Host::Ipv6(ip) => !owned.is_empty() && is_one((*ip).into()),
        }
    }

    /// Every address of every node, names looked up.
    pub(super) async fn addresses(&self, lookup: &Lookup) -> Vec<IpAddr> {
        let doors = self.list();
        let mut found: Vec<IpAddr> = doors.iter().filter_map(Door::ip).collect();
        let names: std::collections::BTreeSet<&String> =
            doors.iter().filter(|door| !door.is_shared).filter_map(Door::name).collect();
        let asked = join_all(names.into_iter().map(|name| self.look_up(name, lookup))).await;
        found.extend(asked.into_iter().flatten());
        found
    }

    async fn look_up(&self, name: &str, lookup: &Lookup) -> Vec<IpAddr> {
        match tokio::time::timeout(LOOK_UP, lookup(name.to_owned())).await {
            Ok(Ok(found)) => {
                self.lock().known.insert(name.to_owned(), found.clone());
                found
            }
            _ => self.lock().known.get(name).cloned().unwrap_or_default(),
        }
    }

    fn list(&self) -> Arc<Vec<Door>> {
        let mut book = self.lock();
        if book.read_at.is_none_or(|at| at.elapsed() > FRESH) {
            book.doors = Arc::new((self.members)().iter().filter_map(|text| door(text)).collect());
            book.read_at = Some(Instant::now());
        }
        Arc::clone(&book.doors)
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        // A panic elsewhere leaves a list that is a little older.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Door {
    fn ip(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(ip) => Some(ip.into()),
            Host::Ipv6(ip) => Some(IpAddr::from(ip).to_canonical()),
        }
    }

    fn name(&self) -> Option<&String> {
        match &self.host {
            Host::Domain(name) => Some(name),
            _ => None,
        }
    }
}

/// Whether an address is one of a node, or of this machine, where a node listens: that one may listen on all of them.
pub(super) fn is_among(ip: IpAddr, nodes: &[IpAddr]) -> bool {
    let inside = carried(ip).into_iter().map(IpAddr::V4);
    std::iter::once(ip.to_canonical()).chain(inside).any(|ip| nodes.contains(&ip) || is_of_this_machine(ip))
}

/// Only an address of this machine can be bound. Nothing is sent.
fn is_of_this_machine(ip: IpAddr) -> bool {
    ip.is_unspecified() || ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

fn door(text: &str) -> Option<Door> {
    let url =
        if text.contains("://") { Url::parse(text) } else { Url::parse(&format!("http://{text}")) }.ok()?;
    let host = match url.host()?.to_owned() {
        Host::Domain(name) => Host::Domain(super::plain(&name)),
        address => address,
    };
    let is_shared = url.scheme() == "https" && url.port().is_none() && matches!(host, Host::Domain(_));
    Some(Door { host, port: url.port_or_known_default()?, is_shared })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn members_are_read_as_addresses_and_as_urls() {
        for (text, host, port, is_shared) in [
            ("10.0.0.1:7701", "10.0.0.1", 7701, false),
            ("[fd00::1]:7701", "[fd00::1]", 7701, false),
            ("Node1.example.:7701", "node1.example", 7701, false),
            ("http://node1.example:7700", "node1.example", 7700, false),
            ("https://node1.example:7700", "node1.example", 7700, false),
            ("https://node1.example", "node1.example", 443, true),
            ("https://10.0.0.1", "10.0.0.1", 443, false),
            ("node1.example:80", "node1.example", 80, false),
        ] {
            let host = Host::parse(host).unwrap();
            assert_eq!(door(text), Some(Door { host, port, is_shared }), "{text}");
        }
    }

    #[test]
    fn what_ends_tls_for_a_node_is_known_by_its_name_and_its_address_is_free() {
        let doors = Doors::of(Arc::new(|| vec!["https://campanile.example".into(), "10.0.0.1:7701".into()]));
        for (host, port, is_door) in [
            ("campanile.example", 443, true),
            ("CAMPANILE.example.", 443, true),
            ("jobs.example", 443, false),
            ("10.0.0.1", 443, false),
            ("localhost", 443, false),
            ("10.0.0.1", 7701, true),
            ("localhost", 7701, true),
        ] {
            let parsed = Host::parse(host).unwrap();
            let borrowed = match &parsed {
                Host::Domain(name) => Host::Domain(name.as_str()),
                Host::Ipv4(ip) => Host::Ipv4(*ip),
                Host::Ipv6(ip) => Host::Ipv6(*ip),
            };
            assert_eq!(doors.is_door(&borrowed, port), is_door, "{host}:{port}");
        }
        assert!(doors.has_port(7701) && !doors.has_port(443));
    }

    #[tokio::test]
    async fn a_member_whose_name_is_not_found_any_more_keeps_its_last_address() {
        let doors = Doors::of(Arc::new(|| vec!["node1.example:7701".into()]));
        let found: Lookup = Arc::new(|_| Box::pin(async { Ok(vec![IpAddr::from([10, 0, 0, 1])]) }));
        let lost: Lookup = Arc::new(|_| Box::pin(async { Err(std::io::Error::other("no DNS")) }));
        assert_eq!(doors.addresses(&lost).await, Vec::<IpAddr>::new());
        assert_eq!(doors.addresses(&found).await, [IpAddr::from([10, 0, 0, 1])]);
        assert_eq!(doors.addresses(&lost).await, [IpAddr::from([10, 0, 0, 1])]);
    }
}
