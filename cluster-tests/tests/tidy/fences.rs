//! The walls around third-party crates: in which files a crate may be named at all. And around the wall clock.
//!
//! `Cargo.toml` says which room knows a crate; this says which file of it. So a library can be replaced by changing what
//! stands inside one wall. A path here is a prefix: `node/src/http` is `http.rs` and all of `http/`.

use crate::tree::Tree;

/// A crate and the only files that may name it.
struct Fence {
    /// As code spells it.
    krate: &'static str,
    inside: &'static [&'static str],
}

const FENCES: &[Fence] = &[
    Fence { krate: "croner", inside: &["core/src/cron", "core/tests/cron_"] },
    Fence { krate: "jiff", inside: &["core/src/cron", "core/tests/cron_", "core/tests/rrule_"] },
    Fence { krate: "rrule", inside: &["core/src/rrule/engine.rs"] },
    Fence { krate: "bincode", inside: &["storage/src/codec.rs"] },
    Fence {
        krate: "sled",
        inside: &[
            "storage/src/log/sled",
            "storage/src/history",
            "storage/src/sleds.rs",
            "storage/tests/log_",
        ],
    },
    Fence { krate: "openraft", inside: &["raft/"] },
    Fence {
        krate: "axum",
        inside: &[
            "node/src/http",
            "node/src/demo",
            "node/tests/",
            "raft/src/transport",
            "raft/tests/",
            "cluster-tests/",
        ],
    },
    Fence { krate: "hyper", inside: &["raft/src/transport", "raft/tests/", "node/src/http"] },
    Fence { krate: "hyper_util", inside: &["raft/src/transport", "raft/tests/", "node/src/http"] },
    Fence {
        krate: "reqwest",
        inside: &["node/src/client", "node/src/dispatch", "node/tests/", "cluster-tests/"],
    },
    Fence { krate: "ipnet", inside: &["node/src/dispatch/egress"] },
    Fence { krate: "clap", inside: &["node/src/cli", "node/src/main.rs"] },
    Fence { krate: "prometheus_client", inside: &["node/src/metrics"] },
    Fence { krate: "sd_notify", inside: &["node/src/run"] },
    Fence { krate: "campanile_cluster_tests", inside: &["cluster-tests/"] },
];

/// Who may read the wall clock: the node's one reader, and what runs outside of a node (a user's command, the demo's
/// receiver, tests).
const CLOCK_READERS: [&str; 4] = ["node/src/clock.rs", "node/src/cli", "node/src/demo", "cluster-tests/"];
const READS_THE_CLOCK: [&str; 4] = ["SystemTime", ":", ":", "now"];

/// Every crate that is named outside of its wall, and every reading of the clock outside of its room.
pub(crate) fn findings(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in &tree.rust {
        let source = file.source();
        for fence in FENCES.iter().filter(|fence| !stands_in(&file.path, fence.inside)) {
            findings.extend(source.lines_naming(fence.krate).into_iter().map(|line| {
                format!(
                    "{}:{line}: names {}, which stops at {}",
                    file.path,
                    fence.krate,
                    fence.inside.join(", ")
                )
            }));
        }
        if !stands_in(&file.path, &CLOCK_READERS) && !file.path.contains("/tests/") {
            findings.extend(source.lines_with(&READS_THE_CLOCK).into_iter().map(|line| {
                format!(
                    "{}:{line}: reads the wall clock, which only {} may",
                    file.path,
                    CLOCK_READERS.join(", ")
                )
            }));
        }
    }
    findings
}

fn stands_in(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| path.starts_with(place))
}
