//! What judging a firing costs: the figure is printed, and only that it does not grow with the length of the ledger is held.
//!
//! `FIRINGS=10000000 cargo test -p campanile-core --release --test verify speed -- --nocapture` prints that of a long one.

#![allow(clippy::disallowed_types, reason = "a test that measures reads the clock")]

use std::time::Instant;

use campanile_core::attempt::{Holder, Lease, Report, Verdict};
use campanile_core::definition::ScheduleName;
use campanile_core::event::{Event, Outcome, Row};
use campanile_core::firing::{EndState, FiringId, Kind};
use campanile_core::id::{AttemptNumber, FencingToken, LogIndex, NodeId, Revision, Run, Uid};
use campanile_core::time::{Span, Timestamp};
use campanile_core::verify::{Place, Scope, Verifier};

use crate::story::{every, s};

/// They fire every second.
const SCHEDULES: usize = 2_000;

/// Hears a ledger of so many seconds; answers how many milliseconds that took.
fn judge(seconds: u64) -> u128 {
    let mut verifier = Verifier::new(Scope::default());
    let uids: Vec<Uid> = (0..SCHEDULES).map(|place| Uid::of(LogIndex(1), place)).collect();
    let mut index = LogIndex(1);
    let mut tell = |at: Timestamp, event: &dyn Fn(Uid, LogIndex, u32) -> Event| {
        for (uid, n) in uids.iter().zip(0..) {
            let row = Row { at, event: event(*uid, index, n) };
            verifier.hear(Place { index, n }, &row);
        }
        index = LogIndex(index.0 + 1);
    };
    let definition = every(1);
    tell(s(0), &|uid, _, _| Event::Defined {
        uid,
        name: ScheduleName::parse(&uid.to_string()).unwrap(),
        revision: Revision(1),
        definition: definition.clone(),
        mark: s(0),
        by: "ann".into(),
    });
    let begun_at = Instant::now();
    for second in 1..=seconds {
        let nominal = s(second);
        let id = |uid| FiringId { uid, nominal, run: Run(0) };
        tell(nominal, &|uid, _, _| Event::Fired {
            firing: id(uid),
            revision: Revision(1),
            kind: Kind::Scheduled,
        });
        tell(nominal, &|uid, index, n| {
            let lease = Lease {
                attempt: AttemptNumber(1),
                holder: Holder::Node(NodeId(1)),
                begun_at: nominal,
                until: nominal + Span::from_secs(30),
                fencing_token: FencingToken::of(index, n as usize),
            };
            Event::Begun { firing: id(uid), lease }
        });
        tell(nominal, &|uid, _, _| Event::Settled {
            firing: id(uid),
            attempt: AttemptNumber(1),
            report: Some(Report {
                verdict: Verdict::Succeeded,
                sent_at: nominal,
                status: Some(200),
                error: "".into(),
                output: "".into(),
            }),
            outcome: Outcome::End { state: EndState::Succeeded, lateness: Span::ZERO },
        });
    }
    let took = begun_at.elapsed().as_millis();
    let verdict = verifier.finish();
    assert!(verdict.is_clean(), "{:#?}", verdict.offenders);
    assert_eq!(verdict.counts.fired, seconds * SCHEDULES as u64);
    took
}

#[test]
fn a_firing_costs_as_much_in_a_long_ledger_as_in_a_short_one() {
    let firings = std::env::var("FIRINGS").ok().map_or(60_000, |text| text.parse::<u64>().unwrap());
    let seconds = firings / SCHEDULES as u64;
    let (short, long) = (judge(seconds / 5), judge(seconds));
    println!("{firings} firings of three rows each were judged in {long} ms; a fifth of them in {short} ms");
    assert!(long <= 5 * short * 3 + 1_000, "{long} ms is far more than five times {short} ms");
}
