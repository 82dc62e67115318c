//! Definitions of schedules, drawn: what may be said of one, in bodies of `PUT`.
//!
//! Worlds last minutes, so their schedules fire every few seconds, and everything is bounded in tens.

use campanile_core::cron::instant_text;
use campanile_core::time::{Span, Timestamp};
use serde_json::{Map, Value, json};

use super::super::tuning::NEW_ZONE;
use super::names;
use crate::seed::Dice;

/// Nodes of the version before lack the last one.
const ZONES: [&str; 6] =
    ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", NEW_ZONE];
/// Where nothing is answered in time, or well, is one of them.
const PLACES: [&str; 8] = ["ok", "ok", "ok", "slow", "slow", "flaky", "bad", "gone"];
const OVERLAPS: [&str; 6] = ["allow", "skip", "queue_one", "queue_all", "replace", "terminate"];

/// A whole one, as it may be put at `now`.
pub fn draw(dice: &mut Dice, now: Timestamp) -> Value {
    let mut body = Map::new();
    let mut say = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    let count = if dice.percent(15) { 2 } else { 1 };
    say("specs", (0..count).map(|_| spec(dice, now)).collect());
    say("target", target(dice));
    say("retry", retry(dice));
    for (name, chance, draw) in FIELDS {
        if dice.percent(chance) {
            say(name, draw(dice, now));
        }
    }
    Value::Object(body)
}

/// A merge patch of one.
pub fn patch(dice: &mut Dice, now: Timestamp) -> Value {
    let (name, _, draw) = FIELDS[dice.below(FIELDS.len() as u64) as usize];
    match dice.below(4) {
        0 => json!({ "specs": [spec(dice, now)] }),
        1 => json!({ name: null }),
        _ => json!({ name: draw(dice, now) }),
    }
}

/// Some overlap policy.
pub fn overlap(dice: &mut Dice) -> Value {
    dice.pick(&OVERLAPS).into()
}

type Draw = fn(&mut Dice, Timestamp) -> Value;

/// What may be left out: how often in a hundred it is said, and what is said then.
const FIELDS: [(&str, u64, Draw); 18] = [
    ("overlap", 70, |dice, _| overlap(dice)),
    ("queue_limit", 80, |dice, _| json!(1 + dice.below(12))),
    ("catch_up", 50, |dice, _| catch_up(dice)),
    ("delivery", 40, |dice, _| dice.pick(&["at_least_once", "at_most_once", "at_most_once"]).into()),
    ("deadline", 70, |dice, _| seconds(3 + dice.below(60))),
    ("jitter", 25, |dice, _| dice.pick(&["0s", "500ms", "3s", "auto"]).into()),
    ("exclude", 20, |dice, now| json!([exclusion(dice, now)])),
    ("start_at", 8, |dice, now| later(now, dice.below(20_000))),
    ("end_at", 10, |dice, now| later(now, 21_000 + dice.below(120_000))),
    ("max_firings", 10, |dice, _| json!(1 + dice.below(30))),
    ("after_completion", 20, |dice, _| dice.pick(&["keep", "delete"]).into()),
    ("pause_after_failures", 8, |dice, _| json!(2 + dice.below(6))),
    ("concurrency_key", 10, |dice, _| dice.pick(&["red", "green"]).into()),
    ("payload", 30, |dice, _| json!({ "part": dice.below(1_000), "text": "ü\u{1f514}" })),
    ("labels", 30, |dice, _| json!({ "team": dice.pick(&["red", "green"]) })),
    ("description", 10, |dice, _| format!("edit {}", dice.below(1_000)).into()),
    ("on_failure", 12, |dice, _| action(dice)),
    ("on_success", 12, |dice, _| action(dice)),
];

fn spec(dice: &mut Dice, now: Timestamp) -> Value {
    let zone = dice.pick(&ZONES);
    let cron = |text: String| json!({ "cron": text, "time_zone": zone });
    match dice.below(100) {
        0..45 => json!({ "every": seconds(period(dice)) }),
        45..53 => {
            json!({ "every": seconds(period(dice)), "anchor": later(Timestamp::EPOCH, dice.below(20_000)) })
        }
        53..68 => cron(format!("*/{} * * * * *", dice.pick(&[3, 5, 10, 15, 20, 30]))),
        68..76 => cron(format!("{},{} * * * * *", dice.below(60), dice.below(60))),
        76..82 => cron(format!("{}-59/7 */2 * * * ?", dice.below(30))),
        82..90 => cron(dice.pick(&["* * * * *", "*/2 * * * *", "* * * * 1-7"]).to_owned()),
        90..97 => json!({ "at": later(now, 2_000 + dice.below(60_000)) }),
        _ => json!({ "rrule": "FREQ=DAILY;COUNT=3", "start": wall(now, 3 + dice.below(60)) }),
    }
}

/// Few are hot.
fn period(dice: &mut Dice) -> u64 {
    let most = dice.pick(&[3, 10, 20, 20, 20]);
    1 + dice.below(most)
}

fn target(dice: &mut Dice) -> Value {
    if dice.percent(40) { queue(dice) } else { webhook(dice) }
}

fn queue(dice: &mut Dice) -> Value {
    let mut queue = json!({ "name": dice.pick(&names::QUEUES) });
    if dice.percent(30) {
        queue["priority"] = json!(dice.below(7) as i64 - 3);
    }
    json!({ "queue": queue })
}

fn webhook(dice: &mut Dice) -> Value {
    let (host, place) = (dice.below(4), dice.pick(&PLACES));
    let mut webhook = json!({
        "url": format!("http://receiver-{host}.example/{place}"),
        "timeout": seconds(1 + dice.below(6)),
    });
    if dice.percent(20) {
        webhook["method"] = dice.pick(&["PUT", "GET", "DELETE"]).into();
    }
    if dice.percent(15) {
        webhook["secret_ref"] = dice.pick(&names::SECRETS).into();
    }
    if dice.percent(10) {
        webhook["headers"] = json!({ "x-env": "simulated" });
        webhook["cloud_events"] = json!(true);
    }
    json!({ "webhook": webhook })
}

fn action(dice: &mut Dice) -> Value {
    match dice.below(4) {
        0 => webhook(dice),
        1 => queue(dice),
        _ => json!({ "schedule": names::job(dice) }),
    }
}

fn retry(dice: &mut Dice) -> Value {
    json!({
        "max_attempts": dice.pick(&[1, 2, 3, 3, 5]),
        "initial": dice.pick(&["200ms", "500ms", "1s", "2s"]),
        "max": dice.pick(&["2s", "5s", "8s"]),
        "factor": 1 + dice.below(3),
        "until_next": dice.percent(20),
    })
}

fn catch_up(dice: &mut Dice) -> Value {
    json!({
        "mode": dice.pick(&["all", "latest", "none"]),
        "window": dice.pick(&["5s", "20s", "35s", "1m", "unlimited"]),
    })
}

fn exclusion(dice: &mut Dice, now: Timestamp) -> Value {
    match dice.below(8) {
        0..3 => json!({ "calendar": dice.pick(&names::CALENDARS) }),
        3..5 => json!({ "cron": format!("{} * * * * *", dice.pick(&["0-19", "*/3", "30-59"])) }),
        5..7 => json!({ "cron": "*/2 * * * *", "time_zone": dice.pick(&ZONES) }),
        _ => json!({ "dates": [date(now, dice.below(2))] }),
    }
}

/// A calendar: some of today, and of tomorrow.
pub fn calendar(dice: &mut Dice, now: Timestamp) -> Value {
    let from = now.as_millis() / 1_000 * 1_000 + dice.below(60) as i64 * 1_000;
    let to = from + 1_000 + dice.below(40) as i64 * 1_000;
    let text = |millis: i64| instant_text(Timestamp::from_millis(millis));
    let dates = if dice.percent(10) { vec![date(now, dice.below(2))] } else { Vec::new() };
    let mut calendar = json!({ "spans": [{ "from": text(from), "to": text(to) }], "dates": dates });
    if dice.percent(30) {
        calendar["time_zone"] = dice.pick(&ZONES).into();
    }
    calendar
}

/// The limits of a queue.
pub fn limits(dice: &mut Dice) -> Value {
    let mut limits = json!({});
    if dice.percent(60) {
        limits["max_in_flight"] = json!(2 + dice.below(8));
    }
    if dice.percent(40) {
        limits["max_in_flight_per_key"] = json!(1 + dice.below(3));
    }
    if dice.percent(40) {
        limits["rate"] = json!({ "count": 2 + dice.below(20), "per": seconds(1 + dice.below(4)) });
    }
    limits
}

/// So many seconds, as a length.
pub fn seconds(count: u64) -> Value {
    format!("{count}s").into()
}

/// An instant so many milliseconds later.
pub fn later(now: Timestamp, millis: u64) -> Value {
    instant_text(now + Span::from_millis(millis)).into()
}

/// The wall time in UTC in so many seconds, whole.
fn wall(now: Timestamp, seconds: u64) -> String {
    let mut text = instant_text(now + Span::from_secs(seconds));
    text.truncate("2031-01-01T00:00:00".len());
    text
}

fn date(now: Timestamp, days: u64) -> String {
    let mut text = instant_text(now + Span::from_secs(86_400 * days));
    text.truncate("2031-01-01".len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    #[test]
    fn every_field_and_kind_of_spec_is_drawn_before_long() {
        let (mut dice, now) = (Seed(1).dice("definitions"), Timestamp::from_millis(1_924_992_000_000));
        let drawn: Vec<Value> = (0..500).map(|_| draw(&mut dice, now)).collect();
        for (name, ..) in FIELDS {
            assert!(drawn.iter().any(|body| !body[name].is_null()), "{name}");
        }
        for kind in ["every", "cron", "at", "rrule"] {
            assert!(drawn.iter().any(|body| !body["specs"][0][kind].is_null()), "{kind}");
        }
    }
}
