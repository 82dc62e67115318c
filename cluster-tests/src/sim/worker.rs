//! A worker: leases from a queue, treats each lease in some manner, and settles it, or does not.
//!
//! ```text
//!   lease (long poll, under a key) ──> Held in the story ──> a job each ──> beats, settles, silence
//! ```
//! Workers are no better than programs are: they are late, say things twice, race each other, fall silent and come back.
//! Once the world is quiet they behave, so that queues drain.

mod job;

use std::time::Duration;

use campanile_core::cron::parse_instant;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::caller::{Caller, Request, is_final};
use super::story::{Held, Outcome};
use super::workload::Term;
use job::Job;
pub use job::Manner;

/// A worker of one queue.
pub struct Worker {
    caller: Caller,
    queue: &'static str,
    term: Term,
}

/// How often a request for leases is sent under one key.
const TRIES: u32 = 3;

impl Worker {
    /// Of this queue.
    #[must_use]
    pub fn new(caller: Caller, queue: &'static str, term: Term) -> Self {
        Self { caller, queue, term }
    }

    /// Works until the world ends.
    pub async fn live(mut self) {
        self.caller.rests(1_000, 5_000).await;
        while !self.term.is_over() {
            let jobs = self.lease().await;
            if jobs.is_empty() {
                self.caller.rests(20, 600).await;
            }
            join_all(jobs.into_iter().map(Job::live)).await;
        }
    }

    /// Asks for work; under the same key again while nobody knows what was given.
    async fn lease(&mut self) -> Vec<Job> {
        let (ttl, wait) = (1 + self.caller.dice.below(6), self.caller.dice.below(3));
        let body = json!({
            "worker": format!("worker-{}", self.caller.who),
            "max": 1 + self.caller.dice.below(5),
            "ttl": format!("{ttl}s"),
            "wait": format!("{wait}s"),
        });
        let request = Request::with("POST", format!("/v1/queues/{}/lease", self.queue), body);
        let key = self.caller.key();
        let ttl = Duration::from_secs(ttl);
        let mut jobs = Vec::new();
        for _ in 0..TRIES {
            let patience = self.caller.patience().max(Duration::from_millis(100));
            let within = Duration::from_secs(wait) + patience / 4;
            // Two processes that were started as one.
            let mut twin = self.caller.dice.percent(4).then(|| self.caller.beside());
            let beside = async {
                match &mut twin {
                    Some(twin) => Some(twin.ask(&request, Some(key.clone()), within).await.0),
                    None => None,
                }
            };
            let (told, beside) =
                tokio::join!(biased; self.caller.ask(&request, Some(key.clone()), within), beside);
            let told = told.0;
            jobs.extend(self.take(&told, ttl));
            if let Some(beside) = beside {
                jobs.extend(self.take(&beside, ttl));
            }
            if is_final(&told) || self.term.is_over() {
                break;
            }
            self.caller.rests(50, 800).await;
        }
        jobs
    }

    /// Writes down what was given, and what is to become of it. What it holds already is nothing new.
    fn take(&mut self, told: &Outcome, ttl: Duration) -> Vec<Job> {
        let Outcome::Ok(_, answer) = told else { return Vec::new() };
        let leases = answer.as_array().into_iter().flatten();
        leases.filter_map(|lease| self.hold(lease, ttl)).collect()
    }

    fn hold(&mut self, lease: &Value, ttl: Duration) -> Option<Job> {
        let manner = match self.term.is_quiet() {
            true => Manner::well(&mut self.caller.dice),
            false => Manner::any(&mut self.caller.dice),
        };
        let caller = self.caller.beside();
        let text = |name: &str| lease[name].as_str().unwrap_or_default().to_owned();
        let instant = |name: &str| parse_instant(&text(name));
        let doors = self.caller.doors();
        let held = Held {
            worker: self.caller.who,
            queue: self.queue.to_owned(),
            lease: text("lease"),
            firing: text("firing").parse().ok()?,
            schedule: text("schedule"),
            attempt: u32::try_from(lease["attempt"].as_u64()?).ok()?,
            token: lease["fencing_token"].as_u64()?,
            begun_at: instant("begun_at")?,
            until: instant("until")?,
            got: doors.moment(),
            manner: manner.as_str(),
            beats: Vec::new(),
            settles: Vec::new(),
            ended: None,
        };
        let mut story = doors.story();
        let known = story.leases.iter().rev().take_while(|known| known.got + 60_000 > held.got);
        if known.into_iter().any(|known| known.worker == held.worker && known.lease == held.lease) {
            return None;
        }
        let place = story.leases.len();
        let lease = held.lease.clone();
        story.leases.push(held);
        drop(story);
        Some(Job { caller, place, lease, manner, ttl, term: self.term.clone() })
    }
}
