//! What a text of the configuration means: addresses, spans, sizes, numbers. Each refusal says what to write.

use std::fmt;
use std::net::IpAddr;

use campanile_core::time::Span;

use super::source::Raw;
use crate::dispatch::egress::Entry;

/// Where to listen: `host:port`, where the host is an address or a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    host: String,
    port: u16,
}

impl Listen {
    /// The host, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port; 0 lets the system choose.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether only this machine can reach it. A name other than `localhost` might be anything, so it is not.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.ip().is_some_and(|ip| ip.is_loopback())
    }

    /// Whether it stands for every address of the machine, so that nobody can be told to use it.
    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        self.ip().is_some_and(|ip| ip.is_unspecified())
    }

    fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(out, "[{}]:{}", self.host, self.port)
        } else {
            write!(out, "{}:{}", self.host, self.port)
        }
    }
}

pub(super) fn text(raw: &Raw) -> Result<String, String> {
    match raw {
        Raw::Text(text) if !text.is_empty() => Ok(text.clone()),
        Raw::Text(_) => Err("is empty; write a value, or leave the key out".into()),
        Raw::Number(_) | Raw::List(_) => Err("must be a text in quotes".into()),
    }
}

pub(super) fn list(raw: &Raw) -> Result<Vec<String>, String> {
    let items = match raw {
        Raw::List(items) => items.clone(),
        Raw::Text(text) => text.split(',').map(|item| item.trim().to_owned()).collect(),
        Raw::Number(_) => return Err("must be a list of texts, such as [\"a:7701\", \"b:7701\"]".into()),
    };
    if items.is_empty() || items.iter().any(String::is_empty) {
        return Err("has an empty item; write a list such as [\"a:7701\", \"b:7701\"]".into());
    }
    Ok(items)
}

/// Entries of an egress list; it may be empty.
pub(super) fn entries(raw: &Raw) -> Result<Vec<Entry>, String> {
    let texts: Vec<&str> = match raw {
        Raw::List(items) => items.iter().map(String::as_str).collect(),
        Raw::Text(text) if text.trim().is_empty() => Vec::new(),
        Raw::Text(text) => text.split(',').map(str::trim).collect(),
        Raw::Number(_) => {
            return Err("must be a list of texts, such as [\"10.0.0.0/8\", \"jobs.internal\"]".into());
        }
    };
    texts.into_iter().map(str::parse).collect()
}

pub(super) fn number(raw: &Raw) -> Result<u64, String> {
    let digits = match raw {
        Raw::Text(text) | Raw::Number(text) => text,
        Raw::List(_) => return Err("must be a whole number".into()),
    };
    digits.parse().map_err(|_| format!("{digits:?} is no whole number; write digits only, such as 256"))
}

pub(super) fn span(raw: &Raw) -> Result<Span, String> {
    let text = match raw {
        Raw::Number(number) => return Err(format!("needs a unit; write \"{number}s\" or \"{number}ms\"")),
        other => text(other)?,
    };
    text.parse().map_err(|_| format!("{text:?} is no duration; write it like \"50ms\", \"30s\" or \"1m30s\""))
}

/// A number of bytes, or one with a unit of 1,024s.
pub(super) fn size(raw: &Raw) -> Result<u64, String> {
    const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
    let Raw::Text(text) = raw else { return number(raw) };
    let refused = || format!("{text:?} is no size; write it like \"64MiB\" (B, KiB, MiB, GiB)");
    let (digits, unit) = UNITS
        .into_iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))
        .unwrap_or((text, 1));
    digits.trim_end().parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).ok_or_else(refused)
}

pub(super) fn listen(raw: &Raw) -> Result<Listen, String> {
    let text = text(raw)?;
    host_port(&text).map(|(host, port)| Listen { host, port }).ok_or_else(|| address_refused(&text))
}

/// An address that others are told: `host:port` with a port that somebody can connect to.
pub(super) fn address(text: &str) -> Result<String, String> {
    match host_port(text) {
        Some((_, 0)) => Err(format!("{text:?} has port 0; name the port that others connect to")),
        Some(_) => Ok(text.to_owned()),
        None => Err(address_refused(text)),
    }
}

/// A URL that others are told: scheme, host and port only.
pub(super) fn url(raw: &Raw) -> Result<String, String> {
    let text = text(raw)?;
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = rest.map(|rest| rest.trim_end_matches('/'));
    match host {
        Some(host) if is_host(host) => Ok(text.trim_end_matches('/').to_owned()),
        _ => Err(format!("{text:?} is no URL of a node; write it like \"http://node1.example:7700\"")),
    }
}

fn is_host(text: &str) -> bool {
    let plain = !text.is_empty() && !text.contains(['/', '?', '#', '@', ' ']);
    plain && (host_port(text).is_some() || !text.contains(':'))
}

fn host_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let host = match bracketed {
        Some(v6) => v6.parse::<std::net::Ipv6Addr>().ok()?.to_string(),
        None if host.is_empty() || !host.bytes().all(is_host_byte) => return None,
        None => host.to_owned(),
    };
    Some((host, port.parse().ok()?))
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

fn address_refused(text: &str) -> String {
    format!("{text:?} is no address; write host:port, such as \"127.0.0.1:7700\" or \"[::1]:7700\"")
}
