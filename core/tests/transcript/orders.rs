//! What a script can propose beside the everyday: sets, calendars, cancelling, and what a planner would not propose.

use std::sync::Arc;

use campanile_core::calendar::Calendar;
use campanile_core::command::{
    Apply, Body, CancelFiring, Decision, DeleteCalendar, DeleteSchedule, PutCalendar, PutSchedule, Tick,
    UseZones,
};
use campanile_core::time::Timestamp;

use super::verbs::{self, condition, definition, firing, request};
use super::{Stage, Words, instant};

/// Plans what the line asks for; none when there is nothing to propose.
pub fn plan(stage: &mut Stage, words: &Words) -> Option<Body> {
    Some(match words.verb() {
        "set" => set(stage, words),
        "calendar" => Body::PutCalendar(PutCalendar {
            name: words.word(1).into(),
            calendar: Arc::new(calendar(words)),
            condition: condition(words),
            request: request(words),
        }),
        "delete-calendar" => Body::DeleteCalendar(DeleteCalendar {
            name: words.word(1).into(),
            condition: condition(words),
            request: request(words),
        }),
        "cancel" => {
            Body::CancelFiring(CancelFiring { firing: firing(stage, words), request: request(words) })
        }
        "zones" => Body::UseZones(UseZones { version: words.word(1).into() }),
        "refresh" => stage.planner.refresh(&stage.machine)?,
        "park" => park(stage, words),
        "smuggle" => smuggle(stage, words),
        verb => panic!("no verb {verb}"),
    })
}

/// `set put a every=10s ; put b every=20s ; delete c`: one entry, in this order of puts and prunes.
fn set(stage: &mut Stage, words: &Words) -> Body {
    let (mut puts, mut prunes) = (Vec::new(), Vec::new());
    for part in words.0[1..].split(|word| word == ";") {
        match verbs::plan(stage, &Words(part.to_vec())) {
            Some(Body::PutSchedule(put)) => puts.push(put),
            Some(Body::DeleteSchedule(prune)) => prunes.push(prune),
            _ => panic!("a set has puts and deletes: {part:?}"),
        }
    }
    forget_requests(&mut puts, &mut prunes);
    Body::Apply(Apply { puts, prunes, request: request(words) })
}

/// Only the set as a whole has a key.
fn forget_requests(puts: &mut [PutSchedule], prunes: &mut [DeleteSchedule]) {
    let requests = puts.iter_mut().map(|put| &mut put.request);
    requests.chain(prunes.iter_mut().map(|prune| &mut prune.request)).for_each(|request| request.key = None);
}

/// `calendar NAME dates=2026-01-01,2026-12-25 [spans=12:00:00..12:00:30] [zone=Europe/Berlin]`.
fn calendar(words: &Words) -> Calendar {
    let days = |text: &str| {
        let midnight = instant(&format!("{text}T00:00:00Z"));
        i32::try_from(midnight.as_millis().div_euclid(86_400_000)).expect("a date of these centuries")
    };
    let list = |key: &str| words.value(key).into_iter().flat_map(|text| text.split(',')).map(str::to_owned);
    let span = |text: String| {
        let (from, to) = text.split_once("..").expect("a span is FROM..TO");
        (instant(from), instant(to))
    };
    Calendar {
        description: "".into(),
        time_zone: words.value("zone").map(Into::into),
        dates: list("dates").map(|text| days(&text)).collect(),
        spans: list("spans").map(span).collect(),
    }
}

/// What a planner proposes when it panics over a schedule that it could read before.
fn park(stage: &Stage, words: &Words) -> Body {
    let schedule = stage.machine.named(&words.name(1)).expect("a schedule of that name");
    let decision = Decision {
        uid: schedule.uid,
        revision: schedule.revision,
        after: schedule.mark,
        rules_at: stage.machine.rules_at(),
        skips: Vec::new(),
        fire: Vec::new(),
        mark: schedule.mark,
        next_at: None,
        park: Some(words.value("reason").unwrap_or("planning it panicked").into()),
    };
    let rules_at = stage.machine.rules_at();
    Body::Tick(Tick { rules_at, decisions: vec![decision], ..Tick::default() })
}

/// A definition that the edge would have refused, past it into the log: `smuggle NAME cron="…" next=12:00:10`.
fn smuggle(stage: &Stage, words: &Words) -> Body {
    let next_at: Option<Timestamp> = words.value("next").map(instant);
    Body::PutSchedule(PutSchedule {
        name: words.name(1),
        definition: Arc::new(definition(words)),
        condition: condition(words),
        seen: stage.machine.named(&words.name(1)).map(|schedule| schedule.seen()),
        before: None,
        since: stage.now(),
        next_at,
        rules_at: stage.machine.rules_at(),
        request: request(words),
    })
}
