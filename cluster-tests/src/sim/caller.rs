//! How a party asks: it keeps to a node, tries another when that one fails it, and repeats what it does not know the end of
//! under the same key, as the clients of the product do.

use std::time::Duration;

use serde_json::Value;

use super::door::{Ask, Doors};
use super::story::{Condition, Outcome};
use crate::seed::Dice;

/// A client or a worker, as the doors know it.
pub struct Caller {
    /// Which: clients and workers count together.
    pub who: usize,
    /// Its chance.
    pub dice: Dice,
    doors: Doors,
    node: usize,
    keys: u64,
}

/// What is asked, of whichever node.
#[derive(Debug, Clone)]
pub struct Request {
    /// `PUT`, `POST`, …
    pub method: &'static str,
    /// With its query.
    pub path: String,
    /// The body.
    pub body: Option<Value>,
    /// What it depends on.
    pub condition: Option<Condition>,
}

/// How often a request is sent at most.
const TRIES: u32 = 5;
/// Beyond its founders a world has machines that seldom run; they are asked seldom.
const FOUNDERS: u64 = 3;

impl Request {
    /// One without a body.
    pub fn bare(method: &'static str, path: String) -> Self {
        Self { method, path, body: None, condition: None }
    }

    /// One with a body.
    pub fn with(method: &'static str, path: String, body: Value) -> Self {
        Self { method, path, body: Some(body), condition: None }
    }

    /// The same, on a condition.
    pub fn provided(mut self, condition: Option<Condition>) -> Self {
        self.condition = condition;
        self
    }
}

impl Caller {
    /// With dice of its own.
    pub fn new(who: usize, dice: Dice, doors: Doors) -> Self {
        Self { who, dice, doors, node: who % FOUNDERS as usize, keys: 0 }
    }

    /// Another one of the same name, that asks beside it. Its requests need no keys of their own.
    pub fn beside(&mut self) -> Self {
        let mut beside = Self::new(self.who, self.dice.part(), self.doors.clone());
        beside.moves_on();
        beside
    }

    /// The doors.
    pub fn doors(&self) -> &Doors {
        &self.doors
    }

    /// A key that was not used yet.
    pub fn key(&mut self) -> String {
        self.keys += 1;
        format!("party-{}-{}", self.who, self.keys)
    }

    /// Waits between these.
    pub async fn rests(&mut self, least: u64, most: u64) {
        let rest = self.dice.between(Duration::from_millis(least), Duration::from_millis(most));
        tokio::time::sleep(rest).await;
    }

    /// How long a client has patience: mostly seconds, now and then hardly any.
    pub fn patience(&mut self) -> Duration {
        if self.dice.percent(5) {
            return self.dice.between(Duration::from_millis(2), Duration::from_millis(60));
        }
        self.dice.between(Duration::from_millis(500), Duration::from_secs(8))
    }

    /// Asks once; with the entity tag of the answer.
    pub async fn ask(
        &mut self,
        request: &Request,
        key: Option<String>,
        within: Duration,
    ) -> (Outcome, Option<String>) {
        if self.dice.percent(10) {
            self.moves_on();
        }
        let ask = Ask {
            client: self.who,
            node: self.node,
            method: request.method,
            path: request.path.clone(),
            key,
            body: request.body.clone(),
            within,
        };
        let told = self.doors.ask_if(ask, request.condition.clone()).await;
        if !is_final(&told.0) {
            self.moves_on();
        }
        told
    }

    /// Asks again, with the same key, until there is an answer that another try would not change.
    pub async fn insist(&mut self, request: &Request, key: Option<String>) -> (Outcome, Option<String>) {
        let mut tries = 1;
        loop {
            let within = self.patience();
            let told = self.ask(request, key.clone(), within).await;
            // Some give up early, and never know.
            if is_final(&told.0) || tries == TRIES || self.dice.percent(5) {
                return told;
            }
            tries += 1;
            self.rests(50, 200 << tries).await;
        }
    }

    fn moves_on(&mut self) {
        let among = if self.dice.percent(10) { self.doors.count() as u64 } else { FOUNDERS };
        self.node = self.dice.below(among.min(self.doors.count() as u64)) as usize;
    }
}

/// Whether another try would be answered with the same.
pub fn is_final(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Ok(..) => true,
        Outcome::Fail(status, code) => (400..500).contains(status) && code != "rate_limited",
        Outcome::Unknown => false,
    }
}
