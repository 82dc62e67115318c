//! A ledger that is right is found so: from an export, from the files of a node, from the middle, and in parts.

use campanile::verify::{Ended, OfLedger, verify};
use campanile_core::verify::Scope;
use campanile_storage::ledger::{Ledger, Options, Row};

use crate::story::Story;
use crate::{export, found, verdict};

fn ledger_of(rows: &[Row], dir: &std::path::Path) -> Ledger {
    let mut ledger = Ledger::open(dir, Options::default()).unwrap();
    for entry in rows.chunk_by(|a, b| a.position.index == b.position.index) {
        let bodies: Vec<&[u8]> = entry.iter().map(|row| &row.body[..]).collect();
        ledger.append(entry[0].position.index, &bodies).unwrap();
    }
    ledger
}

#[test]
fn a_good_ledger_is_clean_as_an_export_and_in_the_files_of_a_node() {
    let story = Story::told();
    let exported = found(export(&story.rows), Scope::default());
    assert!(exported.is_clean(), "{:#?}", exported.verdict.offenders);
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger_of(&story.rows, dir.path());
    let own = verify(OfLedger::now(ledger.reader()), Scope::default(), |_| true).unwrap();
    assert_eq!(own, exported);
    let counts = &own.verdict.counts;
    println!("{counts:?}");
    assert_eq!(own.chain.rows, story.rows.len() as u64);
    assert!(own.chain.compared >= 14, "every end that a leader stated is compared: {}", own.chain.compared);
    assert!(counts.decided > 1_500 && counts.fired > 1_200, "{counts:?}");
    assert_eq!(counts.skipped.values().sum::<u64>(), counts.decided - counts.fired);
}

#[test]
fn a_pass_that_nobody_watches_ends() {
    let story = Story::told();
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger_of(&story.rows, dir.path());
    let ended = verify(OfLedger::now(ledger.reader()), Scope::default(), |_| false);
    assert_eq!(ended, Err(Ended::Unwatched));
}

#[test]
fn a_ledger_without_rows_is_clean() {
    let verdict = verdict(export(&[]), Scope::default());
    assert!(verdict.clean && verdict.chain.ok && verdict.chain.head.is_none());
}

#[test]
fn a_ledger_that_begins_midway_judges_what_it_can() {
    let story = Story::told();
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = ledger_of(&story.rows, dir.path());
    ledger.drop_prefix(story.rows[story.rows.len() / 2].position.index);
    let found = verify(OfLedger::now(ledger.reader()), Scope::default(), |_| true).unwrap();
    assert!(found.is_clean(), "{:#?}", found.verdict.offenders);
    assert!(found.verdict.counts.unverified > 0 && found.verdict.counts.decided == 0);
}

#[test]
fn a_scope_leaves_other_schedules_out() {
    let story = Story::told();
    let namespace = |name: &str| Scope { namespace: Some(name.into()), ..Scope::default() };
    let whole = verdict(export(&story.rows), Scope::default());
    let parts = ["a", "b"].map(|name| verdict(export(&story.rows), namespace(name)));
    assert!(parts.iter().all(|part| part.clean));
    assert_eq!(parts.iter().map(|part| part.decided).sum::<u64>(), whole.decided);
    assert_eq!(parts[1].skipped.keys().collect::<Vec<_>>(), ["overlap"]);
}
