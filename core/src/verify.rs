//! The verifier: reads the ledger alone, and says whether every nominal instant was decided exactly once, and nothing else.
//!
//! It finds each instant by its own path: it steps through [`crate::series`] from one to the next. It must not ask
//! [`crate::plan`] or [`crate::machine`] anything, since those are what it judges. It keeps what stands (schedules, live
//! firings) and nothing of what is over, so that a ledger of any length is judged in one pass.

mod asked;
mod calendars;
mod chapter;
mod court;
mod decide;
mod hearing;
mod life;
mod order;
mod part;
mod verdict;
mod work;

use std::collections::BTreeMap;

use crate::event::Row;
use crate::id::{LogIndex, Uid};
use crate::time::{Span, Timestamp};

use asked::Backfills;
use calendars::Rules;
use court::Court;
use life::{Life, Standing};
use order::Order;
use part::Parts;
use verdict::Docket;
use work::Work;

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
    /// counts from the instant, from when a leader took office, from the first row after a silence that is longer than this,
    /// and from when something was last decided later than this, whichever is last: after an outage a backlog is decided in
    /// parts. It excuses only instants at the end of the ledger:
    /// one that a later decision of its schedule has passed over is missing at once.
    pub patience: Span,
}

impl Scope {
    /// [`Scope::patience`] when nothing else is said: ticks lag by seconds, a change of leaders by a few more, and a look
    /// at a million schedules after a change of calendars by ten.
    pub const PATIENCE: Span = Span::from_secs(60);

    /// Whether an instant is judged.
    fn covers(&self, nominal: Timestamp) -> bool {
        self.after.is_none_or(|after| nominal > after) && self.until.is_none_or(|until| nominal <= until)
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self { namespace: None, after: None, until: None, patience: Self::PATIENCE }
    }
}

/// Judges a ledger, row by row.
#[derive(Debug)]
pub struct Verifier {
    lives: BTreeMap<Uid, Life>,
    backfills: Backfills,
    bench: Bench,
    /// The entry that is being heard.
    entry: LogIndex,
    /// Its decisions that are not judged yet.
    parts: Parts,
    /// The schedules for which it has something to decide.
    open: Vec<Uid>,
    /// Schedules may stand that no row has told of yet.
    is_midway: bool,
    /// The time of the first row, when rows before it were dropped.
    begins_at: Option<Timestamp>,
    /// The entry of the first row.
    begins: LogIndex,
}

/// What judgements are made with, whatever the schedule.
#[derive(Debug)]
struct Bench {
    scope: Scope,
    docket: Docket,
    order: Order,
    rules: Rules,
    work: Work,
}

impl Bench {
    fn court(&mut self, at: Timestamp, place: Option<Place>) -> Court<'_> {
        let Self { scope, docket, order, rules, work } = self;
        Court { scope, docket, order, rules, work, at, place }
    }
}

impl Verifier {
    /// One that has heard nothing.
    #[must_use]
    pub fn new(scope: Scope) -> Self {
        let order = Order::new(scope.patience);
        Self {
            lives: BTreeMap::new(),
            backfills: Backfills::default(),
            bench: Bench {
                scope,
                docket: Docket::default(),
                order,
                rules: Rules::default(),
                work: Work::default(),
            },
            entry: LogIndex(0),
            parts: Parts::default(),
            open: Vec::new(),
            is_midway: false,
            begins_at: None,
            begins: LogIndex(0),
        }
    }

    /// The first rows of the ledger were dropped: what is known only from them is `unverified` and no phantom, until it is
    /// told again. To be said before the first row.
    pub fn begins_midway(&mut self) {
        self.is_midway = true;
        self.begins_at = Some(Timestamp::NEVER);
    }

    /// The next row, in the order of the log. An entry is heard whole: its decisions are judged when the next one begins.
    pub fn hear(&mut self, place: Place, row: &Row) {
        if place.index != self.entry {
            if self.bench.docket.counts.rows == 0 {
                self.begins = place.index;
            }
            self.close_entry();
            self.entry = place.index;
        }
        self.bench.docket.counts.rows += 1;
        if let Some(begins_at) = &mut self.begins_at {
            *begins_at = row.at.min(*begins_at);
        }
        self.bench.order.hear(place, row, &mut self.bench.docket);
        self.take(place, row);
    }

    /// That was the last row.
    #[must_use]
    pub fn finish(mut self) -> Verdict {
        self.close_entry();
        let Self { mut lives, mut bench, .. } = self;
        let horizon = bench.order.horizon(bench.scope.until);
        let end = bench.order.at;
        for life in lives.values_mut().filter(|life| life.standing == Standing::Active) {
            life.close(horizon, end, &mut bench.court(end, None));
        }
        bench.docket.counts.undelivered = bench.work.undelivered();
        bench.docket.close(horizon, bench.rules.zones_differ())
    }
}
