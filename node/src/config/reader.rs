//! From texts with their origins to a [`Config`]: one reader a section, defaults beside their keys.
//!
//! A flaw is noted and its default taken, so that one pass finds everything. Whether the values fit together is judged in
//! [`super::judge`].

use std::path::PathBuf;

use campanile_core::time::Span;

use super::secret::{self, Secret};
use super::source::{Raw, Settings};
use super::value::{self, Listen};
use super::{Api, Cluster, Config, Dispatch, Ledger, Log, LogFormat, Peer, Raft, Watchdog};
use crate::dispatch::egress::Rules;
use crate::telemetry;

/// Where `--dev` keeps its data.
const DEV_DIR: &str = "campanile-data";

pub(super) fn read(settings: &Settings, dev: bool, flaws: &mut Vec<String>) -> Config {
    let mut reader = Reader { settings, flaws };
    let peer = reader.peer();
    Config {
        data_dir: reader.data_dir(dev),
        api: reader.api(),
        cluster: reader.cluster(&peer.advertise),
        peer,
        raft: reader.raft(),
        watchdog: reader.watchdog(),
        ledger: reader.ledger(),
        dispatch: reader.dispatch(),
        egress: reader.egress(dev),
        log: reader.log(),
    }
}

struct Reader<'a> {
    settings: &'a Settings,
    flaws: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn data_dir(&mut self, dev: bool) -> PathBuf {
        let set = self.optional("data_dir", value::text);
        if set.is_none() && !dev && self.settings.get("data_dir").is_none() {
            self.flaws.push("data_dir is missing; write data_dir = \"/var/lib/campanile\"".into());
        }
        set.map_or_else(|| PathBuf::from(DEV_DIR), PathBuf::from)
    }

    fn api(&mut self) -> Api {
        let listen = self.or("api.listen", value::listen, || default_listen(7700));
        let advertise = match self.optional("api.advertise", value::url) {
            Some(url) => url,
            None => format!("http://{}", self.told_as("api", &listen)),
        };
        let token_file = self.optional("api.token_file", value::text).map(PathBuf::from);
        let token = self.secret("api.token_file", token_file.as_ref());
        Api { listen, advertise, token_file, token }
    }

    fn peer(&mut self) -> Peer {
        let listen = self.or("peer.listen", value::listen, || default_listen(7701));
        let told = |raw: &Raw| value::text(raw).and_then(|text| value::address(&text));
        let advertise = match self.optional("peer.advertise", told) {
            Some(address) => address,
            None => self.told_as("peer", &listen),
        };
        let secret_file = self.optional("peer.secret_file", value::text).map(PathBuf::from);
        let secret = self.secret("peer.secret_file", secret_file.as_ref());
        Peer { listen, advertise, secret_file, secret }
    }

    fn cluster(&mut self, own_address: &str) -> Cluster {
        let peers = |raw: &Raw| {
            value::list(raw)?.iter().map(|peer| value::address(peer)).collect::<Result<Vec<_>, _>>()
        };
        Cluster {
            name: self.or("cluster.name", cluster_name, || "campanile".into()),
            peers: self.or("cluster.peers", peers, || vec![own_address.to_owned()]),
            failover_grace: self.or("cluster.failover_grace", value::span, || Span::from_secs(30)),
            max_clock_ahead: self.or("cluster.max_clock_ahead", value::span, || Span::from_secs(1)),
        }
    }

    fn raft(&mut self) -> Raft {
        Raft {
            heartbeat: self.or("raft.heartbeat", value::span, || Span::from_millis(50)),
            election_min: self.or("raft.election_min", value::span, || Span::from_millis(150)),
            election_max: self.or("raft.election_max", value::span, || Span::from_millis(300)),
            snapshot_entries: self.or("raft.snapshot_entries", value::number, || 20_000),
            snapshot_bytes: self.or("raft.snapshot_bytes", value::size, || 64 << 20),
        }
    }

    fn watchdog(&mut self) -> Watchdog {
        let count = |raw: &Raw| u32::try_from(value::number(raw)?).map_err(|_| "is too large".into());
        Watchdog {
            disk_hand_over: self.or("watchdog.disk_hand_over", value::span, || Span::from_secs(5)),
            disk_stop: self.or("watchdog.disk_stop", value::span, || Span::from_secs(30)),
            quorum_leases: self.or("watchdog.quorum_leases", count, || 10),
        }
    }

    fn ledger(&mut self) -> Ledger {
        Ledger {
            retention: self.or("ledger.retention", value::span, || Span::from_secs(30 * 24 * 60 * 60)),
            max_bytes: self.or("ledger.max_bytes", value::size, || 8 << 30),
        }
    }

    fn dispatch(&mut self) -> Dispatch {
        Dispatch {
            max_in_flight: self.or("dispatch.max_in_flight", count, || 256),
            per_host: self.or("dispatch.per_host", count, || 64),
        }
    }

    /// A node for a first look calls what stands beside it; one in earnest calls the internet, and what it is told.
    fn egress(&mut self, dev: bool) -> Rules {
        let default = if dev { Rules::for_this_machine() } else { Rules::default() };
        Rules {
            allow: self.or("egress.allow", value::entries, || default.allow),
            deny: self.or("egress.deny", value::entries, || default.deny),
        }
    }

    fn log(&mut self) -> Log {
        let level = |raw: &Raw| value::text(raw).and_then(telemetry::checked_level);
        Log {
            level: self.or("log.level", level, || "info".into()),
            format: self.or("log.format", log_format, || LogFormat::Text),
        }
    }

    /// What others are told when nothing was said: where it listens, unless that is everywhere.
    fn told_as(&mut self, section: &str, listen: &Listen) -> String {
        if listen.is_wildcard() {
            self.flaws.push(format!(
                "{}: {listen} is every address of this machine, which nobody can be told; set {section}.advertise",
                self.settings.place(&format!("{section}.listen"))
            ));
        }
        listen.to_string()
    }

    fn secret(&mut self, key: &str, file: Option<&PathBuf>) -> Option<Secret> {
        match secret::from_file(file?) {
            Ok(secret) => Some(secret),
            Err(why) => {
                self.refuse(key, &why);
                None
            }
        }
    }

    fn or<T>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&Raw) -> Result<T, String>,
        default: impl FnOnce() -> T,
    ) -> T {
        self.optional(key, parse).unwrap_or_else(default)
    }

    fn optional<T>(&mut self, key: &str, parse: impl FnOnce(&Raw) -> Result<T, String>) -> Option<T> {
        match parse(&self.settings.get(key)?.raw) {
            Ok(value) => Some(value),
            Err(why) => {
                self.refuse(key, &why);
                None
            }
        }
    }

    fn refuse(&mut self, key: &str, why: &str) {
        self.flaws.push(format!("{} {why}", self.settings.place(key)));
    }
}

fn default_listen(port: u16) -> Listen {
    value::listen(&Raw::Text(format!("127.0.0.1:{port}"))).expect("an address of our own")
}

fn cluster_name(raw: &Raw) -> Result<String, String> {
    let name = value::text(raw)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if name.len() > 64 || !name.bytes().all(plain) {
        return Err("may hold up to 64 letters, digits, '.', '_' and '-' only".into());
    }
    Ok(name)
}

fn count(raw: &Raw) -> Result<usize, String> {
    usize::try_from(value::number(raw)?).map_err(|_| "is too large".into())
}

fn log_format(raw: &Raw) -> Result<LogFormat, String> {
    match &*value::text(raw)? {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        other => Err(format!("{other:?} is no format; write \"text\" or \"json\"")),
    }
}
