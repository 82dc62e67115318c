//! What a firing takes in the ledger, all in all: `cargo test -p campanile-raft --test firing_bytes -- --nocapture`.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use campanile_core::attempt::{Holder, Lease, Report, Verdict};
use campanile_core::event::{Event, Outcome, Row};
use campanile_core::firing::{EndState, FiringId, Kind};
use campanile_core::format::FormatLevel;
use campanile_core::id::{AttemptNumber, FencingToken, NodeId, Revision, Run, Uid};
use campanile_core::time::{Span, Timestamp};
use campanile_storage::codec;
use campanile_storage::ledger::{Ledger, Options};

/// The first log index: a cluster that has been at work for a while.
const INDEX: u64 = 30_000_000;
const FIRINGS: u64 = 1_000;

/// The three facts of a firing that is delivered at the first attempt, as `apply` makes them.
fn facts(nth: u64) -> [Vec<u8>; 3] {
    let nominal = Timestamp::from_millis(1_796_169_600_000 + (nth / 100 * 60_000) as i64);
    let later = |millis| Timestamp::from_millis(nominal.as_millis() + millis);
    let firing = FiringId { uid: Uid(20_000 + nth % 10_000), nominal, run: Run(0) };
    let lease = Lease {
        attempt: AttemptNumber(1),
        holder: Holder::Node(NodeId(2)),
        begun_at: later(9),
        until: later(60_009),
        fencing_token: FencingToken(INDEX + nth),
    };
    let report = Report {
        verdict: Verdict::Succeeded,
        sent_at: later(12),
        status: Some(200),
        error: "".into(),
        output: "".into(),
    };
    let outcome = Outcome::End { state: EndState::Succeeded, lateness: Span::from_millis(5) };
    let fired = Event::Fired { firing, revision: Revision(3), kind: Kind::Scheduled };
    let settled = Event::Settled { firing, attempt: AttemptNumber(1), report: Some(report), outcome };
    [(5, fired), (9, Event::Begun { firing, lease }), (40, settled)].map(|(millis, event)| {
        codec::encode(codec::Kind::Event, FormatLevel::NEWEST.0, &Row { at: later(millis), event }).unwrap()
    })
}

/// Bytes a firing, when so many of them are decided, begun and settled by one entry each.
fn bytes_a_firing(batch: u64) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&dir.path().join("ledger"), Options::default()).unwrap();
    let mut index = INDEX;
    for first in (0..FIRINGS).step_by(batch as usize) {
        let firings: Vec<_> = (first..first + batch).map(facts).collect();
        for step in 0..3 {
            let rows: Vec<_> = firings.iter().map(|facts| &facts[step]).collect();
            index += 1;
            ledger.append(index, &rows).unwrap();
        }
    }
    ledger.head().bytes / FIRINGS
}

#[test]
fn a_firing_takes_well_below_200_bytes() {
    for (batch, bound) in [(1, 190), (10, 125), (100, 110)] {
        let bytes = bytes_a_firing(batch);
        eprintln!("{bytes} bytes a firing (fired, begun, settled), {batch} in an entry");
        assert!(bytes <= bound, "{bytes} bytes a firing, {batch} in an entry: more than {bound}");
    }
}
