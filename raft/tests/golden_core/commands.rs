//! A command of every kind.

use campanile_core::attempt::Holder;
use campanile_core::chain::ChainId;
use campanile_core::command::*;
use campanile_core::definition::Overlap;
use campanile_core::event::SkipReason;
use campanile_core::firing::{FiringId, Kind};
use campanile_core::format::FormatLevel;
use campanile_core::id::*;
use campanile_core::secret::SecretText;
use campanile_core::time::Span;

use super::values::{
    UID, at, calendar, decision, definition, end, firing, name, plain, plan, report, request, seen, settings,
};

pub(super) fn put(seen: Option<Seen>, before: Option<Decision>) -> PutSchedule {
    PutSchedule {
        name: name(),
        definition: definition(),
        condition: Condition::Unchanged(LogIndex(UID)),
        seen,
        before,
        since: at(1),
        next_at: Some(at(60)),
        rules_at: LogIndex(3),
        request: request(),
    }
}

fn delete() -> DeleteSchedule {
    DeleteSchedule {
        name: name(),
        condition: Condition::None,
        seen: seen(),
        before: Some(decision()),
        request: plain(),
    }
}

fn work() -> Work {
    let (firing, attempt, ttl) = (firing(), AttemptNumber(1), Span::from_secs(60));
    Work {
        settles: vec![SettleItem { firing, attempt, report: report() }],
        extends: vec![Extend { firing, attempt, ttl }],
        takes: vec![Take { queue: "told".into(), worker: "host/1".into(), most: 3, ttl, request: request() }],
        begins: vec![Begin {
            holder: Holder::Node(NodeId(2)),
            items: vec![BeginItem { firing, attempt, ttl }],
        }],
    }
}

pub(super) fn put_queue() -> PutQueue {
    PutQueue { name: "told".into(), settings: settings(), condition: Condition::None, request: plain() }
}

pub(super) fn put_secret(text: &str) -> PutSecret {
    PutSecret {
        name: "hook".into(),
        text: SecretText::new(text),
        keep_previous: Span::from_secs(600),
        condition: Condition::None,
        request: plain(),
    }
}

/// A command of every kind.
pub(crate) fn commands() -> Vec<Command> {
    let parked = Decision { park: Some("cannot".into()), ..decision() };
    let bodies = vec![
        Body::LeaderEpoch(LeaderEpoch {
            node: NodeId(2),
            incarnation: 3,
            term: Term(5),
            ledger: Some(end()),
            leaderless_since: Some(at(0)),
        }),
        Body::Tick(Tick {
            rules_at: LogIndex(3),
            on_time: vec![OnTime { uid: Uid(UID), revision: Revision(1), nominal: at(60), next_at: at(90) }],
            decisions: vec![decision(), parked],
            lease_ends: vec![(firing(), AttemptNumber(1))],
            pause_ends: vec![PauseEnd { uid: Uid(UID), until: at(40), decision: decision() }],
            overdue: vec![firing()],
            chains: vec![FireChain { id: ChainId { index: LogIndex(9), place: 1 }, nominal: Some(at(70)) }],
        }),
        Body::Work(work()),
        Body::PutSchedule(put(seen(), Some(decision()))),
        Body::DeleteSchedule(delete()),
        Body::PauseSchedule(PauseSchedule {
            name: name(),
            seen: seen(),
            before: Some(decision()),
            note: "n".into(),
            until: Some(at(40)),
            request: plain(),
        }),
        Body::ResumeSchedule(ResumeSchedule {
            name: name(),
            seen: seen(),
            decision: Some(decision()),
            request: plain(),
        }),
        Body::Trigger(Trigger {
            name: name(),
            seen: seen(),
            nominal: at(3),
            payload: Some("1".into()),
            overlap: Some(Overlap::Replace),
            request: plain(),
        }),
        Body::AdmitNode(AdmitNode {
            peer_address: "c:1".into(),
            api_address: "http://c".into(),
            request: plain(),
        }),
        Body::Apply(Apply { puts: vec![put(None, None)], prunes: vec![delete()], request: plain() }),
        Body::SetMark(SetMark {
            name: name(),
            seen: seen(),
            before: None,
            to: at(80),
            skip: Some(Skip { reason: SkipReason::Superseded, from: at(60), to: at(80), count: 2 }),
            next_at: Some(at(90)),
            request: plain(),
        }),
        Body::Rerun(Rerun {
            firing: FiringId { run: Run(1), ..firing() },
            kind: Kind::Rerun,
            refired: 2,
            payload: None,
            overlap: None,
            request: plain(),
        }),
        Body::CancelFiring(CancelFiring { firing: firing(), request: plain() }),
        Body::CreateBackfill(CreateBackfill {
            name: name(),
            seen: seen(),
            plan: plan(),
            instants: 6,
            request: plain(),
        }),
        Body::StepBackfill(StepBackfill {
            id: BackfillId(9),
            after: at(0),
            revision: Revision(1),
            rules_at: LogIndex(3),
            refired: 2,
            fire: vec![(at(10), Run(1))],
            passed: 3,
            to: at(20),
            done: false,
            failure: Some("cannot".into()),
        }),
        Body::CancelBackfill(CancelBackfill { id: BackfillId(9), request: plain() }),
        Body::PutCalendar(PutCalendar {
            name: "off".into(),
            calendar: calendar(),
            condition: Condition::Absent,
            request: plain(),
        }),
        Body::DeleteCalendar(DeleteCalendar {
            name: "off".into(),
            condition: Condition::None,
            request: plain(),
        }),
        Body::UseZones(UseZones { version: "2026b".into() }),
        Body::Refresh(Refresh {
            after: Some(Uid(UID)),
            rules_at: LogIndex(3),
            moved: vec![Moved { uid: Uid(UID), revision: Revision(1), after: at(1), next_at: None }],
            to: Some(Uid(6)),
        }),
        Body::PutQueue(put_queue()),
        Body::DeleteQueue(DeleteQueue {
            name: "told".into(),
            condition: Condition::Unchanged(LogIndex(7)),
            request: plain(),
        }),
        Body::PauseQueue(PauseQueue { name: "told".into(), note: "n".into(), request: plain() }),
        Body::ResumeQueue(ResumeQueue { name: "told".into(), request: plain() }),
        Body::PutSecret(put_secret("s3cret")),
        Body::DeleteSecret(DeleteSecret {
            name: "hook".into(),
            condition: Condition::None,
            request: plain(),
        }),
        Body::DiscardLetters(DiscardLetters { firings: vec![firing()], request: plain() }),
        Body::CheckLedger(end()),
        Body::Restate(Restate { after: Some(Some(Uid(UID))), most: 9 }),
        Body::DropLedger(DropLedger { before: LogIndex(6) }),
        Body::SetFormatLevel(FormatLevel(5)),
    ];
    bodies.into_iter().map(|body| Command { at: at(1), epoch: Epoch(2), body }).collect()
}
