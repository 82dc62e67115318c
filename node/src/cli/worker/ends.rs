//! How commands are made to end before they are done, whoever wants it.

use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What the worker says to all of its commands, and what they say to it.
#[derive(Debug, Clone, Default)]
pub(super) struct Ends {
    /// SIGTERM, and SIGKILL after the grace.
    pub(super) end: CancellationToken,
    /// SIGKILL.
    pub(super) kill: CancellationToken,
    cut_short: Arc<AtomicBool>,
    broken: Arc<OnceLock<String>>,
}

impl Ends {
    /// Waits until the worker wants no command to go on.
    pub(super) async fn wanted(&self) {
        tokio::select! {
            () = self.end.cancelled() => {}
            () = self.kill.cancelled() => {}
        }
    }

    /// A command was ended by the worker, and its firing left to others.
    pub(super) fn cut_short(&self) {
        self.cut_short.store(true, Ordering::Relaxed);
    }

    /// Whether one was.
    pub(super) fn has_cut_short(&self) -> bool {
        self.cut_short.load(Ordering::Relaxed)
    }

    /// The command cannot be started any more; the first reason is kept.
    pub(super) fn broke(&self, why: String) {
        let _ = self.broken.set(why);
    }

    /// Why it cannot.
    pub(super) fn broken(&self) -> Option<String> {
        self.broken.get().cloned()
    }
}

/// SIGTERM and SIGINT, from the moment of its making on.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The name of the signal that came.
    pub(super) async fn received(&mut self) -> &'static str {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
