//! Heads that were kept elsewhere: an archive that was made anew, whole in itself, does not reach them.

use campanile::cli::Exit;
use campanile::verify::{Asked, KnownHead};
use campanile_core::verify::Scope;
use campanile_storage::archive::ArchiveWriter;
use campanile_storage::ledger::{Head, Row};
use serde_json::Value;

use crate::command::run;
use crate::forger::Forger;
use crate::story::{Story, read};
use crate::{export, head, verdict};

fn expecting(heads: &[KnownHead]) -> Asked {
    Asked { scope: Scope::default(), heads: heads.to_vec() }
}

/// The heads of three nodes, of which none had come further than the others by much.
fn heads() -> [KnownHead; 3] {
    let rows = &Story::told().rows;
    [head(&rows[rows.len() - 1]), head(&rows[rows.len() - 5]), head(&rows[rows.len() - 90])]
}

/// Why the chain does not hold.
fn breaks(rows: &[Row], heads: &[KnownHead]) -> Vec<String> {
    let found = verdict(export(rows), expecting(heads));
    assert_eq!(found.clean, found.chain.ok, "the instants are as they should be: {found:#?}");
    found.offenders.into_iter().map(|one| one.detail).collect()
}

#[test]
fn an_archive_that_reaches_every_head_is_clean_and_says_how_many() {
    let found = verdict(export(&Story::told().rows), expecting(&heads()));
    assert!(found.clean, "{:#?}", found.offenders);
    assert_eq!(found.chain.heads, 3);
}

#[test]
fn an_end_that_was_cut_and_made_anew_does_not_reach_the_heads_behind_it() {
    let rows = &Story::told().rows;
    let cut = &rows[..rows.len() - 20];
    assert_eq!(breaks(cut, &[]), Vec::<String>::new(), "nothing else shows it");
    let told = breaks(cut, &heads());
    let end = format!("ends at {}", cut.last().unwrap().position);
    assert!(told.len() == 2 && told.iter().all(|why| why.contains(&end)), "{told:#?}");
}

#[test]
fn rows_made_anew_over_another_story_carry_other_hashes() {
    let rows = &Story::told().rows;
    let mut forged = rows.clone();
    // A note of somebody's: no instant depends on it.
    let place = forged.len() - 200;
    let fact = read(&forged[place - 1]);
    forged[place] = crate::story::with(&forged[place], &fact);
    let forged = Forger::Perfect.hide(forged);
    let found = verdict(export(&forged), expecting(&heads()));
    let told: Vec<_> = found.offenders.iter().filter(|one| one.detail.contains("that was given")).collect();
    assert_eq!(told.len(), 3, "{:#?}", found.offenders);
    assert!(told.iter().all(|one| one.fault == "chain" && one.detail.contains("another one")));
}

#[test]
fn a_head_of_rows_that_retention_has_dropped_proves_nothing_and_says_so() {
    let rows = &Story::told().rows;
    let at = rows.len() / 2;
    let base = Head { position: Some(rows[at].position), hash: rows[at].hash, ..Head::default() };
    let mut archive = ArchiveWriter::begin(Vec::new(), b"{}").unwrap();
    archive.base(base).unwrap();
    archive.rows(&rows[at + 1..]).unwrap();
    let bytes = archive.end().unwrap();
    let begins = verdict(bytes.clone(), expecting(&[head(&rows[at]), head(&rows[rows.len() - 1])]));
    assert_eq!((begins.chain.ok, begins.chain.heads), (true, 2), "the row before the first one counts");
    let earlier = verdict(bytes, expecting(&[head(&rows[at - 7])]));
    let why = &earlier.chain.broken.as_ref().unwrap().why;
    assert!(why.contains("give a later one"), "{why}");
}

#[test]
fn the_command_takes_heads_as_the_cluster_shows_them() {
    let rows = &Story::told().rows;
    let [newest, older, _] = heads().map(|head| head.to_string());
    let whole = run(&export(rows), &["--head", &newest, "--head", &older]);
    assert_eq!(whole.exit, Exit::Done, "{}{}", whole.out, whole.err);
    assert!(whole.out.contains("heads that you gave and it reaches: 2"), "{}", whole.out);
    let cut = run(&export(&rows[..rows.len() - 3]), &["--head", &newest, "-o", "json"]);
    assert_eq!(cut.exit, Exit::Failed, "{}{}", cut.out, cut.err);
    let verdict: Value = serde_json::from_str(&cut.out).unwrap();
    assert_eq!((&verdict["clean"], &verdict["chain"]["heads"]), (&Value::Bool(false), &Value::from(0)));
    assert_eq!(verdict["offenders"][0]["fault"], "chain", "{verdict:#}");
    for no_head in ["48211.0", "48211.0:8f3c", "x"] {
        let refused = run(&export(rows), &["--head", no_head]);
        assert_eq!(refused.exit, Exit::Usage, "{no_head}");
        assert!(refused.err.contains("cluster status"), "{}", refused.err);
    }
}
