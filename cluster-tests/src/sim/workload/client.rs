//! A client: one deed after another, insisting on answers, now and then doing what it should not.

use super::Term;
use super::deeds::{self, Deed, Known};
use super::definitions;
use super::names;
use crate::sim::caller::{Caller, Request};
use crate::sim::story::Outcome;
use serde_json::json;

pub(super) struct Client {
    caller: Caller,
    term: Term,
    known: Known,
}

/// When the first one begins: before there is a leader.
const BEGINS: (u64, u64) = (500, 4_000);
/// How long before the quiet end it leaves the queues open.
const CLOSES: u64 = 4_000;

impl Client {
    pub(super) fn new(caller: Caller, term: Term) -> Self {
        Self { caller, term, known: Known::default() }
    }

    pub(super) async fn live(mut self) {
        self.caller.rests(BEGINS.0, BEGINS.1).await;
        self.open().await;
        while self.term.time.moment() + CLOSES < self.term.quiet_from {
            let deeds = deeds::draw(&mut self.caller.dice, &self.known, self.term.time.now());
            for deed in deeds {
                let request = match deed {
                    Deed::Ask(request) => Some(request),
                    Deed::CancelLatest => self.known.cancel_latest(),
                };
                if let Some(request) = request {
                    self.do_one(request).await;
                }
            }
            self.caller.rests(50, 1_200).await;
        }
        self.close().await;
        while !self.term.is_over() {
            let read = deeds::read(&mut self.caller.dice, &self.known);
            self.do_one(read).await;
            self.caller.rests(200, 3_000).await;
        }
    }

    /// What others name has to be there first.
    async fn open(&mut self) {
        let now = self.term.time.now();
        let place = self.caller.who;
        let mut puts = vec![(
            "queues",
            names::QUEUES[place % names::QUEUES.len()],
            definitions::limits(&mut self.caller.dice),
        )];
        if let Some(name) = names::CALENDARS.get(place) {
            puts.push(("calendars", name, definitions::calendar(&mut self.caller.dice, now)));
        }
        if let Some(name) = names::SECRETS.get(place) {
            puts.push(("secrets", name, deeds::secret(&mut self.caller.dice)));
        }
        for (kind, name, body) in puts {
            self.do_one(Request::with("PUT", format!("/v1/{kind}/{name}"), body)).await;
        }
    }

    /// A queue that stays paused would never drain.
    async fn close(&mut self) {
        for queue in names::QUEUES {
            let request = Request::with("POST", format!("/v1/queues/{queue}/resume"), json!({}));
            if !self.term.is_quiet() {
                self.do_one(request).await;
            }
        }
    }

    async fn do_one(&mut self, request: Request) {
        if request.method == "GET" {
            let within = self.caller.patience();
            let (outcome, tag) = self.caller.ask(&request, None, within).await;
            return self.known.learn(&request.path, &outcome, tag);
        }
        // A write without a key is allowed, and never repeated.
        if self.caller.dice.percent(5) {
            let within = self.caller.patience();
            let (outcome, tag) = self.caller.ask(&request, None, within).await;
            return self.known.learn(&request.path, &outcome, tag);
        }
        let key = self.caller.key();
        let (outcome, tag) = self.caller.insist(&request, Some(key.clone())).await;
        self.known.learn(&request.path, &outcome, tag);
        if matches!(outcome, Outcome::Ok(..)) && self.caller.dice.percent(6) {
            self.repeats(request, key).await;
        }
    }

    /// The same again though it was answered, or another request under the same key.
    async fn repeats(&mut self, request: Request, key: String) {
        let request = if self.caller.dice.percent(40) { deeds::otherwise(request) } else { request };
        self.caller.rests(1, 20_000).await;
        if !self.term.is_quiet() {
            let within = self.caller.patience();
            drop(self.caller.ask(&request, Some(key), within).await);
        }
    }
}
