//! Damage that a reader meets in a ledger that is open: told once to whoever answers for the directory.
//!
//! A reader only learns that its own request failed. Must not decide what follows: a node of several is rebuilt from a peer,
//! one alone goes on with what reads.

use std::{
    fmt,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::Trouble;

type Hear = Box<dyn Fn(&Trouble) + Send + Sync>;

/// The one who hears of it, if anybody does.
#[derive(Default)]
pub(crate) struct Found {
    hear: OnceLock<Hear>,
    told: AtomicBool,
}

impl Found {
    /// The first to ask for it hears it.
    pub(crate) fn listen(&self, hear: Hear) {
        let _first = self.hear.set(hear);
    }

    /// Tells of damage, the first time; other trouble is the reader's alone.
    pub(crate) fn tell(&self, trouble: &Trouble) {
        let Some(hear) = self.hear.get().filter(|_| matches!(trouble, Trouble::Damaged { .. })) else {
            return;
        };
        if !self.told.swap(true, Ordering::Relaxed) {
            hear(trouble);
        }
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Found").field("told", &self.told).finish_non_exhaustive()
    }
}
