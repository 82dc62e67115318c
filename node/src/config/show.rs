//! A configuration as the file that would mean the same. Secrets are not in it, only the names of their files.

use std::fmt::Write as _;

use super::{Config, LogFormat};

pub(super) fn toml(config: &Config) -> String {
    let Config { data_dir, api, peer, cluster, raft, watchdog, ledger, dispatch, egress, log } = config;
    let mut page = Page::default();
    page.line("data_dir", &quoted(&data_dir.display().to_string()));
    page.section("api");
    page.line("listen", &quoted(&api.listen.to_string()));
    page.line("advertise", &quoted(&api.advertise));
    page.file("token_file", api.token_file.as_deref());
    page.section("peer");
    page.line("listen", &quoted(&peer.listen.to_string()));
    page.line("advertise", &quoted(&peer.advertise));
    page.file("secret_file", peer.secret_file.as_deref());
    page.section("cluster");
    page.line("name", &quoted(&cluster.name));
    page.line("peers", &list(&cluster.peers));
    page.line("failover_grace", &quoted(&cluster.failover_grace.to_string()));
    page.line("max_clock_ahead", &quoted(&cluster.max_clock_ahead.to_string()));
    page.section("raft");
    page.line("heartbeat", &quoted(&raft.heartbeat.to_string()));
    page.line("election_min", &quoted(&raft.election_min.to_string()));
    page.line("election_max", &quoted(&raft.election_max.to_string()));
    page.line("snapshot_entries", &raft.snapshot_entries.to_string());
    page.line("snapshot_bytes", &quoted(&size(raft.snapshot_bytes)));
    page.section("watchdog");
    page.line("disk_hand_over", &quoted(&watchdog.disk_hand_over.to_string()));
    page.line("disk_stop", &quoted(&watchdog.disk_stop.to_string()));
    page.line("quorum_leases", &watchdog.quorum_leases.to_string());
    page.section("ledger");
    page.line("retention", &quoted(&ledger.retention.to_string()));
    page.line("max_bytes", &quoted(&size(ledger.max_bytes)));
    page.section("dispatch");
    page.line("max_in_flight", &dispatch.max_in_flight.to_string());
    page.line("per_host", &dispatch.per_host.to_string());
    page.section("egress");
    page.line("allow", &list(&egress.allow));
    page.line("deny", &list(&egress.deny));
    page.section("log");
    page.line("level", &quoted(&log.level));
    page.line(
        "format",
        &quoted(match log.format {
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        }),
    );
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn section(&mut self, name: &str) {
        self.write(&format!("\n[{name}]"));
    }

    fn line(&mut self, key: &str, value: &str) {
        self.write(&format!("{key} = {value}"));
    }

    fn file(&mut self, key: &str, path: Option<&std::path::Path>) {
        match path {
            Some(path) => self.line(key, &quoted(&path.display().to_string())),
            None => self.write(&format!("# {key} is not set: open, on loopback only")),
        }
    }

    fn write(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("a String takes everything");
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn list<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(&item.to_string())).collect();
    format!("[{}]", items.join(", "))
}

fn size(bytes: u64) -> String {
    let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let fits = units.into_iter().find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    fits.map_or_else(|| format!("{bytes}B"), |(name, unit)| format!("{}{name}", bytes / unit))
}
