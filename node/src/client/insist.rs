//! Sending a request until it is answered: for programs that outlive an election, where a person would rather be told.
//!
//! It insists within a deadline that its caller names, and only on what a moment may mend ([`Error::may_pass`]).

use std::time::{Duration, Instant};

use super::{Answer, Call, Client, Error, Failed};

/// The first wait between two rounds over the endpoints: a planned change of leader takes less.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest: a cluster that comes back is found within it.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

impl Client {
    /// Sends `call`, as it is, to each endpoint in turn, round after round, until one answers.
    ///
    /// # Errors
    /// What no moment mends, at once; what has gone wrong last, at `until`.
    pub(super) async fn insist(&self, call: &Call, until: Instant) -> Result<Answer, Error> {
        let mut waits = Waits::default();
        loop {
            let error = match self.round(call, until).await {
                Ok(answer) => return Ok(answer),
                Err(error) if error.may_pass() => error,
                Err(error) => return Err(error),
            };
            let wait = waits.next();
            if Instant::now() + wait >= until {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends `call`, as it is, to each endpoint once.
    ///
    /// # Errors
    /// What came of it. The endpoint that answered last is asked first, unless what it says is a defect of its own.
    pub(super) async fn round(&self, call: &Call, until: Instant) -> Result<Answer, Error> {
        let mut failed = Failed::default();
        match self.ask_each(call, until, &mut failed).await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(failed.into_error()),
            Err(error) => {
                if error.may_pass() {
                    self.prefer_another();
                }
                Err(error)
            }
        }
    }
}

/// The waits between tries: ever longer, each somewhere in the upper half of its length, so that a thousand workers do not
/// come back in one instant.
#[derive(Debug, Default)]
pub(super) struct Waits {
    tries: u32,
}

impl Waits {
    /// Whether there has been one.
    pub(super) fn have_passed(&self) -> bool {
        self.tries > 0
    }

    /// How long to wait before the next try.
    pub(super) fn next(&mut self) -> Duration {
        let whole = FIRST_WAIT.saturating_mul(1 << self.tries.min(10)).min(LONGEST_WAIT);
        self.tries += 1;
        let mut dice = [0];
        // Without a die the wait is the longest, which is a wait too.
        let dice = getrandom::fill(&mut dice).map_or(u8::MAX, |()| dice[0]);
        whole / 2 + whole * u32::from(dice) / 510
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_their_bound_and_stay_in_the_upper_half_of_their_length() {
        let mut waits = Waits::default();
        let mut whole = FIRST_WAIT;
        for _ in 0..20 {
            let wait = waits.next();
            assert!(wait >= whole / 2 && wait <= whole, "{wait:?} of {whole:?}");
            whole = (whole * 2).min(LONGEST_WAIT);
        }
    }
}
