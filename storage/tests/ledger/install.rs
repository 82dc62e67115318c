//! A peer's ledger takes the place of ours, with its image: both or neither, whatever moment the process dies at.

use campanile_storage::ledger::{Head, Install, Ledger, Staged, verify_chain};

use super::*;

/// A peer with entries 1 to 399 of which retention has dropped some, and our own ledger with 1 to 49.
fn two(dir: &Path) -> (Ledger, Ledger) {
    let mut peer = open(&dir.join("peer"));
    fill(&mut peer, 1..400);
    peer.drop_prefix(100);
    let mut ours = open(&dir.join("ours"));
    fill(&mut ours, 1..50);
    ours.sync().unwrap();
    (peer, ours)
}

/// Receives everything the peer's files hold.
fn receive(peer: &Ledger, dir: &Path) -> Staged {
    let reader = peer.reader();
    let mut install = Install::begin(dir, SMALL, reader.base()).unwrap();
    let mut after = reader.base().position;
    loop {
        let rows = reader.read(after, 33, 10_000).unwrap();
        let Some(last) = rows.last() else { break };
        after = Some(last.position);
        install.push(&rows).unwrap();
    }
    assert_eq!(install.head(), peer.head());
    install.stage().unwrap()
}

#[test]
fn an_adopted_ledger_has_the_peers_rows_and_readers_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let (mut peer, mut ours) = two(dir.path());
    // Without a floor, so that every row in the files is shipped.
    peer = reopened(peer, &dir.path().join("peer"));
    let reader = ours.reader();
    let staged = receive(&peer, &dir.path().join("ours"));
    assert_eq!(told(&reader.read(None, usize::MAX, usize::MAX).unwrap()), expected(1..50));
    assert_eq!(ours.adopt(staged).unwrap(), peer.head());
    assert_eq!(all_rows(&ours), all_rows(&peer));
    assert_eq!(reader.head(), peer.head());
    fill(&mut ours, 400..500);
    fill(&mut peer, 400..500);
    assert_eq!(ours.head(), peer.head());
    drop(ours);
    assert_eq!(verify_chain(&dir.path().join("ours")).unwrap(), peer.head());
    assert_eq!(names(dir.path()), ["ours", "ours.lock", "peer", "peer.lock"]);
}

#[test]
fn a_row_that_is_not_the_next_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (peer, _ours) = two(dir.path());
    let rows = all_rows(&peer);
    let base = Head { position: None, ..Head::default() };
    let mut install = Install::begin(&dir.path().join("ours"), SMALL, base).unwrap();
    assert!(install.push(&rows[1..2]).is_err(), "a foreign start");
    let mut own = open(&dir.path().join("own"));
    fill(&mut own, 1..30);
    let rows = all_rows(&own);
    let mut install = Install::begin(&dir.path().join("ours"), SMALL, base).unwrap();
    install.push(&rows[..5]).unwrap();
    assert!(install.push(&rows[6..7]).is_err(), "a gap");
    let mut install = Install::begin(&dir.path().join("ours"), SMALL, base).unwrap();
    install.push(&rows[..5]).unwrap();
    let forged = Row { body: b"forged".to_vec().into(), ..rows[5].clone() };
    assert!(install.push(&[forged]).is_err(), "another body");
}

#[test]
fn a_crash_before_the_image_is_durable_leaves_the_old_ledger() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ours");
    let (peer, ours) = two(dir.path());
    let old = ours.head();
    let peer = reopened(peer, &dir.path().join("peer"));
    let _staged = receive(&peer, &path);
    drop(ours);
    let ours = Ledger::open_at(&path, SMALL, &old).unwrap();
    assert_eq!(told(&all_rows(&ours)), expected(1..50));
    assert_eq!(names(dir.path()), ["ours", "ours.lock", "peer", "peer.lock"]);
}

#[test]
fn a_crash_after_the_image_is_durable_completes_the_install() {
    type Crash = (&'static str, fn(&Path));
    let crashes: [Crash; 3] = [
        ("before the first rename", |_| {}),
        ("between the renames", |dir| {
            std::fs::rename(dir.join("ours"), dir.join("ours.old")).unwrap();
        }),
        ("before the old one is removed", |dir| {
            std::fs::rename(dir.join("ours"), dir.join("ours.old")).unwrap();
            std::fs::rename(dir.join("ours.ready"), dir.join("ours")).unwrap();
        }),
    ];
    for (name, crash) in crashes {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ours");
        let (peer, ours) = two(dir.path());
        let peer = reopened(peer, &dir.path().join("peer"));
        let image = receive(&peer, &path).head();
        drop(ours);
        crash(dir.path());
        let ours = Ledger::open_at(&path, SMALL, &image).unwrap();
        assert_eq!(all_rows(&ours), all_rows(&peer), "{name}");
        assert_eq!(names(dir.path()), ["ours", "ours.lock", "peer", "peer.lock"], "{name}");
    }
}

#[test]
fn an_install_of_a_ledger_without_rows_keeps_its_head() {
    let dir = tempfile::tempdir().unwrap();
    let (mut peer, mut ours) = two(dir.path());
    peer.drop_prefix(u64::MAX);
    let head = peer.head();
    let staged = Install::begin(&dir.path().join("ours"), SMALL, head).unwrap().stage().unwrap();
    assert_eq!(ours.adopt(staged).unwrap(), head);
    drop(ours);
    let mut ours = Ledger::open_at(&dir.path().join("ours"), SMALL, &head).unwrap();
    fill(&mut ours, 400..420);
    fill(&mut peer, 400..420);
    assert_eq!(ours.head(), peer.head());
}

/// Closed and opened, which forgets the floor.
fn reopened(ledger: Ledger, path: &Path) -> Ledger {
    drop(ledger);
    open(path)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_entry_that_comes_in_pages_makes_the_records_that_its_owner_has() {
    let dir = tempfile::tempdir().unwrap();
    let mut peer = open(&dir.path().join("peer"));
    fill(&mut peer, 1..10);
    for index in 10..15 {
        peer.append(index, &(0..200).map(|n| body(index, n)).collect::<Vec<_>>()).unwrap();
    }
    fill(&mut peer, 15..20);
    let ours = dir.path().join("ours");
    let mut ledger = open(&ours);
    // 33 rows a page: most pages end within a record.
    let staged = receive(&peer, &ours);
    assert_eq!(ledger.adopt(staged).unwrap(), peer.head());
    assert_eq!(all_rows(&ledger), all_rows(&peer));
    drop(ledger);
    assert_eq!(verify_chain(&ours).unwrap(), peer.head());
}
