//! What users want in a world: schedules and queues of many kinds, over a change of daylight saving.

use std::sync::Arc;

use campanile_core::command::{Body, Condition, PauseQueue, PutQueue, Request, ResumeQueue};
use campanile_core::cron::{DayMatch, DstGap, DstOverlap};
use campanile_core::definition::{
    Action, CatchUp, Definition, Delivery, Overlap, Policy, QueueTarget, RetryPolicy, ScheduleName, Target,
    Webhook,
};
use campanile_core::queue::{QueueSettings, Rate};
use campanile_core::spec::{CronSpec, Spec};
use campanile_core::time::{Span, Timestamp};

use super::Dice;
use super::again::Again;

/// The queues of the world.
pub const QUEUES: [&str; 2] = ["q", "p"];

/// What a user wants at an instant.
pub struct Wish {
    pub at: Timestamp,
    pub name: ScheduleName,
    pub want: Want,
}

pub enum Want {
    Put(Arc<Definition>),
    Delete,
    Pause { until: Option<Timestamp> },
    Resume,
    Again(Again),
    Queue(Box<Body>),
}

/// Half an hour over a change of daylight saving in Berlin, a few schedules and queues, sixty wishes.
pub fn history(dice: &mut Dice) -> Vec<Wish> {
    let start = 1_774_745_400_000; // 2026-03-29T00:50:00Z, ten minutes before the gap
    let mut at = start;
    let mut wishes = Vec::new();
    for _ in 0..60 {
        at += dice.below(60_000) as i64;
        let want = match dice.below(18) {
            0 => Want::Delete,
            1 => Want::Pause { until: dice.one_in(2).then(|| Timestamp::from_millis(at + 45_000)) },
            2 | 3 => Want::Resume,
            4..=7 => Want::Again(Again::by(dice)),
            8..=10 => Want::Queue(Box::new(queue(dice))),
            _ => Want::Put(definition(dice)),
        };
        wishes.push(Wish { at: Timestamp::from_millis(at), name: name(dice), want });
    }
    wishes
}

fn name(dice: &mut Dice) -> ScheduleName {
    ScheduleName::parse(&format!("job-{}", dice.below(5))).unwrap()
}

fn queue(dice: &mut Dice) -> Body {
    let request = Request { by: "ann".into(), key: None };
    let name = Arc::from(QUEUES[dice.below(2) as usize]);
    match dice.below(5) {
        0 => Body::PauseQueue(PauseQueue { name, note: "".into(), request }),
        1 => Body::ResumeQueue(ResumeQueue { name, request }),
        _ => {
            let rate = Rate { count: 1 + dice.below(20) as u32, per: Span::from_secs(1 + dice.below(10)) };
            let settings = QueueSettings {
                max_in_flight: dice.one_in(2).then(|| 1 + dice.below(4) as u32),
                max_in_flight_per_key: 1 + dice.below(3) as u32,
                rate: dice.one_in(2).then_some(rate),
            };
            Body::PutQueue(PutQueue { name, settings, condition: Condition::None, request })
        }
    }
}

fn definition(dice: &mut Dice) -> Arc<Definition> {
    let every = |secs| Spec::Every { every: Span::from_secs(secs), anchor: Timestamp::EPOCH };
    let specs = match dice.below(4) {
        0 => vec![every(1 + dice.below(20))],
        1 => vec![cron("*/7 * * * * *")],
        2 => vec![cron("*/1 2,3 * * *")],
        _ => vec![every(13), cron("30 * * * * *")],
    };
    let in_queue = dice.one_in(2);
    // What stands in a queue is given up some time, so that a paused one does not grow for the rest of the life.
    let deadline = (in_queue || dice.one_in(4)).then(|| Span::from_secs(1 + dice.below(20)));
    Arc::new(Definition {
        policy: Arc::new(Policy {
            overlap: if dice.one_in(3) { Overlap::Skip } else { Overlap::Allow },
            catch_up: CatchUp::default(),
            delivery: if dice.one_in(4) { Delivery::AtMostOnce } else { Delivery::AtLeastOnce },
            retry: RetryPolicy { max_attempts: 1 + dice.below(3) as u32, ..RetryPolicy::default() },
            deadline,
            ..Policy::default()
        }),
        concurrency_key: dice.one_in(4).then(|| if dice.one_in(2) { "x" } else { "y" }.into()),
        on_failure: action(dice),
        on_success: action(dice),
        ..Definition::new(specs, target(dice, in_queue))
    })
}

fn target(dice: &mut Dice, in_queue: bool) -> Target {
    if in_queue {
        let queue = QUEUES[dice.below(2) as usize].into();
        return Target::Queue(QueueTarget { queue, priority: dice.below(3) as i8 - 1 });
    }
    Target::Webhook(Box::new(Webhook { timeout: Span::from_secs(1), ..Webhook::new("http://receiver") }))
}

/// What follows; a circle is refused in every world alike.
fn action(dice: &mut Dice) -> Option<Box<Action>> {
    match dice.below(8) {
        0 => Some(Box::new(Action::Trigger(name(dice)))),
        1 => {
            let in_queue = dice.one_in(2);
            Some(Box::new(Action::Notify(target(dice, in_queue))))
        }
        _ => None,
    }
}

fn cron(text: &str) -> Spec {
    Spec::Cron(Box::new(CronSpec {
        text: text.into(),
        time_zone: "Europe/Berlin".into(),
        day_match: DayMatch::Any,
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    }))
}
