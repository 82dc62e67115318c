//! A fact of every kind.

use campanile_core::attempt::{Holder, Lease};
use campanile_core::backfill::BackfillState;
use campanile_core::event::{DropReason, Event, Outcome, Row, SkipReason};
use campanile_core::firing::{EndState, Kind};
use campanile_core::format::FormatLevel;
use campanile_core::id::*;
use campanile_core::schedule::State;
use campanile_core::time::Span;

use super::values::{UID, at, calendar, definition, end, firing, lease, name, plan, report, settings};

/// A fact of every kind.
pub(crate) fn rows() -> Vec<Row> {
    let (uid, id) = (Uid(UID), BackfillId(9));
    let events = vec![
        Event::LeaderEpoch {
            epoch: Epoch(2),
            node: NodeId(2),
            incarnation: 3,
            term: Term(5),
            ledger: Some(end()),
        },
        Event::Fired { firing: firing(), revision: Revision(1), kind: Kind::Backfill(id) },
        Event::Fired { firing: firing(), revision: Revision(1), kind: Kind::Chained(firing()) },
        Event::Fired { firing: firing(), revision: Revision(1), kind: Kind::Notice(firing()) },
        Event::Skipped {
            uid,
            revision: Revision(1),
            reason: SkipReason::Limit,
            from: at(1),
            to: at(9),
            count: 3,
        },
        Event::Begun { firing: firing(), lease: lease() },
        Event::Begun {
            firing: firing(),
            lease: Lease { holder: Holder::Worker("host/1".into()), ..lease() },
        },
        Event::Settled {
            firing: firing(),
            attempt: AttemptNumber(1),
            report: Some(report()),
            outcome: Outcome::Retry { at: at(70) },
        },
        Event::Settled {
            firing: firing(),
            attempt: AttemptNumber(2),
            report: None,
            outcome: Outcome::End { state: EndState::Unknown, lateness: Span::from_millis(5) },
        },
        Event::Defined {
            uid,
            name: name(),
            revision: Revision(1),
            definition: definition(),
            mark: at(2),
            by: "ann".into(),
        },
        Event::Deleted { uid, by: "ann".into() },
        Event::Paused { uid, note: "n".into(), until: Some(at(40)), by: "ann".into() },
        Event::Resumed { uid, mark: at(40), by: "ann".into() },
        Event::Parked { uid, reason: "cannot".into() },
        Event::Finished { uid },
        Event::NodeAdmitted { node: NodeId(1000), peer_address: "c:1".into() },
        Event::MarkSet { uid, to: at(80), by: "ann".into() },
        Event::StopAsked { firing: firing() },
        Event::Cancelled { firing: firing(), by: "ann".into() },
        Event::BackfillCreated { id, uid, plan: plan(), instants: 6, by: "ann".into() },
        Event::BackfillEnded { id, state: BackfillState::Failed("cannot".into()), fired: 2 },
        Event::CalendarPut { name: "off".into(), calendar: calendar(), by: "ann".into() },
        Event::CalendarDeleted { name: "off".into(), by: "ann".into() },
        Event::ZonesUsed { version: "2026b".into() },
        Event::NextMoved { uid, from: Some(at(60)), to: None },
        Event::QueuePut { name: "told".into(), settings: settings(), by: "ann".into() },
        Event::QueueDeleted { name: "told".into(), by: "ann".into() },
        Event::QueuePaused { name: "told".into(), note: "n".into(), by: "ann".into() },
        Event::QueueResumed { name: "told".into(), by: "ann".into() },
        Event::SecretPut { name: "hook".into(), previous_until: Some(at(600)), by: "ann".into() },
        Event::SecretDeleted { name: "hook".into(), by: "ann".into() },
        Event::ChainDropped { cause: firing(), to: Some(name()), reason: DropReason::Parked },
        Event::LetterDiscarded { firing: firing(), by: "ann".into() },
        Event::Outage { from: at(1), to: at(4) },
        Event::LedgerChecked { end: end() },
        Event::Restating { epoch: Epoch(2), zones: "2026b".into() },
        Event::Standing {
            uid,
            name: name(),
            revision: Revision(1),
            definition: definition(),
            mark: at(2),
            state: State::Paused { note: "n".into(), until: None },
            fired: 7,
            by: "ann".into(),
        },
        Event::CalendarStanding {
            name: "off".into(),
            calendar: calendar(),
            before: vec![(calendar(), at(3))],
        },
        Event::Restated { from: LogIndex(6) },
        Event::MembersChanged { voters: vec![NodeId(1), NodeId(2)], learners: vec![NodeId(1000)] },
        Event::LedgerDropped { before: LogIndex(6) },
        Event::FormatLevelSet { from: FormatLevel(4), level: FormatLevel(5) },
    ];
    events.into_iter().map(|event| Row { at: at(1), event }).collect()
}
