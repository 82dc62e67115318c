//! The receivers of webhooks: parties that answer, late, wrongly, twice as slow, or never.
//!
//! How one behaves stands in its URL, so that a definition says it: `http://receiver-3.example/flaky`. Every request that
//! leaves a node is in the story, with what became of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use campanile::dispatch::classify::Failure;
use campanile::dispatch::exit::{Answer, Exit, Lost, Parcel};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::story::{Send, Story};
use super::trace::Trace;
use crate::seed::Dice;

/// All receivers of a world. Clones are the same ones.
#[derive(Clone)]
pub struct Receivers {
    inner: Arc<Mutex<Dice>>,
    story: Arc<Mutex<Story>>,
    trace: Trace,
}

/// What a receiver does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// Answers so after so long.
    Answer(u16, Duration),
    /// Has it, and does not answer in time.
    Hang,
    /// Has it, and breaks off.
    Break(Duration),
    /// Is not there.
    Refuse,
}

impl Receivers {
    /// With dice of their own.
    #[must_use]
    pub fn new(dice: Dice, story: Arc<Mutex<Story>>, trace: Trace) -> Self {
        Self { inner: Arc::new(Mutex::new(dice)), story, trace }
    }

    /// The way from a node to them.
    #[must_use]
    pub fn exit(&self) -> Arc<dyn Exit> {
        Arc::new(Way(self.clone()))
    }

    fn deed(&self, path: &str) -> Deed {
        let mut dice = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let soon = dice.between(Duration::from_millis(1), Duration::from_millis(40));
        let later = dice.between(Duration::from_millis(200), Duration::from_secs(4));
        match (path, dice.below(100)) {
            ("/ok", _) => Deed::Answer(200, soon),
            ("/slow", _) => Deed::Answer(200, later),
            ("/bad", 0..60) => Deed::Answer(500, soon),
            ("/gone", _) => Deed::Refuse,
            ("/flaky", 0..25) => Deed::Answer(503, soon),
            ("/flaky", 25..35) => Deed::Hang,
            ("/flaky", 35..45) => Deed::Break(soon),
            ("/flaky", 45..55) => Deed::Refuse,
            ("/flaky", 55..65) => Deed::Answer(429, soon),
            ("/flaky", 65..70) => Deed::Answer(400, soon),
            _ => Deed::Answer(200, soon),
        }
    }

    fn begin(&self, parcel: &Parcel) -> usize {
        let text = |name: &str| parcel.headers.get(name).and_then(|value| value.to_str().ok());
        let number = |name: &str| text(name).and_then(|text| text.parse().ok());
        let mut story = self.story();
        let firing = text("campanile-firing").and_then(|text| text.parse().ok());
        story.sends.push(Send {
            node: number("campanile-node").unwrap_or_default(),
            firing: firing.expect("every webhook names its firing"),
            attempt: number("campanile-attempt").unwrap_or_default() as u32,
            token: number("campanile-fencing-token").unwrap_or_default(),
            url: parcel.url.to_string(),
            sent: self.trace.moment(),
            arrived: None,
            answered: None,
        });
        let place = story.sends.len() - 1;
        let send = &story.sends[place];
        let numbers = [send.node, u64::from(send.attempt), send.token];
        self.trace.note("webhook", &numbers, || {
            format!("node {} {} attempt {} token {}", send.node, send.firing, send.attempt, send.token)
        });
        place
    }

    fn story(&self) -> MutexGuard<'_, Story> {
        self.story.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(self, parcel: Parcel) -> Result<Answer, Lost> {
        let place = self.begin(&parcel);
        let deed = self.deed(parcel.url.path());
        if deed == Deed::Refuse {
            tokio::time::sleep(Duration::from_millis(1)).await;
            return Err(Lost::new(Failure::NotConnected, "connection refused"));
        }
        tokio::time::sleep(Duration::from_micros(500)).await;
        self.story().sends[place].arrived = Some(self.trace.moment());
        match deed {
            Deed::Answer(status, after) if after < parcel.within => {
                tokio::time::sleep(after).await;
                self.story().sends[place].answered = Some(status);
                let retry_after = (status == 429).then(|| "2".to_owned());
                Ok(Answer::whole(status, retry_after, Bytes::from_static(b"seen")))
            }
            Deed::Break(after) => {
                tokio::time::sleep(after).await;
                Err(Lost::new(Failure::Broken, "connection reset by peer"))
            }
            Deed::Answer(..) | Deed::Hang | Deed::Refuse => {
                tokio::time::sleep(parcel.within).await;
                Err(Lost::new(Failure::TimedOut, "no answer in time"))
            }
        }
    }
}

struct Way(Receivers);

impl std::fmt::Debug for Way {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Way")
    }
}

impl Exit for Way {
    fn send(&self, parcel: Parcel) -> BoxFuture<'_, Result<Answer, Lost>> {
        self.0.clone().serve(parcel).boxed()
    }
}
