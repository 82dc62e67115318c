//! The listener: hears in what is applied that an attempt under way from here is to stop, and tells it.
//!
//! Two words. *Stop* (`overlap: replace` has asked): the request is cut off and settled as stopped, so that the newer
//! firing can start. *Over* (cancelled, terminated, its lease ended): the request is cut off and nothing is settled, since
//! its token is dead. It carries no state: each look compares every claim with the machine, so nothing is missed when a
//! look is.

use std::sync::Arc;
use std::time::Duration;

use campanile_core::firing::{Firing, Phase};
use campanile_core::id::AttemptNumber;
use campanile_raft::runtime::watch;
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use crate::service::quorum::Quorum;

/// The least distance between two looks: a look passes every claim, and a busy log applies thousands of entries a second.
const REST: Duration = Duration::from_millis(5);

/// What an attempt is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// Stop, and say that you did.
    Stop,
    /// Whatever you say is refused.
    Over,
}

/// The line to one attempt.
#[derive(Debug)]
pub(super) struct Line {
    attempt: AttemptNumber,
    word: watch::Sender<Option<Word>>,
}

impl Line {
    /// To that attempt, which is about to begin.
    pub(super) fn of(attempt: AttemptNumber) -> Self {
        Self { attempt, word: watch::Sender::new(None) }
    }

    /// Tells it. The last word counts: what is asked to stop can be over a moment later.
    fn tell(&self, word: Word) {
        self.word.send_if_modified(|told| told.replace(word) != Some(word));
    }

    /// Resolves when there is a word, however early it came.
    pub(super) async fn word(&self) -> Word {
        let mut heard = self.word.subscribe();
        loop {
            if let Some(word) = *heard.borrow_and_update() {
                return word;
            }
            if heard.changed().await.is_err() {
                // The sender is in `self`.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Listens for the attempts of one node.
pub(super) struct Listener {
    quorum: Arc<dyn Quorum>,
    desk: Arc<Desk>,
}

impl Listener {
    pub(super) fn new(quorum: Arc<dyn Quorum>, desk: Arc<Desk>) -> Self {
        Self { quorum, desk }
    }

    /// Listens until `stop`.
    pub(super) async fn run(self, stop: CancellationToken) {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.listen() => {}
        }
    }

    async fn listen(&self) {
        loop {
            // The claims first: a view that is older than a claim does not know its firing.
            let lines = self.desk.lines();
            let view = self.quorum.view();
            for (firing, line) in lines {
                if let Some(word) = word_for(line.attempt, view.firing(firing).map(|firing| &**firing)) {
                    line.tell(word);
                }
            }
            self.quorum.applied_beyond(view.applied()).await;
            tokio::time::sleep(REST).await;
        }
    }
}

/// What an attempt is to hear, as its firing stands.
fn word_for(attempt: AttemptNumber, firing: Option<&Firing>) -> Option<Word> {
    let Some(firing) = firing else { return Some(Word::Over) };
    match &firing.phase {
        Phase::Running(lease) if lease.attempt == attempt => firing.stop_asked.map(|_| Word::Stop),
        // It has not begun: its Begin is on the way.
        _ if firing.attempt < attempt => None,
        _ => Some(Word::Over),
    }
}
