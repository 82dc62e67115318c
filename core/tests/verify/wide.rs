//! Histories of a world that use what schedules can: calendars that change, bounds, spreads, every overlap and catch-up mode;
//! and now and then what stands is told again.

use std::sync::Arc;

use campanile_core::calendar::Calendar;
use campanile_core::command::{Body, Condition, PutCalendar, Request, Restate};
use campanile_core::definition::{
    AfterCompletion, CatchUp, CatchUpMode, Definition, Jitter, Overlap, Policy,
};
use campanile_core::spec::{Exclusion, Spec, Window};
use campanile_core::time::{Span, Timestamp};

use crate::world::{Dice, Want, Wish, history};

const CALENDARS: [&str; 2] = ["hours", "days"];
const OVERLAPS: [Overlap; 6] = [
    Overlap::Allow,
    Overlap::Skip,
    Overlap::QueueOne,
    Overlap::QueueAll,
    Overlap::Replace,
    Overlap::Terminate,
];

/// A history of the world in which the wishes are of more kinds.
pub fn wide(dice: &mut Dice) -> Vec<Wish> {
    let mut wishes = history(dice);
    let first = wishes[0].at;
    for (place, wish) in wishes.iter_mut().enumerate() {
        let at = wish.at;
        wish.want = match &wish.want {
            _ if place < CALENDARS.len() => put_calendar(CALENDARS[place], at, dice),
            Want::Put(definition) => Want::Put(widened(definition, at, dice)),
            Want::Queue(_) if dice.one_in(2) => put_calendar(CALENDARS[dice.below(2) as usize], at, dice),
            Want::Queue(_) if dice.one_in(4) => restate(),
            _ => continue,
        };
    }
    assert!(wishes.iter().all(|wish| wish.at >= first));
    wishes
}

fn restate() -> Want {
    Want::Queue(Box::new(Body::Restate(Restate { after: None, most: 1_000 })))
}

/// Closed for some stretches around now.
fn put_calendar(name: &str, at: Timestamp, dice: &mut Dice) -> Want {
    let mut spans = Vec::new();
    let mut edge = at.as_millis() / 1000 - 120;
    for _ in 0..dice.below(6) {
        let from = edge + 1 + dice.below(120) as i64;
        edge = from + 1 + dice.below(60) as i64;
        spans.push((Timestamp::from_millis(from * 1000), Timestamp::from_millis(edge * 1000)));
    }
    let calendar = Calendar { description: "".into(), time_zone: None, dates: Vec::new(), spans };
    Want::Queue(Box::new(Body::PutCalendar(PutCalendar {
        name: name.into(),
        calendar: Arc::new(calendar),
        condition: Condition::None,
        request: Request { by: "ann".into(), key: None },
    })))
}

fn widened(definition: &Arc<Definition>, at: Timestamp, dice: &mut Dice) -> Arc<Definition> {
    let mut wider = Definition::clone(definition);
    if dice.one_in(10) {
        let millis = dice.below(120_000) as i64 - 60_000;
        wider.specs = vec![Spec::At(Timestamp::from_millis(at.as_millis() + millis))];
    }
    if dice.one_in(2) {
        let name = CALENDARS[dice.below(2) as usize].into();
        wider.exclude = Box::new([Exclusion::Calendar { name, time_zone: None }]);
    }
    wider.max_firings = dice.one_in(5).then(|| 1 + dice.below(12));
    if dice.one_in(8) {
        wider.window =
            Window { start_at: Some(at + span(dice, 60_000)), end_at: Some(at + span(dice, 600_000)) };
    }
    wider.policy = Arc::new(policy(&definition.policy, dice));
    Arc::new(wider)
}

fn policy(policy: &Policy, dice: &mut Dice) -> Policy {
    let mode = [CatchUpMode::All, CatchUpMode::Latest, CatchUpMode::None][dice.below(3) as usize];
    let window = dice.one_in(2).then(|| span(dice, 120_000));
    let after_completion = if dice.one_in(2) { AfterCompletion::Delete } else { AfterCompletion::Keep };
    let jitter = match dice.below(4) {
        0 => Jitter::Auto,
        1 => Jitter::Fixed(span(dice, 10_000)),
        _ => Jitter::default(),
    };
    Policy {
        overlap: OVERLAPS[dice.below(6) as usize],
        queue_limit: 1 + dice.below(4) as u32,
        catch_up: CatchUp { mode, window },
        pause_after_failures: dice.one_in(3).then(|| 1 + dice.below(3) as u32),
        after_completion,
        jitter,
        ..policy.clone()
    }
}

fn span(dice: &mut Dice, most: u64) -> Span {
    Span::from_millis(1_000 + dice.below(most))
}
