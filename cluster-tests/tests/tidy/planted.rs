//! The checks, checked: small trees on disk with one fault planted in each, and one that has none.

use std::fs;

use tempfile::TempDir;

use crate::tree::Tree;
use crate::{arrows, docs, fences, marks, sizes};

const CORE: &str = "[package]\nname = \"campanile-core\"\n[dependencies]\nserde.workspace = true\n";

/// A tree of these files, read from disk as the real one is.
fn tree(files: &[(&str, &str)]) -> Tree {
    let root = TempDir::new().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Tree::read(root.path())
}

fn all_findings(tree: &Tree) -> Vec<String> {
    [
        arrows::findings(tree),
        fences::findings(tree),
        sizes::judge(tree).findings,
        marks::headers(tree),
        marks::unfinished(tree),
        marks::drawers(tree),
        marks::machine_paths(tree),
        docs::findings(tree),
    ]
    .concat()
}

#[test]
fn a_tidy_tree_has_no_finding() {
    let tidy = tree(&[
        ("core/Cargo.toml", CORE),
        ("core/src/lib.rs", "//! Core.\n//! It does not say todo!() or name sled::Db.\npub mod cron;\n"),
        ("core/src/cron/zone.rs", "//! Zones.\nuse jiff::tz::TimeZone;\n"),
        ("storage/src/codec.rs", "//! Bytes.\nuse bincode::config;\n"),
        ("raft/src/log.rs", "//! The log.\nuse campanile_storage::log::sled::Store;\nuse openraft::LogId;\n"),
        (
            "node/src/ignore.rs",
            "//! #[ignore] in a comment is text.\nconst A: &str = \"unimplemented!()\";\n",
        ),
        ("target/debug/build.rs", "no header, and not ours"),
    ]);
    assert_eq!(all_findings(&tidy), [""; 0]);
}

#[test]
fn a_planted_arrow_is_caught_in_every_kind_of_dependency() {
    let planted = [
        ("core", "[dependencies]\ntokio = \"1\"\n"),
        ("core", "[dev-dependencies]\ntokio = \"1\"\n"),
        ("core", "[dependencies]\nregex = \"1\"\n"),
        ("core", "[dependencies]\ncampanile-storage.workspace = true\n"),
        ("storage", "[dependencies]\ncampanile-core.workspace = true\n"),
        ("storage", "[dependencies]\nstate = { package = \"campanile-core\", path = \"../core\" }\n"),
        ("raft", "[target.'cfg(unix)'.dependencies]\nsled = \"0.34\"\n"),
        ("raft", "[dependencies]\ncampanile.workspace = true\n"),
        ("node", "[build-dependencies]\nopenraft = \"0.10\"\n"),
        ("node", "[dev-dependencies]\ncampanile-cluster-tests.workspace = true\n"),
        ("utils", "[dependencies]\n"),
    ];
    for (room, text) in planted {
        let findings = arrows::findings(&tree(&[(&format!("{room}/Cargo.toml"), text)]));
        assert_eq!(findings.len(), 1, "{room}: {text}{findings:?}");
    }
}

#[test]
fn a_crate_named_outside_of_its_wall_is_caught() {
    let planted = [
        ("node/src/leader.rs", "use openraft::Raft;"),
        ("storage/src/log.rs", "use bincode::encode;"),
        ("storage/src/ledger.rs", "fn f() { sled::open(p); }"),
        ("core/src/plan.rs", "fn f(at: jiff::Timestamp) {}"),
        ("node/src/service.rs", "use {std::fmt, axum::Router};"),
        ("raft/src/consensus.rs", "use axum::Router;"),
        ("node/src/leader.rs", "fn f() { std::time::SystemTime::now(); }"),
        ("node/src/leader/ticker.rs", "use campanile_cluster_tests::model;"),
    ];
    for (path, code) in planted {
        let findings = fences::findings(&tree(&[(path, &format!("//! Header.\n{code}\n"))]));
        assert_eq!(findings.len(), 1, "{path}: {code}: {findings:?}");
        assert!(findings[0].starts_with(&format!("{path}:2: ")), "{findings:?}");
    }
}

#[test]
fn a_file_may_shrink_but_not_outgrow_its_record() {
    let sized = |lines: usize, record: &str| {
        let text = "//! Long.\n".repeat(lines);
        let judged =
            sizes::judge(&tree(&[("core/src/a.rs", &text), ("cluster-tests/tests/tidy/sizes.tsv", record)]));
        (judged.findings.len(), judged.notes.len())
    };
    let recorded = "# comment\ncore/src/a.rs\t400\n";
    assert_eq!(sized(sizes::LIMIT, ""), (0, 0), "at the limit");
    assert_eq!(sized(sizes::LIMIT + 1, ""), (1, 0), "above it, not recorded");
    assert_eq!(sized(400, recorded), (0, 0), "as recorded");
    assert_eq!(sized(401, recorded), (1, 0), "outgrown");
    assert_eq!(sized(399, recorded), (0, 1), "shrunk: a note");
    assert_eq!(sized(10, recorded), (0, 1), "no longer long: a note");
}

#[test]
fn the_record_written_is_the_record_read() {
    let long = "//! Long.\n".repeat(sizes::LIMIT + 7);
    let before = tree(&[("core/src/a.rs", &long), ("core/src/b.rs", "//! Short.\n")]);
    let record = sizes::text(&before);
    let after = tree(&[("core/src/a.rs", &long), ("cluster-tests/tests/tidy/sizes.tsv", &record)]);
    let judged = sizes::judge(&after);
    assert_eq!((judged.findings.len(), judged.notes.len()), (0, 0), "{record}");
}

#[test]
fn a_missing_header_an_unfinished_mark_a_drawer_and_a_machine_path_are_caught() {
    let path_of_a_machine = format!("data_dir = \"/{}/campanile\"\n", "root");
    let planted = [
        ("core/src/a.rs", "pub struct A;\n"),
        ("core/src/a.rs", "//! A.\nfn f() { todo!() }\n"),
        ("core/src/a.rs", "//! A.\n#[test]\n#[ignore = \"slow\"]\nfn f() {}\n"),
        ("core/src/a.rs", "//! A.\n// FIXME later\n"),
        ("core/src/a.rs", "//! A.\nmod utils;\n"),
        ("core/src/helpers.rs", "//! A.\n"),
        ("core/src/common/mod.rs", "//! A.\n"),
        ("deploy/node.toml", path_of_a_machine.as_str()),
    ];
    for (path, text) in planted {
        let findings = all_findings(&tree(&[(path, text)]));
        assert_eq!(findings.len(), 1, "{path}: {text}{findings:?}");
    }
}

#[test]
fn a_document_that_points_at_nothing_is_caught() {
    let judged = |text: &str| {
        let here = ("core/src/a.rs", "//! A.\nfn kept() {}\n");
        docs::findings(&tree(&[here, ("docs/decisions/page.md", text), ("docs/page.md", "")])).len()
    };
    for sound in [
        "`core/src/a.rs`, `core/src/`, `core/src/a.rs::kept`, [up](../page.md), [part](../page.md#part)",
        "[away](https://example.org/x.md), `core/src/a` and `cargo test core/` are no pointers",
        "```sh\ncat `core/src/in_a_block.rs`\n```",
    ] {
        assert_eq!(judged(sound), 0, "{sound}");
    }
    for lost in [
        "`core/src/b.rs`",
        "`core/tests/`",
        "`core/src/a.rs::lost`",
        "[page](page2.md)",
        "[up](../../page.md)",
    ] {
        assert_eq!(judged(lost), 1, "{lost}");
    }
}
