//! Answers that are read as they come: asked of one endpoint after the other until one begins.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::Response;

use super::ask;
use super::{Call, Client, Error, Failed, Problem};

/// A node that sends nothing for so long is gone: it has something to say every 15 s, and a download never pauses.
pub(super) const HEARD_WITHIN: Duration = Duration::from_secs(45);

/// A large answer on its way.
#[derive(Debug)]
pub struct Download(Response);

impl Client {
    /// Asks for something large, piece by piece. It is never asked for again: what has come of it cannot be taken back.
    ///
    /// # Errors
    /// As [`Client::try_once`].
    pub async fn download(&self, call: &Call) -> Result<Download, Error> {
        let mut failed = Failed::default();
        let deadline = Instant::now() + self.options.timeout;
        match self.open_each(call, deadline, &mut failed).await? {
            Some(response) => Ok(Download(response)),
            None => Err(failed.into_error()),
        }
    }

    /// Asks each endpoint once, beginning with the one that answered last. `None` when none of them has begun to answer.
    pub(super) async fn open_each(
        &self,
        call: &Call,
        deadline: Instant,
        failed: &mut Failed,
    ) -> Result<Option<Response>, Error> {
        let mut turns = self.turns(deadline);
        while let Some(turn) = turns.next(call, failed) {
            match ask::open(&self.http, turn.endpoint, self.options.token.as_ref(), call, turn.share).await {
                Ok(response) => {
                    self.preferred.store(turn.place, Ordering::Relaxed);
                    return Ok(Some(response));
                }
                Err(outcome) => failed.hear(turn.endpoint, call, outcome)?,
            }
        }
        Ok(None)
    }
}

impl Download {
    /// The next piece; `None` at the end of the answer.
    ///
    /// # Errors
    /// A problem with the code `cut_off` when the answer breaks off: what has come is not whole.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Error> {
        match tokio::time::timeout(HEARD_WITHIN, self.0.chunk()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(error)) => Err(cut_off(&ask::innermost(&error))),
            Err(_) => Err(cut_off(&format!("nothing came for {} s", HEARD_WITHIN.as_secs()))),
        }
    }
}

fn cut_off(why: &str) -> Error {
    let detail = format!("the download was cut off: {why}");
    Error::Problem(Box::new(Problem { status: 0, code: "cut_off".into(), detail, ..Problem::default() }))
}
