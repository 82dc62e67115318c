//! Which addresses are not of the internet, and what they are: the registries of special-purpose addresses (RFC 6890 and
//! what was added to them) as one table, and the metadata services of clouds.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::{IpNet, Ipv6Net};

/// A net that is not of the internet.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) net: IpNet,
    /// What an address of it is, with its article.
    pub(super) what: &'static str,
    pub(super) guard: Guard,
}

/// What lets in an address that is not of the internet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    /// A net or a name in the list of what is allowed.
    Listed,
    /// Its exact address in that list, nothing wider: it is never what a list of nets was meant for, and where
    /// credentials are handed out to whoever asks.
    Exact,
}

const METADATA: &str = "a cloud metadata address";
const LINK_METADATA: &str = "a link-local address (cloud metadata)";
const PRIVATE: &str = "a private address";
const LOOPBACK: &str = "a loopback address";
const MULTICAST: &str = "a multicast address";
const UNSPECIFIED: &str = "an unspecified address";
const DOCUMENTATION: &str = "a documentation address";
const BENCHMARK: &str = "a benchmark address";
const RESERVED: &str = "a reserved address";

/// The first that holds an address names it, so the narrow ones stand above.
const TABLE: [(&str, &str, Guard); 43] = [
    // Most clouds; the credentials of containers and of pods.
    ("169.254.169.254/32", LINK_METADATA, Guard::Exact),
    ("169.254.170.2/32", LINK_METADATA, Guard::Exact),
    ("169.254.170.23/32", LINK_METADATA, Guard::Exact),
    ("100.100.100.200/32", METADATA, Guard::Exact),
    ("192.0.0.192/32", METADATA, Guard::Exact),
    // Of the internet by its number, of the host by what it is.
    ("168.63.129.16/32", METADATA, Guard::Exact),
    ("fd00:ec2::254/128", METADATA, Guard::Exact),
    ("fd00:ec2::23/128", METADATA, Guard::Exact),
    ("fd20:ce::254/128", METADATA, Guard::Exact),
    ("fd00:42::42/128", METADATA, Guard::Exact),
    // On Linux a connection to 0.0.0.0 or :: is one to loopback.
    ("0.0.0.0/8", UNSPECIFIED, Guard::Exact),
    ("::/128", UNSPECIFIED, Guard::Exact),
    ("169.254.0.0/16", "a link-local address", Guard::Exact),
    ("fe80::/10", "a link-local address", Guard::Exact),
    ("224.0.0.0/4", MULTICAST, Guard::Exact),
    ("ff00::/8", MULTICAST, Guard::Exact),
    ("255.255.255.255/32", "the broadcast address", Guard::Exact),
    ("127.0.0.0/8", LOOPBACK, Guard::Listed),
    ("::1/128", LOOPBACK, Guard::Listed),
    ("10.0.0.0/8", PRIVATE, Guard::Listed),
    ("172.16.0.0/12", PRIVATE, Guard::Listed),
    ("192.168.0.0/16", PRIVATE, Guard::Listed),
    ("fc00::/7", PRIVATE, Guard::Listed),
    ("fec0::/10", PRIVATE, Guard::Listed),
    ("100.64.0.0/10", "a shared address (carrier-grade NAT)", Guard::Listed),
    ("192.0.0.0/24", RESERVED, Guard::Listed),
    ("192.88.99.0/24", RESERVED, Guard::Listed),
    ("192.0.2.0/24", DOCUMENTATION, Guard::Listed),
    ("198.51.100.0/24", DOCUMENTATION, Guard::Listed),
    ("203.0.113.0/24", DOCUMENTATION, Guard::Listed),
    ("2001:db8::/32", DOCUMENTATION, Guard::Listed),
    ("3fff::/20", DOCUMENTATION, Guard::Listed),
    ("198.18.0.0/15", BENCHMARK, Guard::Listed),
    ("2001:2::/48", BENCHMARK, Guard::Listed),
    ("240.0.0.0/4", RESERVED, Guard::Listed),
    // Where in it the IPv4 address stands is each network's own choice, so it cannot be looked at.
    ("64:ff9b:1::/48", "an address of a local translator (NAT64)", Guard::Listed),
    ("2001::/23", RESERVED, Guard::Listed),
    // What lies outside 2000::/3 is not given to anybody: below it, and above it.
    ("::/3", RESERVED, Guard::Listed),
    ("4000::/2", RESERVED, Guard::Listed),
    ("8000::/2", RESERVED, Guard::Listed),
    ("c000::/3", RESERVED, Guard::Listed),
    ("e000::/4", RESERVED, Guard::Listed),
    ("f000::/4", RESERVED, Guard::Listed),
];

static CLASSES: LazyLock<Vec<Class>> = LazyLock::new(|| {
    let class = |(net, what, guard): (&str, _, _)| Class {
        net: net.parse().expect("a net of our own table"),
        what,
        guard,
    };
    TABLE.into_iter().map(class).collect()
});

/// What an address is, when it is not of the internet.
pub(super) fn class_of(ip: IpAddr) -> Option<&'static Class> {
    CLASSES.iter().find(|class| class.net.contains(&ip))
}

/// The IPv4 addresses that an IPv6 address stands for: what receives it sends on to them. Empty for all others.
pub(super) fn carried(ip: IpAddr) -> Vec<std::net::Ipv4Addr> {
    let IpAddr::V6(v6) = ip else { return Vec::new() };
    let segments = v6.segments();
    let at = |n: usize| std::net::Ipv4Addr::from((u32::from(segments[n]) << 16) | u32::from(segments[n + 1]));
    if v6.is_unspecified() || v6.is_loopback() {
        Vec::new()
    } else if LAST_32.iter().any(|net| net.contains(&v6)) {
        vec![at(6)]
    } else if SIX_TO_FOUR.contains(&v6) {
        vec![at(1)]
    } else if TEREDO.contains(&v6) {
        // The server, and the client, which is written upside down (RFC 4380 §4).
        vec![at(2), std::net::Ipv4Addr::from(!u32::from(at(6)))]
    } else {
        Vec::new()
    }
}

/// IPv4-compatible, -mapped (RFC 4291), -translated (RFC 7915) and NAT64 (RFC 6052): the address in the last 32 bits.
const LAST_32: [Ipv6Net; 4] = [
    Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 96),
    Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96),
    Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96),
    Ipv6Net::new_assert(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96),
];
/// 6to4 (RFC 3056): the address behind the prefix.
const SIX_TO_FOUR: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16);
/// Teredo (RFC 4380).
const TEREDO: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn every_address_that_is_not_of_the_internet_is_named() {
        for (address, what) in [
            ("127.9.9.9", LOOPBACK),
            ("172.31.255.255", PRIVATE),
            ("100.127.0.1", "a shared address (carrier-grade NAT)"),
            ("100.100.100.200", METADATA),
            ("169.254.169.254", LINK_METADATA),
            ("169.254.1.1", "a link-local address"),
            ("0.1.2.3", UNSPECIFIED),
            ("239.1.1.1", MULTICAST),
            ("255.255.255.255", "the broadcast address"),
            ("255.255.255.254", RESERVED),
            ("198.19.255.255", BENCHMARK),
            ("::", UNSPECIFIED),
            ("::1", LOOPBACK),
            ("fd00:ec2::254", METADATA),
            ("fdff::1", PRIVATE),
            ("febf::1", "a link-local address"),
            ("64:ff9b:1::a00:1", "an address of a local translator (NAT64)"),
            ("2001:1ff::1", RESERVED),
            ("2001:db8::1", DOCUMENTATION),
            ("100::1", RESERVED),
            ("5f00::1", RESERVED),
            ("9000::1", RESERVED),
            ("d000::1", RESERVED),
            ("e000::1", RESERVED),
            ("f800::1", RESERVED),
        ] {
            assert_eq!(class_of(ip(address)).map(|class| class.what), Some(what), "{address}");
        }
    }

    #[test]
    fn addresses_of_the_internet_have_no_class_up_to_the_edges_of_the_nets() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1",
            "3ffe::1",
        ] {
            assert!(class_of(ip(address)).is_none(), "{address}");
        }
    }

    #[test]
    fn the_address_that_another_stands_for_is_found() {
        for (outer, inner) in [
            ("::ffff:10.0.0.1", vec!["10.0.0.1"]),
            ("::ffff:0:10.0.0.1", vec!["10.0.0.1"]),
            ("::10.0.0.1", vec!["10.0.0.1"]),
            ("64:ff9b::7f00:1", vec!["127.0.0.1"]),
            ("2002:a9fe:a9fe::1", vec!["169.254.169.254"]),
            ("2001:0:4136:e378:8000:63bf:f5ff:fffe", vec!["65.54.227.120", "10.0.0.1"]),
            ("::1", vec![]),
            ("::", vec![]),
            ("10.0.0.1", vec![]),
            ("2606:4700::1111", vec![]),
        ] {
            let found: Vec<String> = carried(ip(outer)).iter().map(ToString::to_string).collect();
            assert_eq!(found, inner, "{outer}");
        }
    }
}
