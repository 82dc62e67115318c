//! What commands and facts are made of, each with another value than its default.

use std::collections::BTreeMap;
use std::sync::Arc;

use campanile_core::attempt::{Holder, Lease, Report, Verdict};
use campanile_core::backfill::BackfillPlan;
use campanile_core::calendar::Calendar;
use campanile_core::command::*;
use campanile_core::cron::{DayMatch, DstGap, DstOverlap};
use campanile_core::definition::*;
use campanile_core::event::{LedgerEnd, SkipReason};
use campanile_core::firing::{FiringId, Kind};
use campanile_core::id::*;
use campanile_core::queue::{QueueSettings, Rate};
use campanile_core::spec::{CronSpec, Exclusion, RuleSpec, Spec, Window};
use campanile_core::time::{Span, Timestamp};

const T: i64 = 1_798_761_600_000;

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(T + seconds * 1000)
}

pub(super) fn name() -> ScheduleName {
    ScheduleName::parse("a/b").unwrap()
}

/// Of the schedule that [`super::machine`] creates.
pub(super) const UID: u64 = 5;

pub(super) fn firing() -> FiringId {
    FiringId { uid: Uid(UID), nominal: at(60), run: Run(0) }
}

pub(super) fn seen() -> Option<Seen> {
    Some(Seen { uid: Uid(UID), updated_index: LogIndex(UID) })
}

pub(super) fn request() -> Request {
    let key = RequestKey { text: "c:k".into(), fingerprint: [7; 16], keep: Span::from_secs(60) };
    Request { by: "ann".into(), key: Some(key) }
}

pub(super) fn plain() -> Request {
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
            secret: Some("hook".into()),
            cloud_events: true,
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
            deadline: Some(Span::from_secs(900)),
        }),
        on_failure: Some(Box::new(Action::Notify(Target::Queue(QueueTarget {
            queue: "told".into(),
            priority: -3,
        })))),
        on_success: Some(Box::new(Action::Trigger(ScheduleName::parse("a/next").unwrap()))),
    })
}

pub(super) fn decision() -> Decision {
    Decision {
        uid: Uid(UID),
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

pub(super) fn lease() -> Lease {
    Lease {
        attempt: AttemptNumber(1),
        holder: Holder::Node(NodeId(2)),
        begun_at: at(60),
        until: at(100),
        fencing_token: FencingToken::of(LogIndex(7), 1),
    }
}

pub(super) fn settings() -> QueueSettings {
    let rate = Some(Rate { count: 5, per: Span::from_secs(60) });
    QueueSettings { max_in_flight: Some(9), max_in_flight_per_key: 2, rate }
}

/// The end of a ledger.
pub(crate) fn end() -> LedgerEnd {
    LedgerEnd { index: LogIndex(6), n: 2, hash: *b"0123456789abcdef" }
}
