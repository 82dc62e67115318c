//! One lease in the hands of a worker, from being given to being done with.

use std::time::Duration;

use campanile_core::cron::parse_instant;
use serde_json::{Value, json};

use crate::seed::Dice;
use crate::sim::caller::{Caller, Request, is_final};
use crate::sim::story::{Ended, Held, Outcome, Settle};
use crate::sim::workload::Term;

/// How a worker treats a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Works shorter than the lease, and settles.
    Prompt,
    /// Works longer, with heartbeats.
    Beating,
    /// Settles after the end of the lease.
    Late,
    /// Settles, and settles again.
    Twice,
    /// Two of its threads settle at once, each its own way.
    Racing,
    /// Says nothing any more.
    Silent,
    /// Is silent beyond the end, then beats and settles as if nothing had been.
    Returning,
}

impl Manner {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Beating => "beating",
            Self::Late => "late",
            Self::Twice => "twice",
            Self::Racing => "racing",
            Self::Silent => "silent",
            Self::Returning => "returning",
        }
    }

    pub(super) fn any(dice: &mut Dice) -> Self {
        match dice.below(100) {
            0..8 => Self::Late,
            8..16 => Self::Twice,
            16..22 => Self::Racing,
            22..28 => Self::Silent,
            28..33 => Self::Returning,
            _ => Self::well(dice),
        }
    }

    pub(super) fn well(dice: &mut Dice) -> Self {
        if dice.percent(20) { Self::Beating } else { Self::Prompt }
    }
}

/// See the head of the file.
pub(super) struct Job {
    pub(super) caller: Caller,
    /// Of its [`Held`] in the story.
    pub(super) place: usize,
    pub(super) lease: String,
    pub(super) manner: Manner,
    pub(super) ttl: Duration,
    pub(super) term: Term,
}

/// How often a settle is sent.
const TRIES: u32 = 6;

impl Job {
    pub(super) async fn live(mut self) {
        let ttl = self.ttl.as_millis() as u64;
        match self.manner {
            Manner::Prompt => self.caller.rests(5, 800).await,
            Manner::Beating => {
                for _ in 0..2 + self.caller.dice.below(3) {
                    self.caller.rests(ttl / 3, ttl * 2 / 3).await;
                    if self.term.is_over() || !self.beats().await {
                        break;
                    }
                }
            }
            Manner::Late => self.caller.rests(ttl + 100, ttl + 4_000).await,
            Manner::Returning => {
                self.caller.rests(ttl + 500, ttl + 6_000).await;
                self.beats().await;
            }
            Manner::Silent => return self.end(Ended::Silent),
            Manner::Twice | Manner::Racing => self.caller.rests(5, 600).await,
        }
        self.settles_so().await;
    }

    /// Once, twice, or two at a time.
    async fn settles_so(mut self) {
        let (first, second) = (self.outcome(), self.outcome());
        let lease = self.lease.clone();
        let told = match self.manner {
            Manner::Racing => {
                let mut beside = self.caller.beside();
                let (told, other) = tokio::join!(biased; settle(&mut self.caller, &lease, first), settle(&mut beside, &lease, second));
                self.note(other.clone());
                self.note(told.clone());
                if matches!(other.answer, Outcome::Ok(..)) { other } else { told }
            }
            _ => {
                let told = settle(&mut self.caller, &lease, first).await;
                self.note(told.clone());
                told
            }
        };
        if self.manner == Manner::Twice {
            self.caller.rests(1, 1_500).await;
            let again = if self.caller.dice.percent(50) { first } else { second };
            let again = settle(&mut self.caller, &lease, again).await;
            self.note(again);
        }
        self.end(match told.answer {
            Outcome::Ok(..) => Ended::Settled,
            Outcome::Fail(_, code) if code == "lease_lost" => Ended::Lost,
            _ => Ended::Unknown,
        });
    }

    /// Whether the work goes on.
    async fn beats(&mut self) -> bool {
        let body = match self.caller.dice.below(2) {
            0 => json!({}),
            _ => json!({ "ttl": format!("{}s", self.ttl.as_secs()) }),
        };
        let request = Request::with("POST", format!("/v1/leases/{}/heartbeat", self.lease), body);
        let within = self.caller.patience().min(self.ttl);
        match self.caller.ask(&request, None, within).await.0 {
            Outcome::Ok(_, answer) => {
                let moment = self.caller.doors().moment();
                let until = answer["until"].as_str().and_then(parse_instant);
                self.held(|held| held.beats.extend(until.map(|until| (moment, until))));
                answer["stop"] != json!(true)
            }
            Outcome::Fail(_, code) => code != "lease_lost",
            Outcome::Unknown => true,
        }
    }

    fn outcome(&mut self) -> &'static str {
        match self.caller.dice.below(100) {
            0..12 => "retry",
            12..22 => "failed",
            22..25 => "cancelled",
            _ => "succeeded",
        }
    }

    fn note(&self, settle: Settle) {
        self.held(|held| held.settles.push(settle));
    }

    fn end(&self, ended: Ended) {
        let moment = self.caller.doors().moment();
        self.held(|held| held.ended = Some((moment, ended)));
    }

    fn held(&self, change: impl FnOnce(&mut Held)) {
        change(&mut self.caller.doors().story().leases[self.place]);
    }
}

/// Says it until there is an answer.
async fn settle(caller: &mut Caller, lease: &str, outcome: &'static str) -> Settle {
    let asked = caller.doors().moment();
    let request =
        Request::with("POST", format!("/v1/leases/{lease}/settle"), body_of(outcome, &mut caller.dice));
    let mut tries = 1;
    loop {
        let within = caller.patience();
        let answer = caller.ask(&request, None, within).await.0;
        if is_final(&answer) || tries == TRIES {
            return Settle { outcome, asked, told: caller.doors().moment(), answer };
        }
        tries += 1;
        caller.rests(50, 200 << tries).await;
    }
}

fn body_of(outcome: &str, dice: &mut Dice) -> Value {
    let mut body = json!({ "outcome": outcome, "output": format!("worked {}", dice.below(1_000)) });
    if outcome == "retry" && dice.percent(60) {
        body["retry_after"] = dice.pick(&["200ms", "1s", "3s"]).into();
    }
    if outcome == "failed" {
        body["error"] = "it would not".into();
    }
    body
}
