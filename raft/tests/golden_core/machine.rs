//! A machine that has lived through the commands.

use campanile_core::attempt::{Holder, Report, Verdict};
use campanile_core::command::*;
use campanile_core::firing::FiringId;
use campanile_core::id::*;
use campanile_core::machine::Machine;
use campanile_core::reply::Reply;
use campanile_core::time::{Span, Timestamp};

use super::commands::{put, put_queue, put_secret};
use super::values::{UID, at, calendar, end, name, plain, report};

/// A machine with a schedule, a firing that waits, one that came to nothing and is still to be told, its dead letter, a
/// calendar, a queue that is paused, a secret that was replaced, zones and a remembered answer.
pub(crate) fn machine() -> Machine {
    let mut machine = Machine::default();
    let take = Body::LeaderEpoch(LeaderEpoch {
        node: NodeId(2),
        incarnation: 3,
        term: Term(5),
        ledger: None,
        leaderless_since: None,
    });
    machine.apply(LogIndex(1), &Command { at: at(0), epoch: Epoch(0), body: take });
    let put_calendar = Body::PutCalendar(PutCalendar {
        name: "off".into(),
        calendar: calendar(),
        condition: Condition::Absent,
        request: plain(),
    });
    let create = PutSchedule { condition: Condition::None, rules_at: LogIndex(0), ..put(None, None) };
    let failed = FiringId { uid: Uid(UID), nominal: at(10), run: Run(0) };
    let item = BeginItem { firing: failed, attempt: AttemptNumber(1), ttl: Span::from_secs(60) };
    let refused = Report { verdict: Verdict::Refused, ..report() };
    let bodies = [
        put_calendar,
        Body::UseZones(UseZones { version: "2026b".into() }),
        Body::PutSecret(put_secret("one")),
        Body::PutSchedule(create),
        Body::PutSecret(put_secret("two")),
        Body::PutQueue(put_queue()),
        Body::PauseQueue(PauseQueue { name: "told".into(), note: "n".into(), request: plain() }),
        trigger(failed.nominal),
        Body::Work(Work::begin(Holder::Node(NodeId(2)), vec![item])),
        Body::Work(Work::settle(vec![SettleItem {
            firing: failed,
            attempt: AttemptNumber(1),
            report: refused,
        }])),
        trigger(at(13)),
        Body::CheckLedger(end()),
        Body::Restate(Restate { after: None, most: 9 }),
    ];
    for (place, body) in bodies.into_iter().enumerate() {
        let (index, at) = (2 + place as u64, at(3 + place as i64));
        let (reply, _) = machine.apply(LogIndex(index), &Command { at, epoch: Epoch(1), body });
        assert!(!matches!(reply, Reply::Rejected(_)), "{reply:?}");
    }
    assert_eq!(
        (machine.letters().len(), machine.chains().count(), machine.live_of(Uid(UID)).count()),
        (1, 1, 1)
    );
    machine
}

fn trigger(nominal: Timestamp) -> Body {
    let seen = Some(Seen { uid: Uid(UID), updated_index: LogIndex(UID) });
    Body::Trigger(Trigger {
        name: name(),
        seen,
        nominal,
        payload: Some("1".into()),
        overlap: None,
        request: plain(),
    })
}
