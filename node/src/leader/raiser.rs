//! The format duty: once every member reads a newer level than the cluster writes, it is raised on the log.
//!
//! It must not raise while a member has not said lately what it reads: who is down may come back as an older version, and
//! would have to stop. What all read is consensus' word, and that it is newer is judged again where the log has its order.

use std::time::Duration;

use campanile_core::command::Body;
use campanile_core::machine::Machine;
use campanile_raft::runtime;

use super::duty::Duty;
use super::office::Office;
use crate::clock::Clock;

/// How often it is looked: an upgrade is a matter of minutes.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Raises the level while its office lasts.
#[derive(Debug)]
pub(super) struct Raiser<O> {
    office: O,
    clock: Clock,
}

impl<O: Office> Raiser<O> {
    /// The duty of that office.
    pub(super) const fn new(office: O, clock: Clock) -> Self {
        Self { office, clock }
    }

    /// One look, and what it finds to do.
    async fn look(&self) {
        let Some(Body::SetFormatLevel(level)) = self.due(&self.office.view()) else { return };
        tracing::info!(%level, "every member reads a newer format level: it is raised");
        let proposed = self.office.propose(self.clock.now(), |_, machine| self.due(machine)).await;
        if let Err(why) = proposed {
            tracing::debug!(%why, "the format level is raised later");
        }
    }

    fn due(&self, machine: &Machine) -> Option<Body> {
        let common = self.office.common_level()?;
        (common > machine.format_level()).then_some(Body::SetFormatLevel(common))
    }
}

impl<O: Office> Duty for Raiser<O> {
    async fn turn(&mut self) {
        self.look().await;
        tokio::time::sleep(runtime::between_looks(LOOK_EVERY)).await;
    }
}

#[cfg(test)]
mod tests;
