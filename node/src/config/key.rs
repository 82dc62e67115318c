//! The keys that a configuration may have, and nothing else: a key that is not here is a typing error.

use crate::wire::text::did_you_mean;

/// Every key as `section.name`; one without a dot stands above the first section.
pub(super) const KEYS: [&str; 27] = [
    "data_dir",
    "api.listen",
    "api.advertise",
    "api.token_file",
    "peer.listen",
    "peer.advertise",
    "peer.secret_file",
    "cluster.name",
    "cluster.peers",
    "cluster.failover_grace",
    "cluster.max_clock_ahead",
    "raft.heartbeat",
    "raft.election_min",
    "raft.election_max",
    "raft.snapshot_entries",
    "raft.snapshot_bytes",
    "watchdog.disk_hand_over",
    "watchdog.disk_stop",
    "watchdog.quorum_leases",
    "ledger.retention",
    "ledger.max_bytes",
    "dispatch.max_in_flight",
    "dispatch.per_host",
    "egress.allow",
    "egress.deny",
    "log.level",
    "log.format",
];

/// The key of that name, as it is spelled here.
pub(super) fn known(name: &str) -> Option<&'static str> {
    KEYS.into_iter().find(|key| *key == name)
}

/// What to write instead of a key that is not known.
pub(super) fn hint(name: &str) -> String {
    let (section, bare) = name.rsplit_once('.').unwrap_or(("", name));
    let siblings: Vec<&str> = KEYS.into_iter().filter_map(|key| in_section(key, section)).collect();
    // The right word in the wrong section is as common as a slip of the finger.
    let elsewhere = KEYS.into_iter().find(|key| key.rsplit('.').next() == Some(bare));
    match (elsewhere, siblings.is_empty()) {
        (Some(key), _) => format!("did you mean {}?", spelled(key)),
        (None, false) => did_you_mean(bare, &siblings),
        (None, true) => did_you_mean(section, &sections()),
    }
}

/// What to write instead of a section that is not known.
pub(super) fn section_hint(section: &str) -> String {
    did_you_mean(section, &sections())
}

/// Whether any key is in that section.
pub(super) fn is_section(section: &str) -> bool {
    !section.is_empty() && sections().contains(&section)
}

/// The variable of the environment that sets a key: `CAMPANILE_API__LISTEN` for `api.listen`.
pub(super) fn variable(key: &str) -> String {
    format!("CAMPANILE_{}", key.replace('.', "__").to_ascii_uppercase())
}

fn sections() -> Vec<&'static str> {
    let mut sections: Vec<&str> = KEYS.into_iter().filter_map(|key| Some(key.split_once('.')?.0)).collect();
    sections.dedup();
    sections
}

fn in_section(key: &'static str, section: &str) -> Option<&'static str> {
    match key.split_once('.') {
        Some((of, name)) => (of == section).then_some(name),
        None => section.is_empty().then_some(key),
    }
}

fn spelled(key: &str) -> String {
    match key.split_once('.') {
        Some((section, name)) => format!("\"{name}\" in [{section}]"),
        None => format!("\"{key}\" above the first section"),
    }
}
