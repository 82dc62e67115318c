//! What users do meanwhile: clients that write and read schedules, with time limits and keys, and workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::clock::TrueTime;
use super::door::{Ask, Doors};
use super::story::Outcome;
use crate::seed::{Dice, Seed};

/// The parties of a world.
pub struct Parties {
    tasks: JoinSet<()>,
    over: Arc<AtomicBool>,
}

/// How many clients.
const CLIENTS: usize = 3;

/// Starts them; from `quiet_from` on they write nothing.
#[must_use]
pub fn start(seed: Seed, doors: &Doors, time: TrueTime, quiet_from: u64) -> Parties {
    let (mut tasks, over) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
    for client in 0..CLIENTS {
        let dice = seed.dice(&format!("client {client}"));
        let party = Client { client, dice, doors: doors.clone(), keys: 0 };
        tasks.spawn(party.live(time, quiet_from, Arc::clone(&over)));
    }
    Parties { tasks, over }
}

impl Parties {
    /// They end when what they do is done.
    pub async fn end(mut self) {
        self.over.store(true, Ordering::Relaxed);
        while self.tasks.join_next().await.is_some() {}
    }
}

struct Client {
    client: usize,
    dice: Dice,
    doors: Doors,
    keys: u64,
}

impl Client {
    async fn live(mut self, time: TrueTime, quiet_from: u64, over: Arc<AtomicBool>) {
        tokio::time::sleep(Duration::from_secs(2)).await;
        while !over.load(Ordering::Relaxed) {
            let pause = self.dice.between(Duration::from_millis(200), Duration::from_secs(3));
            tokio::time::sleep(pause).await;
            if time.moment() < quiet_from {
                self.act().await;
            }
        }
    }

    async fn act(&mut self) {
        let name = format!("job-{}", self.dice.below(12));
        let path = format!("/v1/schedules/sim/{name}");
        match self.dice.below(10) {
            0..4 => {
                let definition = self.definition();
                self.insist("PUT", path, Some(definition)).await;
            }
            4 => self.insist("DELETE", path, None).await,
            5..7 => self.insist("POST", format!("{path}/trigger"), Some(json!({}))).await,
            7 => self.insist("POST", format!("{path}/pause"), Some(json!({}))).await,
            8 => self.insist("POST", format!("{path}/resume"), Some(json!({}))).await,
            _ => drop(self.ask("GET", path, None, None).await),
        }
    }

    /// The same again under the same key while nobody knows, as a client of the product does.
    async fn insist(&mut self, method: &'static str, path: String, body: Option<Value>) {
        self.keys += 1;
        let key = format!("client-{}-{}", self.client, self.keys);
        for _ in 0..4 {
            let outcome = self.ask(method, path.clone(), body.clone(), Some(key.clone())).await;
            match outcome {
                Outcome::Ok(..) => return,
                Outcome::Fail(status, _) if status != 0 && status < 500 => return,
                _ => tokio::time::sleep(Duration::from_millis(300)).await,
            }
        }
    }

    async fn ask(
        &mut self,
        method: &'static str,
        path: String,
        body: Option<Value>,
        key: Option<String>,
    ) -> Outcome {
        let node = self.dice.below(self.doors.count() as u64) as usize;
        let within = self.dice.between(Duration::from_millis(500), Duration::from_secs(8));
        self.doors.ask(Ask { client: self.client, node, method, path, key, body, within }).await
    }

    fn definition(&mut self) -> Value {
        let places = ["ok", "ok", "slow", "flaky", "bad", "gone"];
        let place = places[self.dice.below(places.len() as u64) as usize];
        let host = self.dice.below(4);
        let every = 1 + self.dice.below(20);
        json!({
            "schedule": { "every": format!("{every}s") },
            "target": { "webhook": { "url": format!("http://receiver-{host}.example/{place}"), "timeout": "5s" } },
        })
    }
}
