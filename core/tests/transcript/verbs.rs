//! What a script can propose.

use std::sync::Arc;

use campanile_core::attempt::{Holder, Report, Verdict};
use campanile_core::command::{
    AdmitNode, BeginItem, Body, Condition, DropLedger, Request, RequestKey, Restate, SettleItem, Work,
};
use campanile_core::cron::{DayMatch, DstGap, DstOverlap};
use campanile_core::definition::{
    About, AfterCompletion, CatchUp, CatchUpMode, Definition, Delivery, Jitter, Overlap, Policy, RetryPolicy,
};
use campanile_core::firing::FiringId;
use campanile_core::format::FormatLevel;
use campanile_core::id::{AttemptNumber, LogIndex, NodeId, Run};
use campanile_core::plan::{PauseUntil, ResumeFrom, Wanted};
use campanile_core::query;
use campanile_core::spec::{CronSpec, Exclusion, Spec, Window};
use campanile_core::time::{Span, Timestamp};

use super::{Stage, Words, again, instant, orders, queues};

/// Plans what the line asks for, at the stage's time.
pub fn plan(stage: &mut Stage, words: &Words) -> Option<Body> {
    let at = stage.now();
    match words.verb() {
        "tick" => stage.planner.tick(&stage.machine, at).map(Body::Tick),
        "put" => {
            let definition = Arc::new(definition(words));
            Some(
                stage
                    .planner
                    .put(&stage.machine, at, wanted(words), definition)
                    .expect("a spec that can be evaluated"),
            )
        }
        "delete" => Some(stage.planner.delete(&stage.machine, at, wanted(words))),
        "pause" => {
            let until = PauseUntil {
                note: words.value("note").unwrap_or("").into(),
                until: words.value("until").map(instant),
            };
            Some(stage.planner.pause(&stage.machine, at, wanted(words), until))
        }
        "resume" => {
            let from = if words.flag("catch-up") { ResumeFrom::Mark } else { ResumeFrom::Now };
            Some(stage.planner.resume(&stage.machine, at, wanted(words), from))
        }
        "trigger" => {
            let payload = words.value("payload").map(Into::into);
            stage.planner.trigger(
                &stage.machine,
                at,
                wanted(words),
                payload,
                words.value("overlap").map(overlap),
            )
        }
        "begin" => Some(begin(stage, words)),
        "settle" => Some(settle(stage, words)),
        "admit" => Some(Body::AdmitNode(AdmitNode {
            peer_address: words.word(1).into(),
            api_address: "".into(),
            request: request(words),
        })),
        "backfill" | "step" | "cancel-backfill" | "mark" | "rerun" | "trigger-at" => {
            let planned = again::plan(stage, words)?;
            planned.map_err(|refusal| stage.refusal = Some(again::refused(&refusal))).ok()
        }
        "restate" => Some(Body::Restate(Restate {
            after: stage.machine.keeping().restating.map(|under_way| under_way.after),
            most: words.number("most").unwrap_or(100) as u32,
        })),
        "drop-before" => {
            let before = LogIndex(words.word(1).parse().expect("an index"));
            Some(Body::DropLedger(DropLedger { before }))
        }
        "format-level" => {
            let level = words.word(1).parse().expect("a level");
            Some(Body::SetFormatLevel(FormatLevel(level)))
        }
        _ => queues::plan(stage, words).or_else(|| orders::plan(stage, words)),
    }
}

pub fn wanted(words: &Words) -> Wanted {
    Wanted { name: words.name(1), condition: condition(words), request: request(words) }
}

pub fn condition(words: &Words) -> Condition {
    match (words.flag("if-absent"), words.number("if-match")) {
        (true, _) => Condition::Absent,
        (_, Some(index)) => Condition::Unchanged(LogIndex(index)),
        _ => Condition::None,
    }
}

pub fn request(words: &Words) -> Request {
    let key = words.value("key").map(|text| RequestKey {
        text: text.into(),
        fingerprint: [words.number("body").unwrap_or(0) as u8; 16],
        keep: words.value("keep").map_or(Span::from_secs(86_400), span),
    });
    Request { by: "ann".into(), key }
}

pub fn definition(words: &Words) -> Definition {
    Definition {
        exclude: exclude(words),
        payload: "".into(),
        about: About::default(),
        window: Window {
            start_at: words.value("start").map(instant),
            end_at: words.value("end").map(instant),
        },
        max_firings: words.number("max-firings"),
        concurrency_key: words.value("lane").map(Into::into),
        policy: Arc::new(policy(words)),
        on_failure: queues::action(words, "failure"),
        on_success: queues::action(words, "success"),
        ..Definition::new(specs(words), queues::target(words))
    }
}

/// `exclude=NAME`: a calendar.
fn exclude(words: &Words) -> Box<[Exclusion]> {
    let calendar = |name: &str| Exclusion::Calendar { name: name.into(), time_zone: None };
    words.value("exclude").map(calendar).into_iter().collect()
}

fn specs(words: &Words) -> Vec<Spec> {
    let cron = words.value("cron").map(|text| {
        Spec::Cron(Box::new(CronSpec {
            text: text.into(),
            time_zone: words.value("zone").unwrap_or("UTC").into(),
            day_match: DayMatch::Any,
            dst_gap: DstGap::RunAfter,
            dst_overlap: DstOverlap::First,
        }))
    });
    let every = words.value("every").map(|every| Spec::Every {
        every: span(every),
        anchor: words.value("anchor").map_or(Timestamp::EPOCH, instant),
    });
    let at = words.value("at").map(|at| Spec::At(instant(at)));
    [cron, every, at].into_iter().flatten().collect()
}

fn policy(words: &Words) -> Policy {
    let mode = match words.value("catch-up").unwrap_or("all") {
        "all" => CatchUpMode::All,
        "latest" => CatchUpMode::Latest,
        "none" => CatchUpMode::None,
        other => panic!("no catch-up mode {other}"),
    };
    let window = match words.value("window") {
        Some("unlimited") => None,
        text => Some(text.map_or(Span::from_secs(60), span)),
    };
    Policy {
        overlap: words.value("overlap").map_or(Overlap::Allow, overlap),
        queue_limit: words.number("queue-limit").unwrap_or(1_000) as u32,
        jitter: match words.value("jitter") {
            Some("auto") => Jitter::Auto,
            text => Jitter::Fixed(text.map_or(Span::ZERO, span)),
        },
        after_completion: if words.flag("delete-when-done") {
            AfterCompletion::Delete
        } else {
            AfterCompletion::Keep
        },
        catch_up: CatchUp { mode, window },
        delivery: if words.flag("at-most-once") { Delivery::AtMostOnce } else { Delivery::AtLeastOnce },
        retry: RetryPolicy {
            max_attempts: words.number("attempts").unwrap_or(5) as u32,
            until_next: words.flag("until-next"),
            ..RetryPolicy::default()
        },
        pause_after_failures: words.number("pause-after").map(|n| n as u32),
        deadline: words.value("deadline").map(span),
    }
}

pub fn overlap(text: &str) -> Overlap {
    use Overlap::{Allow, QueueAll, QueueOne, Replace, Skip, Terminate};
    let modes = [Allow, Skip, QueueOne, QueueAll, Replace, Terminate];
    modes.into_iter().find(|mode| mode.as_str() == text).unwrap_or_else(|| panic!("no overlap policy {text}"))
}

/// Begins everything that may begin now, or the one firing that the line names.
fn begin(stage: &Stage, words: &Words) -> Body {
    let at = stage.now();
    let ttl = words.value("lease").map_or(Span::from_secs(40), span);
    let items = if words.value("nominal").is_some() {
        let firing = firing(stage, words);
        vec![BeginItem { firing, attempt: attempt(words), ttl }]
    } else {
        query::work_now(&stage.machine, at)
            .into_iter()
            .map(|firing| BeginItem { firing: firing.id, attempt: AttemptNumber(firing.attempt.0 + 1), ttl })
            .collect()
    };
    let holder = NodeId(words.number("holder").unwrap_or(stage.leader.node.0));
    Body::Work(Work::begin(Holder::Node(holder), items))
}

/// `settle NAME nominal=… [attempt=…] ok|retry|timeout|refused|gone|not-sent|stopped|broken`.
fn settle(stage: &Stage, words: &Words) -> Body {
    let verdicts = [
        ("ok", Verdict::Succeeded),
        ("retry", Verdict::Retry { not_before: words.value("not-before").map(instant) }),
        ("timeout", Verdict::TimedOut),
        ("refused", Verdict::Refused),
        ("gone", Verdict::Gone),
        ("not-sent", Verdict::NotSent),
        ("stopped", Verdict::Stopped),
        ("broken", Verdict::Broken),
    ];
    let (_, verdict) = *verdicts.iter().find(|(word, _)| words.flag(word)).expect("a verdict");
    let report = Report {
        verdict,
        sent_at: stage.now(),
        status: words.number("status").map(|status| status as u16),
        error: words.value("error").unwrap_or("").into(),
        output: "".into(),
    };
    let firing = firing(stage, words);
    Body::Work(Work::settle(vec![SettleItem { firing, attempt: attempt(words), report }]))
}

pub fn attempt(words: &Words) -> AttemptNumber {
    AttemptNumber(words.number("attempt").unwrap_or(1) as u32)
}

/// The firing of a named schedule, or of a uid when the schedule is gone.
pub fn firing(stage: &Stage, words: &Words) -> FiringId {
    let uid = match words.number("uid") {
        Some(uid) => campanile_core::id::Uid(uid),
        None => stage.machine.named(&words.name(1)).expect("a schedule of that name").uid,
    };
    let nominal = instant(words.value("nominal").expect("nominal="));
    FiringId { uid, nominal, run: Run(words.number("run").unwrap_or(0) as u32) }
}

pub fn span(text: &str) -> Span {
    text.parse().unwrap_or_else(|_| panic!("{text} is no span"))
}
