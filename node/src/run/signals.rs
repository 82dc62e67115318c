//! What tells a node to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::Failure;

/// SIGTERM and SIGINT, from the moment of its making on.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> Result<Self, Failure> {
        let kind = |kind: SignalKind| {
            signal(kind).map_err(|error| {
                Failure::Usage(format!("cannot listen to signals ({error}): check the limits of this user"))
            })
        };
        Ok(Self { terminate: kind(SignalKind::terminate())?, interrupt: kind(SignalKind::interrupt())? })
    }

    /// Returns the name of the signal that came.
    pub(super) async fn received(&mut self) -> &'static str {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
