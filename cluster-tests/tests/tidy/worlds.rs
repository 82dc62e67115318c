//! The rooms that the simulation runs have one source of time, chance, tasks, blocking calls and watched values
//! (`raft/src/runtime.rs`, `node/src/clock.rs`): anything else would make a world another one the next time.

use crate::tree::Tree;

/// The rooms, by the beginning of a path.
const ROOMS: [&str; 10] = [
    "core/src/",
    "raft/src/",
    "node/src/clock",
    "node/src/leader",
    "node/src/dispatch",
    "node/src/work",
    "node/src/service",
    "node/src/http",
    "node/src/run/",
    "cluster-tests/src/sim",
];

/// What is outside of every world although it lies in such a room: sockets, files of a test, ports, signals, sweeps.
const OUTSIDE: [&str; 11] = [
    "raft/src/runtime",
    "raft/src/transport/lanes.rs",
    "node/src/clock.rs",
    "node/src/clock/moved.rs",
    "node/src/dispatch/egress",
    "node/src/dispatch/exit/clients.rs",
    "node/src/http/serve",
    "node/src/run/signals.rs",
    "node/src/run/ports.rs",
    "node/src/run/notify.rs",
    "cluster-tests/src/sim/sweep",
];

/// What must not be named, and what to take instead.
const FORBIDDEN: [(&str, &str); 12] = [
    ("std::time::Instant", "tokio::time::Instant"),
    ("SystemTime::now", "the clock that is given"),
    ("use std::time::{Duration, Instant}", "tokio::time::Instant"),
    ("tokio::sync::watch", "campanile_raft::runtime::watch"),
    ("task::spawn_blocking", "campanile_raft::runtime::blocking"),
    ("task::JoinSet", "campanile_raft::runtime::spawn_into"),
    ("getrandom::", "campanile_raft::runtime::fill"),
    ("rand::rng()", "campanile_raft::runtime::Random"),
    ("thread::spawn", "campanile_raft::runtime::blocking"),
    ("thread::Builder", "campanile_raft::runtime::blocking"),
    ("thread::sleep", "tokio::time::sleep"),
    ("tokio::spawn(", "campanile_raft::runtime::spawn"),
];

/// Every line of those rooms, tests left out, that names what it must not; and every `select!` that chooses by chance.
pub(crate) fn findings(tree: &Tree) -> Vec<String> {
    let simulated = tree.rust.iter().filter(|file| {
        ROOMS.iter().any(|room| file.path.starts_with(room))
            && !OUTSIDE.iter().any(|path| file.path.starts_with(path))
            && !file.path.contains("/tests")
            && !file.path.contains("/planted")
    });
    simulated.flat_map(|file| judge(&file.path, &file.text)).collect()
}

fn judge(path: &str, text: &str) -> Vec<String> {
    let product = text.split("#[cfg(test)]").next().unwrap_or(text);
    let is_world = path.starts_with("cluster-tests/");
    let mut findings = Vec::new();
    let lines: Vec<&str> = product.lines().collect();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
        let place = format!("{path}:{}", at + 1);
        for (name, instead) in FORBIDDEN.iter().filter(|(name, _)| line.contains(name)) {
            // A world spawns tasks that belong to no process: its packets, its clients.
            if !(is_world && (*name == "tokio::spawn(" || *name == "task::JoinSet")) {
                findings.push(format!("{place}: {name} is not the same again from a seed: take {instead}"));
            }
        }
        if line.contains("select! {") && lines.get(at + 1).is_some_and(|next| next.trim() != "biased;") {
            findings.push(format!("{place}: select! chooses by chance: begin it with `biased;`"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planted_is_found_and_tests_and_comments_are_not() {
        let planted = "// SystemTime::now is bad\nlet now = SystemTime::now();\ntokio::select! {\n    a => {}\n}\n\
                       #[cfg(test)]\nmod tests { fn t() { tokio::spawn(async {}); } }\n";
        let found = judge("node/src/leader/x.rs", planted);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("node/src/leader/x.rs:2: SystemTime::now"));
        assert!(found[1].starts_with("node/src/leader/x.rs:3: select!"));
        assert!(judge("cluster-tests/src/sim/net.rs", "tokio::spawn(x);\n").is_empty());
    }
}
