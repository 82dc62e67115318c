//! What a firing may call. Its URL is a user's; the network that it is called from is not. So whatever is not of the
//! internet (loopback, private nets, metadata services, see `class`) is refused unless `egress.allow` lets it in.
//!
//! ```text
//!   create ── judge_url ──┐ literals and names, by their text
//!   send   ── judge ──────┤ the same, and the doors of the cluster
//!   connect ─ resolve ────┘ every address of a name, so that a name that changes its mind gains nothing
//! ```
//! `egress.deny` wins over `egress.allow`. No entry of a net or a name lets in link-local, metadata, unspecified or multicast
//! addresses: only an entry of exactly that address does. Nothing at all lets in the cluster's own ports. An IPv6 address
//! that stands for one of IPv4 is judged by that one.
//!
//! It must not send anything, and nothing that sends may go around it.

mod class;
mod doors;
mod entry;
mod resolver;

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

use class::Guard;
use doors::Doors;
pub use doors::Members;
pub use entry::Entry;
pub use resolver::Lookup;
pub(crate) use resolver::{Guarded, Way};

/// What is let in, and what is not even then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Lets in what is not of the internet.
    pub allow: Vec<Entry>,
    /// Refuses, whatever is allowed.
    pub deny: Vec<Entry>,
}

/// Why something is not called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}: {hint}")]
pub struct Refused {
    /// What is refused, and what it is.
    pub detail: String,
    /// What to do about it.
    pub hint: String,
}

/// A name without an address that may be called.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unresolved {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("{host} has no address")]
    Empty { host: String },
    #[error("{host} is not found: {source}")]
    NotFound { host: String, source: io::Error },
}

/// The one judge of what may be called. One for a node, so that create and send agree.
pub struct Egress {
    rules: Rules,
    doors: Doors,
    lookup: Lookup,
}

/// Names that clouds give to their metadata services. Their addresses are refused whatever the name; these are told early.
const METADATA_NAMES: [&str; 6] = [
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.tencentyun.com",
    "instance-data",
    "instance-data.ec2.internal",
];

impl Rules {
    /// Lets in this machine and private nets: what `serve --dev` and `demo` are about.
    #[must_use]
    pub fn for_this_machine() -> Self {
        let nets = ["127.0.0.0/8", "::1", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];
        let allow = nets.into_iter().map(|net| net.parse().expect("an entry of our own")).collect();
        Self { allow, deny: Vec::new() }
    }
}

impl Egress {
    /// A judge by these rules. `members` says where the nodes of the cluster listen.
    #[must_use]
    pub fn new(rules: Rules, members: Members) -> Self {
        Self::looking_up(rules, members, resolver::system())
    }

    /// The same over another source of addresses than the system's.
    #[must_use]
    pub fn looking_up(rules: Rules, members: Members, lookup: Lookup) -> Self {
        Self { rules, doors: Doors::of(members), lookup }
    }

    /// Whether a URL may be called, as far as its text tells: nothing is looked up.
    ///
    /// # Errors
    /// Why not.
    pub fn judge_url(&self, url: &Url) -> Result<(), Refused> {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(refused(format!("{url} has no host"), "name the host that is meant".into()));
        };
        if self.doors.is_door(&host, port) {
            return Err(own_port(&format!("{host}:{port}")));
        }
        match host {
            Host::Domain(name) => self.judge_name(&plain(name)),
            Host::Ipv4(ip) => self.judge_address(None, ip.into()),
            Host::Ipv6(ip) => self.judge_address(None, ip.into()),
        }
    }

    /// Whether a request may be sent there: [`Egress::judge_url`], and an address is not one that a node's name has.
    ///
    /// # Errors
    /// Why not.
    pub(crate) async fn judge(&self, url: &Url) -> Result<Way, Refused> {
        self.judge_url(url)?;
        let port = url.port_or_known_default().unwrap_or_default();
        if !self.doors.has_port(port) {
            return Ok(Way::Out);
        }
        let literal = match url.host() {
            Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
            _ => None,
        };
        match literal {
            Some(ip) if self.is_own(ip).await => Err(own_port(&SocketAddr::new(ip, port).to_string())),
            _ => Ok(Way::Beside),
        }
    }

    /// The addresses of a name that may be connected to.
    ///
    /// # Errors
    /// [`Unresolved`]; when all are refused, why the first is.
    pub(crate) async fn resolve(&self, host: &str, way: Way) -> Result<Vec<IpAddr>, Unresolved> {
        let name = plain(host);
        self.judge_name(&name)?;
        let found = (self.lookup)(host.to_owned())
            .await
            .map_err(|source| Unresolved::NotFound { host: host.to_owned(), source })?;
        let own = match way {
            Way::Out => Vec::new(),
            Way::Beside => self.doors.addresses(&self.lookup).await,
        };
        let (mut passed, mut first) = (Vec::new(), None);
        for ip in found {
            let is_own = way == Way::Beside && doors::is_among(ip, &own);
            let judged =
                if is_own { Err(own_address(host, ip)) } else { self.judge_address(Some(&name), ip) };
            match judged {
                Ok(()) => passed.push(ip),
                Err(refused) => {
                    first.get_or_insert(refused);
                }
            }
        }
        match (passed.is_empty(), first) {
            (false, _) => Ok(passed),
            (true, Some(refused)) => Err(refused.into()),
            (true, None) => Err(Unresolved::Empty { host: host.to_owned() }),
        }
    }

    async fn is_own(&self, ip: IpAddr) -> bool {
        doors::is_among(ip, &self.doors.addresses(&self.lookup).await)
    }

    fn judge_name(&self, name: &str) -> Result<(), Refused> {
        if let Some(entry) = self.rules.deny.iter().find(|entry| entry.names(name)) {
            return Err(denied(name, entry));
        }
        let loopback = [IpAddr::from([127, 0, 0, 1]), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        if is_loopback_name(name)
            && !loopback.into_iter().any(|ip| self.judge_address(Some(name), ip).is_ok())
        {
            return Err(refused(
                format!("{name} is a name of loopback addresses"),
                format!("add \"127.0.0.0/8\" or \"{name}\" to egress.allow of every node"),
            ));
        }
        if METADATA_NAMES.contains(&name) && !self.rules.allow.iter().any(|entry| entry.is_host(name)) {
            return Err(guarded(&format!("{name} is a name of cloud metadata"), name));
        }
        Ok(())
    }

    /// Judges an address, a literal or one that a name has.
    fn judge_address(&self, name: Option<&str>, ip: IpAddr) -> Result<(), Refused> {
        if let Some(entry) = self.denying(ip) {
            return Err(denied(&subject(name, ip), entry));
        }
        let carried = class::carried(ip);
        if carried.is_empty() {
            return self.judge_plain(&subject(name, ip), name, ip);
        }
        for inside in carried {
            let inside = IpAddr::V4(inside);
            let subject = format!("{} stands for {inside}, which", subject(name, ip));
            if let Some(entry) = self.denying(inside) {
                return Err(denied(&subject, entry));
            }
            self.judge_plain(&subject, name, inside)?;
        }
        Ok(())
    }

    fn judge_plain(&self, subject: &str, name: Option<&str>, ip: IpAddr) -> Result<(), Refused> {
        let Some(class) = class::class_of(ip) else { return Ok(()) };
        let allow = &self.rules.allow;
        let is_listed =
            || allow.iter().any(|entry| entry.holds(ip) || name.is_some_and(|name| entry.names(name)));
        match class.guard {
            Guard::Exact if allow.iter().any(|entry| entry.is_exactly(ip)) => Ok(()),
            Guard::Exact => Err(guarded(&format!("{subject} is {}", class.what), &ip.to_string())),
            Guard::Listed if is_listed() => Ok(()),
            Guard::Listed => Err(refused(
                format!("{subject} is {}", class.what),
                format!("add \"{}\" or the host to egress.allow of every node", class.net),
            )),
        }
    }

    fn denying(&self, ip: IpAddr) -> Option<&Entry> {
        self.rules.deny.iter().find(|entry| entry.holds(ip))
    }
}

impl std::fmt::Debug for Egress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Egress").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// A name as it is compared: case does not matter, nor the dot that says that it is whole.
fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

/// RFC 6761 §6.3.
fn is_loopback_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

fn subject(name: Option<&str>, ip: IpAddr) -> String {
    name.map_or_else(|| ip.to_string(), |name| format!("{name} resolves to {ip}, which"))
}

fn refused(detail: String, hint: String) -> Refused {
    Refused { detail, hint }
}

fn guarded(what: &str, entry: &str) -> Refused {
    refused(
        format!("{what} and is never called"),
        format!(
            "nothing but an entry of exactly \"{entry}\" in egress.allow of every node would change that"
        ),
    )
}

fn denied(subject: &str, entry: &Entry) -> Refused {
    refused(
        format!("{subject} is denied by \"{entry}\" in egress.deny"),
        "call another host, or take the entry out on every node".into(),
    )
}

fn own_port(door: &str) -> Refused {
    refused(
        format!("{door} is a port of this cluster and is never called"),
        "name the receiver's own address and port".into(),
    )
}

fn own_address(host: &str, ip: IpAddr) -> Refused {
    refused(
        format!("{host} resolves to {ip}, where a node of this cluster has that port, which is never called"),
        "name the receiver's own address and port".into(),
    )
}
