//! What a client does next: requests, drawn by weight from what the API offers and from what the client knows.

use std::collections::{BTreeMap, VecDeque};

use campanile_core::time::Timestamp;
use serde_json::{Value, json};

use super::definitions::{self, later};
use super::names::{self, job};
use crate::seed::Dice;
use crate::sim::caller::Request;
use crate::sim::story::{Condition, Outcome};

/// A step of a client.
#[derive(Debug)]
pub(super) enum Deed {
    /// Asks this.
    Ask(Request),
    /// Cancels the firing that it has heard of last.
    CancelLatest,
}

/// What a client has learnt from answers.
#[derive(Debug, Default)]
pub(super) struct Known {
    tags: BTreeMap<String, String>,
    firings: VecDeque<String>,
    backfills: VecDeque<String>,
}

/// How many ids a client remembers.
const REMEMBERED: usize = 24;
/// How far back anything goes, in milliseconds: what fires by it is bounded.
const BACK: u64 = 60_000;

impl Known {
    /// Learns from an answer to a request for `path`.
    pub(super) fn learn(&mut self, path: &str, outcome: &Outcome, tag: Option<String>) {
        let Outcome::Ok(_, answer) = outcome else { return };
        if let Some(tag) = tag {
            self.tags.insert(path.to_owned(), tag);
        }
        for one in std::iter::once(answer).chain(answer["items"].as_array().into_iter().flatten()) {
            self.meet(&one["id"]);
            self.meet(&one["backfill"]["id"]);
        }
    }

    fn meet(&mut self, id: &Value) {
        let Some(id) = id.as_str() else { return };
        let ids = if id.starts_with("frg_") { &mut self.firings } else { &mut self.backfills };
        if !(id.starts_with("frg_") || id.starts_with("bkf_")) {
            return;
        }
        ids.retain(|known| known != id);
        if ids.len() == REMEMBERED {
            ids.pop_front();
        }
        ids.push_back(id.to_owned());
    }

    /// One of those that it knows, or one that never was.
    fn firing(&self, dice: &mut Dice) -> String {
        pick(&self.firings, dice).unwrap_or_else(|| "frg_00000000000000000000000000000000".into())
    }

    /// The cancelling of the one that it has heard of last.
    pub(super) fn cancel_latest(&self) -> Option<Request> {
        let path = format!("/v1/firings/{}/cancel", self.firings.back()?);
        Some(Request::with("POST", path, json!({})))
    }

    fn backfill(&self, dice: &mut Dice) -> String {
        pick(&self.backfills, dice).unwrap_or_else(|| "bkf_1".into())
    }

    fn condition(&self, path: &str, dice: &mut Dice) -> Option<Condition> {
        match dice.below(10) {
            0 => Some(Condition::Absent),
            1..4 => self.tags.get(path).cloned().map(Condition::Unchanged),
            _ => None,
        }
    }
}

fn pick(among: &VecDeque<String>, dice: &mut Dice) -> Option<String> {
    let place = dice.below(among.len().max(1) as u64) as usize;
    among.get(place).cloned()
}

/// What comes next: mostly one request.
pub(super) fn draw(dice: &mut Dice, known: &Known, now: Timestamp) -> Vec<Deed> {
    if dice.percent(4) {
        return cancel(dice);
    }
    requests(dice, known, now).into_iter().map(Deed::Ask).collect()
}

/// Looks for one that has not ended, and cancels it.
fn cancel(dice: &mut Dice) -> Vec<Deed> {
    let state = dice.pick(&["queued", "waiting", "waiting", "running"]);
    let list = Request::bare("GET", format!("/v1/firings?state={state}&limit=1"));
    vec![Deed::Ask(list), Deed::CancelLatest]
}

fn requests(dice: &mut Dice, known: &Known, now: Timestamp) -> Vec<Request> {
    let path = format!("/v1/schedules/{}", job(dice));
    let post = |what: &str, body: Value| vec![Request::with("POST", format!("{path}/{what}"), body)];
    match dice.below(100) {
        0..24 => vec![put(&path, dice, known, now)],
        24..30 => {
            let condition = known.condition(&path, dice).filter(|condition| *condition != Condition::Absent);
            let body = definitions::patch(dice, now);
            vec![Request::with("PATCH", path, body).provided(condition)]
        }
        30..34 => {
            let condition = known.condition(&path, dice).filter(|condition| *condition != Condition::Absent);
            vec![Request::bare("DELETE", path).provided(condition)]
        }
        34..38 => {
            let again = definitions::draw(dice, now);
            vec![Request::bare("DELETE", path.clone()), Request::with("PUT", path, again)]
        }
        38..48 => post("trigger", trigger(dice, now)),
        48..52 => post("pause", pause(dice, now)),
        52..58 => post("resume", resume(dice)),
        58..62 => post("mark", mark(dice, now)),
        62..65 => vec![Request::with("POST", "/v1/backfills".into(), backfill(dice, now))],
        65..67 => vec![Request::bare("DELETE", format!("/v1/backfills/{}", known.backfill(dice)))],
        67..69 => firing(&known.firing(dice), "cancel", json!({})),
        69..75 => firing(&known.firing(dice), "rerun", instead(dice)),
        75..80 => vec![queue(dice)],
        80..83 => vec![calendar(dice, now)],
        83 => vec![named_secret(dice)],
        84..86 => vec![apply(dice, now)],
        86 => vec![letters(dice)],
        _ => vec![read(dice, known)],
    }
}

fn put(path: &str, dice: &mut Dice, known: &Known, now: Timestamp) -> Request {
    let condition = known.condition(path, dice);
    let body = definitions::draw(dice, now);
    let query = if dice.percent(4) { "?dry_run=true" } else { "" };
    Request::with("PUT", format!("{path}{query}"), body).provided(condition)
}

fn trigger(dice: &mut Dice, now: Timestamp) -> Value {
    let mut body = instead(dice);
    if dice.percent(20) {
        body["nominal"] = earlier(now, dice);
    }
    body
}

/// What a firing that is asked for may have of its own.
fn instead(dice: &mut Dice) -> Value {
    match dice.below(4) {
        0 => json!({ "overlap": definitions::overlap(dice) }),
        1 => json!({ "payload": { "asked": dice.below(100) } }),
        _ => json!({}),
    }
}

fn pause(dice: &mut Dice, now: Timestamp) -> Value {
    match dice.below(3) {
        0 => json!({}),
        1 => json!({ "note": "for a look" }),
        _ => json!({ "note": "for a while", "until": later(now, 1_000 + dice.below(20_000)) }),
    }
}

fn resume(dice: &mut Dice) -> Value {
    if dice.percent(50) { json!({}) } else { json!({ "catch_up": dice.percent(60) }) }
}

fn mark(dice: &mut Dice, now: Timestamp) -> Value {
    let to = if dice.percent(60) { earlier(now, dice) } else { later(now, dice.below(15_000)) };
    json!({ "to": to, "dry_run": dice.percent(15) })
}

fn backfill(dice: &mut Dice, now: Timestamp) -> Value {
    let mut body = json!({
        "schedule": job(dice),
        "after": earlier(now, dice),
        "max_live": 1 + dice.below(8),
        "pace": dice.pick(&["0s", "200ms", "1s"]),
        "again": dice.percent(50),
        "dry_run": dice.percent(10),
    });
    if dice.percent(30) {
        body["overlap"] = definitions::overlap(dice);
    }
    if dice.percent(30) {
        body["until"] = earlier(now, dice);
    }
    body
}

fn firing(id: &str, what: &str, body: Value) -> Vec<Request> {
    vec![Request::with("POST", format!("/v1/firings/{id}/{what}"), body)]
}

fn queue(dice: &mut Dice) -> Request {
    let path = format!("/v1/queues/{}", dice.pick(&names::QUEUES));
    match dice.below(6) {
        0 => Request::with("PUT", path, definitions::limits(dice)),
        1 => Request::bare("DELETE", path),
        2 => Request::with("POST", format!("{path}/pause"), json!({ "note": "for a look" })),
        _ => Request::with("POST", format!("{path}/resume"), json!({})),
    }
}

fn calendar(dice: &mut Dice, now: Timestamp) -> Request {
    let path = format!("/v1/calendars/{}", dice.pick(&names::CALENDARS));
    match dice.below(5) {
        0 => Request::bare("DELETE", path),
        _ => Request::with("PUT", path, definitions::calendar(dice, now)),
    }
}

fn named_secret(dice: &mut Dice) -> Request {
    let path = format!("/v1/secrets/{}", dice.pick(&names::SECRETS));
    Request::with("PUT", path, secret(dice))
}

/// A text to sign with: `whsec_` and the base64 of 24 bytes.
pub(super) fn secret(dice: &mut Dice) -> Value {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text: String = (0..32).map(|_| char::from(dice.pick(LETTERS))).collect();
    json!({ "secret": format!("whsec_{text}"), "keep_previous": dice.pick(&["0s", "10s", "1d"]) })
}

/// Some schedules at once; those of the same label that are left out go.
fn apply(dice: &mut Dice, now: Timestamp) -> Request {
    let chosen: Vec<u64> = (0..names::SETS).filter(|_| dice.percent(50)).collect();
    let schedules: Vec<Value> = chosen.into_iter().map(|number| member(number, dice, now)).collect();
    let mut body = json!({ "schedules": schedules, "dry_run": dice.percent(10) });
    if dice.percent(60) {
        body["prune_label"] = json!("set=one");
    }
    Request::with("POST", "/v1/apply".into(), body)
}

fn member(number: u64, dice: &mut Dice, now: Timestamp) -> Value {
    let mut body = definitions::draw(dice, now);
    body["namespace"] = json!("sets");
    body["name"] = json!(format!("set-{number}"));
    body["labels"] = json!({ "set": "one" });
    body
}

fn letters(dice: &mut Dice) -> Request {
    let body = json!({ "namespace": dice.pick(&["sim", "other"]) });
    if dice.percent(50) {
        return Request::with("POST", "/v1/dead_letters/discard".into(), body);
    }
    let body = json!({ "namespace": body["namespace"], "max": 1 + dice.below(5) });
    Request::with("POST", "/v1/dead_letters/rerun".into(), body)
}

/// Another request that is as right as this one, where there is one.
pub(super) fn otherwise(mut request: Request) -> Request {
    let field = match (request.method, request.path.rsplit('/').next()) {
        ("POST", Some("pause")) => "note",
        ("POST", Some("trigger" | "rerun")) => "payload",
        ("PUT", _) if request.path.starts_with("/v1/schedules") => "description",
        _ => return request,
    };
    if let Some(body) = &mut request.body {
        body[field] = json!("another request");
    }
    request
}

/// Something to read.
pub(super) fn read(dice: &mut Dice, known: &Known) -> Request {
    let name = job(dice);
    let schedule = format!("/v1/schedules/{name}");
    let mut path = match dice.below(24) {
        0..7 => schedule,
        7 => "/v1/schedules".into(),
        8 => "/v1/schedules?sort=next&limit=5".into(),
        9..12 => format!("{schedule}/firings?limit=20"),
        12..14 => "/v1/firings?state=running&limit=20".into(),
        14 => "/v1/firings?limit=20".into(),
        15 => format!("/v1/firings/{}", known.firing(dice)),
        16 => "/v1/cluster".into(),
        17 => format!("/v1/queues/{}", dice.pick(&names::QUEUES)),
        18 => "/v1/backfills?limit=20".into(),
        19 => format!("{schedule}/next?count=5"),
        20 => format!("{schedule}/revisions"),
        21 => "/v1/dead_letters?limit=20".into(),
        22 => "/v1/calendars".into(),
        _ => "/v1/ledger?limit=50".into(),
    };
    let asks_as_it_likes = !path.starts_with("/v1/cluster") && !path.starts_with("/v1/ledger");
    if asks_as_it_likes && dice.percent(25) {
        path.push(if path.contains('?') { '&' } else { '?' });
        path.push_str("consistency=stale");
    }
    Request::bare("GET", path)
}

fn earlier(now: Timestamp, dice: &mut Dice) -> Value {
    later(Timestamp::from_millis(now.as_millis() - BACK as i64), dice.below(BACK))
}
