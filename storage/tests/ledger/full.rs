//! A disk that takes no more: the append that fails leaves nothing behind, and what was appended before stays.

use std::process::Command;

use campanile_storage::{
    Trouble,
    ledger::{Head, Position, verify_chain},
};

use super::*;

const DIR: &str = "CAMPANILE_LEDGER_FULL_DIR";
/// Blocks of 512 bytes that a file may have, in the shell's words.
const BLOCKS: u32 = 64;

/// Runs only as the child of the test below, where no file may grow beyond a bound: appends until that fails.
#[test]
fn child_that_appends_until_the_disk_is_full() {
    let Some(dir) = std::env::var_os(DIR).map(std::path::PathBuf::from) else { return };
    let options = Options { segment_bytes: u32::MAX / 2, upkeep: Upkeep::Inline };
    let mut ledger = Ledger::open(&dir.join("ledger"), options).unwrap();
    let mut index = 1;
    let refused = loop {
        let before = ledger.head();
        match ledger.append(index, &entry(index)) {
            Ok(_) => index += 1,
            Err(refused) => {
                assert_eq!(ledger.head(), before, "the head is as before");
                break refused;
            }
        }
    };
    assert!(matches!(refused, Trouble::Full { .. } | Trouble::Io { .. }), "{refused}");
    assert_eq!(told(&all_rows(&ledger)), expected(1..index), "readers see what was appended");
    // Something smaller may still fit, and stands where the one that failed would.
    let refused = ledger.append(index, &[vec![7; 4_000]]).is_err();
    assert!(refused, "a long row fits where a short one did not");
    let head = ledger.sync().unwrap();
    std::fs::write(dir.join("head"), head.to_bytes()).unwrap();
}

#[test]
fn an_append_that_finds_no_room_changes_nothing_and_the_file_opens_whole() {
    let dir = tempfile::tempdir().unwrap();
    // Without a handler the first write beyond the bound would kill the process instead of failing.
    let script = format!("trap '' XFSZ; ulimit -f {BLOCKS}; exec \"$0\" \"$@\"");
    let ran = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args(["full::child_that_appends_until_the_disk_is_full", "--exact"])
        .env(DIR, dir.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    let head = std::fs::read(dir.path().join("head")).unwrap();
    let head = Head::from_bytes(&head.try_into().unwrap()).unwrap();
    let path = dir.path().join("ledger");
    assert_eq!(verify_chain(&path).unwrap(), head);
    let mut ledger = Ledger::open_at(&path, SMALL, &head).unwrap();
    assert!(ledger.cut_at_open().is_none() && head.rows > 100, "{head:?}");
    let next = head.index() + 1;
    assert_eq!(ledger.append(next, &["row"]).unwrap().position, Some(Position::new(next, 0)));
}
