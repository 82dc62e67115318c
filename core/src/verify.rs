//! The verifier: reads the ledger alone, and says whether every nominal instant was decided exactly once, and nothing else.
//!
//! It finds each instant by its own path: it steps through [`crate::series`] from one to the next. It must not ask
//! [`crate::plan`] or [`crate::machine`] anything, since those are what it judges. It keeps what stands (schedules, live
//! firings) and nothing of what is over, so that a ledger of any length is judged in one pass.

mod order;
mod verdict;

use crate::event::Row;
use crate::time::{Span, Timestamp};

use order::Order;
use verdict::Docket;
pub use verdict::{Counts, Fault, MAX_OFFENDERS, Offender, Place, Verdict};

/// What is judged. The default is everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Only schedules of this namespace.
    pub namespace: Option<Box<str>>,
    /// Only nominal instants after this one.
    pub after: Option<Timestamp>,
    /// Only nominal instants up to this one. Later than the last row it says that the ledger is whole up to here: what had
    /// to be decided by now is missing even if nothing was written since.
    pub until: Option<Timestamp>,
    /// How long a healthy leader may take: an instant that has come is `pending` for so long, and missing after it. The time
    /// counts from the instant, from when a leader took office, and from when one last decided something later than this,
    /// whichever is last: after an outage a backlog is decided in parts. It excuses only instants at the end of the ledger:
    /// one that a later decision of its schedule has passed over is missing at once.
    pub patience: Span,
}

impl Scope {
    /// [`Scope::patience`] when nothing else is said: ticks lag by seconds, a change of leaders by a few more, and a look
    /// at a million schedules after a change of calendars by ten.
    pub const PATIENCE: Span = Span::from_secs(60);
}

impl Default for Scope {
    fn default() -> Self {
        Self { namespace: None, after: None, until: None, patience: Self::PATIENCE }
    }
}

/// Judges a ledger, row by row.
#[derive(Debug)]
pub struct Verifier {
    scope: Scope,
    order: Order,
    docket: Docket,
}

impl Verifier {
    /// One that has heard nothing.
    #[must_use]
    pub fn new(scope: Scope) -> Self {
        Self { order: Order::new(scope.patience), scope, docket: Docket::default() }
    }

    /// The first rows of the ledger were dropped: what is known only from them is `unverified` and no phantom, until it is
    /// told again.
    pub fn begins_midway(&mut self) {}

    /// The next row, in the order of the log.
    pub fn hear(&mut self, place: Place, row: &Row) {
        self.docket.counts.rows += 1;
        self.order.hear(place, row, &mut self.docket);
    }

    /// That was the last row.
    #[must_use]
    pub fn finish(mut self) -> Verdict {
        let until = self.order.horizon(self.scope.until);
        self.docket.close(until, None)
    }
}
