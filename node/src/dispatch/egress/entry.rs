//! One entry of `egress.allow` or `egress.deny`: a net, a host, or all hosts below a domain.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use url::Host;

/// A net, a host, or all hosts below a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Net(IpNet),
    Host(String),
    /// The domain, without what stands for the names below it.
    Below(String),
}

impl Entry {
    /// Whether an address is in it.
    pub(super) fn holds(&self, ip: IpAddr) -> bool {
        matches!(&self.0, Kind::Net(net) if net.contains(&ip))
    }

    /// Whether it is this address and no other.
    pub(super) fn is_exactly(&self, ip: IpAddr) -> bool {
        matches!(&self.0, Kind::Net(net) if net.addr() == ip && net.prefix_len() == net.max_prefix_len())
    }

    /// Whether a name is meant, which is in lower case and without a dot at its end.
    pub(super) fn names(&self, host: &str) -> bool {
        match &self.0 {
            Kind::Net(_) => false,
            Kind::Host(name) => name == host,
            Kind::Below(domain) => host.strip_suffix(&**domain).is_some_and(|rest| rest.ends_with('.')),
        }
    }

    /// Whether it is this name and no other.
    pub(super) fn is_host(&self, host: &str) -> bool {
        matches!(&self.0, Kind::Host(name) if name == host)
    }

    /// Whether it is every address of its family.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        matches!(&self.0, Kind::Net(net) if net.prefix_len() == 0)
    }

    fn net(text: &str) -> Result<Self, String> {
        let net: IpNet = text
            .parse()
            .map_err(|_| format!("{text:?} is no net; write it like \"10.0.0.0/8\" or \"fd00::/8\""))?;
        if net != net.trunc() {
            return Err(format!("{text:?} has bits beyond its mask; write \"{}\"", net.trunc()));
        }
        Self::of(net)
    }

    /// An address that stands for one of IPv4 is judged by that one, so an entry of such addresses would never be asked.
    fn of(net: IpNet) -> Result<Self, String> {
        let carried = super::class::carried(net.addr());
        let mapped = matches!(net, IpNet::V6(net) if net.prefix_len() >= 96);
        match carried.first() {
            Some(inside) if mapped => Err(format!(
                "\"{net}\" stands for IPv4; write \"{}\"",
                Self(Kind::Net(IpNet::new_assert(IpAddr::V4(*inside), net.prefix_len() - 96)))
            )),
            _ => Ok(Self(Kind::Net(net))),
        }
    }

    fn name(text: &str) -> Result<String, String> {
        let refused = || {
            format!(
                "{text:?} is no host; write an address, a net such as \"10.0.0.0/8\", a name, or \"*.\" and a domain"
            )
        };
        let bare = text.trim_end_matches('.');
        if bare.is_empty() || bare.contains(['*', ' ', '%']) {
            return Err(refused());
        }
        match Host::parse(bare) {
            Ok(Host::Domain(name)) => Ok(name),
            // What a URL would take for an address, such as 2130706433.
            Ok(Host::Ipv4(ip)) => Err(format!("{text:?} is an address; write \"{ip}\"")),
            Ok(Host::Ipv6(_)) | Err(_) => Err(refused()),
        }
    }
}

impl FromStr for Entry {
    type Err = String;

    /// Reads an entry; the refusal says what to write instead.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, rest)) = text.split_once("://") {
            let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
            return Err(format!("{text:?} is a URL; write its host only, \"{host}\""));
        }
        if text == "*" {
            return Err("\"*\" is everything; write \"0.0.0.0/0\" and \"::/0\" if that is meant".into());
        }
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(ip) = bare.parse::<IpAddr>() {
            return Self::of(ip.into());
        }
        if text.contains('/') {
            return Self::net(text);
        }
        if let Some((host, port)) = text.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()) {
            return Err(format!(
                "{text:?} has a port; an entry is for all ports, write \"{host}\" without :{port}"
            ));
        }
        match text.strip_prefix("*.") {
            Some(domain) => Self::name(domain).map(|domain| Self(Kind::Below(domain))),
            None => Self::name(text).map(|name| Self(Kind::Host(name))),
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Net(net) if net.prefix_len() == net.max_prefix_len() => write!(out, "{}", net.addr()),
            Kind::Net(net) => write!(out, "{net}"),
            Kind::Host(name) => out.write_str(name),
            Kind::Below(domain) => write!(out, "*.{domain}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_entry_reads_as_it_is_meant_and_is_shown_in_one_spelling() {
        for (text, shown) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.1.2.3", "10.1.2.3"),
            ("10.1.2.3/32", "10.1.2.3"),
            ("[fd00::1]", "fd00::1"),
            ("FD00::/8", "fd00::/8"),
            ("Jobs.Internal.", "jobs.internal"),
            ("*.Corp.example", "*.corp.example"),
            ("bücher.example", "xn--bcher-kva.example"),
        ] {
            let entry: Entry = text.parse().unwrap();
            assert_eq!(entry.to_string(), shown, "{text}");
            assert_eq!(shown.parse(), Ok(entry), "{text}");
        }
    }

    #[test]
    fn an_entry_that_cannot_be_meant_is_told_what_to_write() {
        for (text, why) in [
            ("10.1.2.3/8", "\"10.1.2.3/8\" has bits beyond its mask; write \"10.0.0.0/8\""),
            ("10.0.0.0/33", "\"10.0.0.0/33\" is no net; write it like \"10.0.0.0/8\" or \"fd00::/8\""),
            ("jobs/x", "\"jobs/x\" is no net; write it like \"10.0.0.0/8\" or \"fd00::/8\""),
            (
                "https://jobs.internal/x",
                "\"https://jobs.internal/x\" is a URL; write its host only, \"jobs.internal\"",
            ),
            (
                "jobs.internal:8080",
                "\"jobs.internal:8080\" has a port; an entry is for all ports, write \"jobs.internal\" without :8080",
            ),
            ("*", "\"*\" is everything; write \"0.0.0.0/0\" and \"::/0\" if that is meant"),
            ("2130706433", "\"2130706433\" is an address; write \"127.0.0.1\""),
            ("::ffff:10.0.0.0/104", "\"::ffff:10.0.0.0/104\" stands for IPv4; write \"10.0.0.0/8\""),
            ("::ffff:10.0.0.1", "\"::ffff:10.0.0.1/128\" stands for IPv4; write \"10.0.0.1\""),
        ] {
            assert_eq!(text.parse::<Entry>(), Err(why.to_owned()), "{text}");
        }
        for text in ["", ".", "a.*", "*.*.a", "a b", "*."] {
            assert!(text.parse::<Entry>().unwrap_err().contains("is no host"), "{text}");
        }
    }

    #[test]
    fn a_domain_holds_the_names_below_it_and_not_itself() {
        let below: Entry = "*.corp.example".parse().unwrap();
        for (host, is_meant) in [
            ("a.corp.example", true),
            ("a.b.corp.example", true),
            ("corp.example", false),
            ("evilcorp.example", false),
        ] {
            assert_eq!(below.names(host), is_meant, "{host}");
        }
    }
}
