//! `kill -9` under load: the ledger always reopens, keeps what was answered, and the replay makes it whole again.

use std::{
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Command, Stdio},
    sync::mpsc::sync_channel,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use campanile_storage::ledger::{Head, verify_chain};

use super::*;

const DIR: &str = "CAMPANILE_LEDGER_KILL_DIR";

/// Kills per run: `KILLS=200` for a full sweep.
fn kills() -> u32 {
    std::env::var("KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// Runs only as the child of the test below: opens at the image that stands in a file, appends, syncs every 50 entries,
/// and says what is durable.
#[test]
fn child_that_appends_until_it_is_killed() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    let head = read_image(&dir);
    let mut ledger = Ledger::open_at(&dir.join("ledger"), SMALL, &head).unwrap();
    let mut out = std::io::stdout();
    for index in head.index() + 1.. {
        let end = ledger.append(index, &entry(index)).unwrap();
        writeln!(out, "appended {}", end.index()).unwrap();
        if index % 50 == 0 {
            let synced = ledger.sync().unwrap();
            std::fs::write(dir.join("image.tmp"), synced.to_bytes()).unwrap();
            std::fs::rename(dir.join("image.tmp"), dir.join("image")).unwrap();
        }
        out.flush().unwrap();
    }
}

#[test]
fn a_killed_writer_loses_nothing_that_was_appended_and_the_chain_holds() {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos();
    eprintln!("seed {seed}, {} kills", kills());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut random = seed;
    for kill in 0..kills() {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let answered = run_and_kill(dir.path(), Duration::from_micros(u64::from(random >> 16) % 60_000));
        let image = read_image(dir.path());
        let mut ledger = open(&path);
        assert!(ledger.head().index() >= answered, "kill {kill}: {answered} was answered");
        // The last entry may be there in part; up to it, and up to the image, everything is.
        let whole = ledger.head().index().saturating_sub(1).max(image.index());
        let end = ledger.cut_to(whole).unwrap();
        assert_eq!(verify_chain(&path).unwrap(), end, "kill {kill}");
        assert_eq!(told(&all_rows(&ledger)), expected(1..whole + 1), "kill {kill}");
    }
}

/// Starts the child, kills it `after` its first answer (or after its start, every fourth time, which is during its open),
/// and answers the last index it told.
fn run_and_kill(dir: &Path, after: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["kill::child_that_appends_until_it_is_killed", "--exact", "--nocapture"])
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // When it is full the child waits for us, on its pipe.
    let (answers, told) = sync_channel(1_024);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let listener = std::thread::spawn(move || {
        // A line that the kill cut short is a smaller number, which promises less.
        let told = |line: String| line.strip_prefix("appended ").and_then(|index| index.parse().ok());
        lines.map_while(Result::ok).filter_map(told).try_for_each(|index: u64| answers.send(index))
    });
    let mut answered = 0;
    if !after.as_micros().is_multiple_of(4) {
        answered = told.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    let deadline = Instant::now() + after;
    while let Ok(index) = told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        answered = index;
    }
    child.kill().unwrap();
    answered = told.iter().last().unwrap_or(answered);
    listener.join().unwrap().unwrap();
    assert_eq!(
        child.wait().unwrap().code(),
        None,
        "the child ended by itself, which only an error makes it do"
    );
    answered
}

fn read_image(dir: &Path) -> Head {
    match std::fs::read(dir.join("image")) {
        Ok(bytes) => Head::from_bytes(&bytes.try_into().unwrap()).unwrap(),
        Err(_) => Head::default(),
    }
}
