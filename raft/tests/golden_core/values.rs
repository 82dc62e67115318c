//! One value of every kind that stands in the log or the ledger, and a machine that has lived through the commands.

use std::collections::BTreeMap;
use std::sync::Arc;

use campanile_core::attempt::{Report, Verdict};
use campanile_core::backfill::BackfillPlan;
use campanile_core::calendar::Calendar;
use campanile_core::command::*;
use campanile_core::cron::{DayMatch, DstGap, DstOverlap};
use campanile_core::definition::*;
use campanile_core::event::SkipReason;
use campanile_core::firing::{FiringId, Kind};
use campanile_core::id::*;
use campanile_core::machine::Machine;
use campanile_core::spec::{CronSpec, Exclusion, RuleSpec, Spec, Window};
use campanile_core::time::{Span, Timestamp};

const T: i64 = 1_798_761_600_000;

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(T + seconds * 1000)
}

pub(super) fn name() -> ScheduleName {
    ScheduleName::parse("a/b").unwrap()
}

pub(super) fn firing() -> FiringId {
    FiringId { uid: Uid(4), nominal: at(60), run: Run(0) }
}

fn seen() -> Option<Seen> {
    Some(Seen { uid: Uid(4), updated_index: LogIndex(4) })
}

fn request() -> Request {
    let key = RequestKey { text: "c:k".into(), fingerprint: [7; 16], keep: Span::from_secs(60) };
    Request { by: "ann".into(), key: Some(key) }
}

fn plain() -> Request {
    Request { by: "ann".into(), key: None }
}

fn cron(text: &str) -> CronSpec {
    CronSpec {
        text: text.into(),
        time_zone: "Europe/Berlin".into(),
        day_match: DayMatch::All,
        dst_gap: DstGap::Skip,
        dst_overlap: DstOverlap::Both,
    }
}

pub(super) fn calendar() -> Arc<Calendar> {
    Arc::new(Calendar {
        description: "days off".into(),
        time_zone: Some("Europe/Berlin".into()),
        dates: vec![20_812],
        spans: vec![(at(0), at(30))],
    })
}

/// Every field of a definition with another value than its default.
pub(super) fn definition() -> Arc<Definition> {
    Arc::new(Definition {
        specs: vec![
            Spec::Cron(Box::new(cron("30 2 * * *"))),
            Spec::Every { every: Span::from_secs(60), anchor: at(0) },
            Spec::At(at(90)),
            Spec::Rule(Box::new(RuleSpec {
                rule: "FREQ=DAILY".into(),
                start: "2027-01-01T09:00:00".into(),
                time_zone: "UTC".into(),
                dst_gap: DstGap::RunAfter,
                dst_overlap: DstOverlap::Second,
            })),
        ],
        exclude: [
            Exclusion::Cron(Box::new(cron("* * 25 12 *"))),
            Exclusion::Dates { dates: [20_812].into(), time_zone: Some("UTC".into()) },
            Exclusion::Calendar { name: "off".into(), time_zone: None },
        ]
        .into(),
        target: Target::Webhook(Box::new(Webhook {
            url: "https://jobs.example/run".into(),
            method: "PUT".into(),
            headers: BTreeMap::from([("x-env".into(), "prod".into())]),
            timeout: Span::from_secs(5),
        })),
        payload: "{\"a\":1}".into(),
        about: About {
            display_name: "B".into(),
            description: "b".into(),
            labels: BTreeMap::from([("team".into(), "x".into())]),
        },
        window: Window { start_at: Some(at(0)), end_at: Some(at(1_000)) },
        max_firings: Some(9),
        concurrency_key: Some("db".into()),
        policy: Arc::new(Policy {
            overlap: Overlap::QueueAll,
            queue_limit: 7,
            jitter: Jitter::Fixed(Span::from_secs(2)),
            after_completion: AfterCompletion::Delete,
            catch_up: CatchUp { mode: CatchUpMode::Latest, window: None },
            delivery: Delivery::AtMostOnce,
            retry: RetryPolicy {
                max_attempts: 3,
                initial: Span::from_secs(2),
                max: Span::from_secs(8),
                factor: 3,
                until_next: true,
            },
            pause_after_failures: Some(2),
        }),
    })
}

fn decision() -> Decision {
    Decision {
        uid: Uid(4),
        revision: Revision(1),
        after: at(1),
        rules_at: LogIndex(3),
        skips: vec![Skip { reason: SkipReason::TooLate, from: at(10), to: at(20), count: 2 }],
        fire: vec![Fire { nominal: at(60), kind: Kind::CatchUp, delay: Span::from_millis(7) }],
        mark: at(60),
        next_at: Some(at(90)),
        park: None,
    }
}

pub(super) fn plan() -> BackfillPlan {
    BackfillPlan {
        after: at(0),
        until: at(60),
        again: true,
        overlap: Overlap::Skip,
        pace: Span::from_secs(1),
        max_live: 3,
    }
}

pub(super) fn report() -> Report {
    Report {
        verdict: Verdict::Retry { not_before: Some(at(70)) },
        sent_at: at(61),
        status: Some(503),
        error: "busy".into(),
        output: "out".into(),
    }
}

fn put(seen: Option<Seen>, before: Option<Decision>) -> PutSchedule {
    PutSchedule {
        name: name(),
        definition: definition(),
        condition: Condition::Unchanged(LogIndex(4)),
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

/// A command of every kind.
pub(crate) fn commands() -> Vec<Command> {
    let parked = Decision { park: Some("cannot".into()), ..decision() };
    let bodies = vec![
        Body::LeaderEpoch(LeaderEpoch { node: NodeId(2), incarnation: 3, term: Term(5) }),
        Body::Tick(Tick {
            rules_at: LogIndex(3),
            on_time: vec![OnTime { uid: Uid(4), revision: Revision(1), nominal: at(60), next_at: at(90) }],
            decisions: vec![decision(), parked],
            lease_ends: vec![(firing(), AttemptNumber(1))],
            pause_ends: vec![PauseEnd { uid: Uid(4), until: at(40), decision: decision() }],
        }),
        Body::Begin(Begin {
            holder: NodeId(2),
            items: vec![BeginItem { firing: firing(), attempt: AttemptNumber(1), until: at(100) }],
        }),
        Body::Settle(Settle {
            items: vec![SettleItem { firing: firing(), attempt: AttemptNumber(1), report: report() }],
        }),
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
            after: Some(Uid(4)),
            rules_at: LogIndex(3),
            moved: vec![Moved { uid: Uid(4), revision: Revision(1), after: at(1), next_at: None }],
            to: Some(Uid(5)),
        }),
    ];
    bodies.into_iter().map(|body| Command { at: at(1), epoch: Epoch(2), body }).collect()
}

/// A machine with a schedule, a live firing, a calendar, zones and a remembered answer.
pub(crate) fn machine() -> Machine {
    let mut machine = Machine::default();
    let take = Body::LeaderEpoch(LeaderEpoch { node: NodeId(2), incarnation: 3, term: Term(5) });
    machine.apply(LogIndex(1), &Command { at: at(0), epoch: Epoch(0), body: take });
    let put_calendar = Body::PutCalendar(PutCalendar {
        name: "off".into(),
        calendar: calendar(),
        condition: Condition::Absent,
        request: plain(),
    });
    let create = PutSchedule { condition: Condition::None, rules_at: LogIndex(0), ..put(None, None) };
    let trigger = Trigger {
        name: name(),
        seen: seen(),
        nominal: at(3),
        payload: Some("1".into()),
        overlap: None,
        request: plain(),
    };
    let bodies = [
        put_calendar,
        Body::UseZones(UseZones { version: "2026b".into() }),
        Body::PutSchedule(create),
        Body::Trigger(trigger),
    ];
    for (place, body) in bodies.into_iter().enumerate() {
        let index = 2 + place as u64;
        let (reply, _) = machine.apply(LogIndex(index), &Command { at: at(3), epoch: Epoch(1), body });
        assert!(!matches!(reply, campanile_core::reply::Reply::Rejected(_)), "{reply:?}");
    }
    machine
}
