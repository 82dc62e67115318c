//! `campanile demo` shows what it promises: a leader dies, and nothing is missing.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use campanile_cluster_tests::binary::{campanile, says};

#[test]
fn the_demo_survives_its_own_kill_and_counts_nothing_missing() {
    let answer = says(campanile(["demo", "--kill-leader-after", "10s", "--for", "30s"]));
    assert_eq!(answer.code, Some(0), "{answer}");
    let page = answer.stdout.to_lowercase();
    for words in ["pid", "was killed", "leader", "missing 0", "doubled 0"] {
        assert!(page.contains(words), "the demo does not say {words:?}: {answer}");
    }
    assert!(!page.contains("missing 1"), "{answer}");
}
