//! How instants are decided and firings delivered: the choices of a user, with their defaults.

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// How instants are decided and firings delivered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Policy {
    /// What becomes of a firing while another of the schedule runs.
    pub overlap: Overlap,
    /// How many firings may wait for the one that runs; beyond, they are skipped as `overlap`.
    pub queue_limit: u32,
    /// How far the dispatch is spread behind the nominal instants.
    pub jitter: Jitter,
    /// What becomes of a schedule of which nothing more can come.
    pub after_completion: AfterCompletion,
    /// What becomes of instants that were missed.
    pub catch_up: CatchUp,
    /// How often a firing may be sent.
    pub delivery: Delivery,
    /// When a failed attempt is tried again.
    pub retry: RetryPolicy,
    /// Pauses the schedule after so many failed firings in a row.
    pub pause_after_failures: Option<u32>,
    /// A firing that is not settled so long after its decision is given up as `timed_out`: no attempt begins later, and no
    /// lease goes beyond. `None` for no end.
    pub deadline: Option<Span>,
}

/// Judged at the log position: something "runs" from fired until settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Overlap {
    /// Firings run beside each other.
    #[default]
    Allow,
    /// An instant that comes while another firing runs is skipped as `overlap`.
    Skip,
    /// One may wait until the running one has settled; further ones are skipped as `overlap`.
    QueueOne,
    /// All wait in order, up to `queue_limit`.
    QueueAll,
    /// The running one is asked to stop, and the new one starts when it has settled; a newer one takes the place of one that
    /// waits.
    Replace,
    /// The running one is settled as `cancelled` at once, its token is dead, and the new one starts.
    Terminate,
}

impl Overlap {
    /// Its name in the API and the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Skip => "skip",
            Self::QueueOne => "queue_one",
            Self::QueueAll => "queue_all",
            Self::Replace => "replace",
            Self::Terminate => "terminate",
        }
    }
}

/// A spread of the dispatch, never of the nominal: the delay is made from (uid, nominal), so it is the same in every retry and
/// on every node, and it never reaches the next nominal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Jitter {
    /// Up to so long; zero is none.
    Fixed(Span),
    /// Up to a tenth of the distance from the previous nominal, at most 10 s.
    Auto,
}

impl Default for Jitter {
    fn default() -> Self {
        Self::Fixed(Span::ZERO)
    }
}

/// What becomes of a schedule of which nothing more can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum AfterCompletion {
    /// It stays, `finished`.
    #[default]
    Keep,
    /// It is removed once its last firing has settled.
    Delete,
}

/// What becomes of undecided instants older than the failover grace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CatchUp {
    /// Which of those inside the window fire.
    pub mode: CatchUpMode,
    /// Instants older than this are skipped `too_late`; `None` is unlimited.
    pub window: Option<Span>,
}

/// Which of the missed instants fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum CatchUpMode {
    /// Each, in order.
    #[default]
    All,
    /// The newest; the others are `coalesced` into it.
    Latest,
    /// None; they are skipped as `too_late`.
    None,
}

impl CatchUp {
    /// Everything that was missed, however old: what `automatic_backfill` is another spelling of. Then a pause is caught up
    /// on too when it ends.
    pub const UNLIMITED: Self = Self { mode: CatchUpMode::All, window: None };
}

impl Default for CatchUp {
    fn default() -> Self {
        Self { mode: CatchUpMode::All, window: Some(Span::from_secs(60)) }
    }
}

/// How often a firing may reach its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Delivery {
    /// Retried until settled.
    #[default]
    AtLeastOnce,
    /// Sent once; a lost answer ends as `unknown`.
    AtMostOnce,
}

/// When a failed attempt is tried again; the arithmetic is in [`crate::retry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Attempts in all, the first included; at least 1.
    pub max_attempts: u32,
    /// The wait after the first failure.
    pub initial: Span,
    /// The longest wait.
    pub max: Span,
    /// Each wait is this many times the one before.
    pub factor: u32,
    /// Give a live tick up once the next would overtake it.
    pub until_next: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            initial: Span::from_secs(1),
            max: Span::from_secs(60),
            factor: 2,
            until_next: false,
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            overlap: Overlap::Allow,
            queue_limit: 1_000,
            jitter: Jitter::default(),
            after_completion: AfterCompletion::Keep,
            catch_up: CatchUp::default(),
            delivery: Delivery::AtLeastOnce,
            retry: RetryPolicy::default(),
            pause_after_failures: None,
            deadline: None,
        }
    }
}
