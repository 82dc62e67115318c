//! One incarnation of a schedule as the rows tell it: its definition, whether its instants are decided, and the cursor up to
//! which they are.

use std::sync::Arc;

use crate::cron::instant_text;
use crate::definition::{Definition, ScheduleName};
use crate::event::SkipReason;
use crate::id::{Revision, Uid};
use crate::schedule;
use crate::series::Series;
use crate::spec::Exclusion;
use crate::time::{Span, Timestamp};

use super::court::{Court, Party};
use super::verdict::Fault;

/// The least distance of two instants.
pub(super) const MILLI: Span = Span::from_millis(1);

/// Whether the instants of a schedule are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Active,
    Paused,
    Parked,
    Finished,
    /// The rows that tell it were dropped: nothing is judged until it is told again.
    Unknown,
}

impl Standing {
    pub(super) const fn of(state: &schedule::State) -> Self {
        match state {
            schedule::State::Active => Self::Active,
            schedule::State::Paused { .. } => Self::Paused,
            schedule::State::Parked { .. } => Self::Parked,
            schedule::State::Finished => Self::Finished,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Parked => "parked",
            Self::Finished => "finished",
            Self::Unknown => "unknown",
        }
    }
}

/// What this very entry has to decide, and under which reason it may skip.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub(super) until: Timestamp,
    pub(super) reason: SkipReason,
}

/// A schedule.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) uid: Uid,
    pub(super) name: ScheduleName,
    /// Whether it is in scope.
    pub(super) is_judged: bool,
    pub(super) standing: Standing,
    pub(super) revision: Revision,
    definition: Arc<Definition>,
    names_calendars: bool,
    /// Its instants; none when they cannot be evaluated here.
    series: Option<Series>,
    /// Nothing of it was nominal up to here.
    pub(super) born: Timestamp,
    /// When its definition came into force.
    pub(super) defined_at: Timestamp,
    /// Everything up to here is decided.
    pub(super) cursor: Timestamp,
    /// How many of its instants have fired.
    pub(super) fired: u64,
    /// Instants up to here need no decision: a schedule that was used up says nothing of those.
    excused: Timestamp,
    pub(super) due: Option<Due>,
}

/// A definition that came into force, or is told again.
pub(super) struct Version<'a> {
    pub(super) revision: Revision,
    pub(super) definition: &'a Arc<Definition>,
    pub(super) mark: Timestamp,
}

impl Life {
    /// One that begins here.
    pub(super) fn new(uid: Uid, name: &ScheduleName, version: &Version<'_>, court: &mut Court<'_>) -> Self {
        let wanted = court.scope.namespace.as_deref();
        let mut life = Self {
            uid,
            name: name.clone(),
            is_judged: wanted.is_none_or(|namespace| name.namespace() == namespace),
            standing: Standing::Active,
            revision: version.revision,
            definition: version.definition.clone(),
            names_calendars: false,
            series: None,
            born: version.mark,
            defined_at: court.at,
            cursor: version.mark,
            fired: 0,
            excused: Timestamp::from_millis(i64::MIN),
            due: None,
        };
        life.follow(version, court);
        life
    }

    /// Goes on under another definition.
    pub(super) fn follow(&mut self, version: &Version<'_>, court: &mut Court<'_>) {
        self.defined_at = court.at;
        self.revision = version.revision;
        self.definition = version.definition.clone();
        self.names_calendars =
            self.definition.exclude.iter().any(|exclusion| Exclusion::calendar(exclusion).is_some());
        self.series = if self.is_judged { court.rules.series(&self.definition) } else { None };
        self.cursor = version.mark;
    }

    /// Its instants under the calendars as they stand.
    pub(super) fn series(&mut self, court: &mut Court<'_>) -> Option<&Series> {
        let is_old = |series: &Series| self.names_calendars && court.rules.is_old(series);
        if self.is_judged && self.series.as_ref().is_none_or(is_old) {
            self.series = court.rules.series(&self.definition);
        }
        self.series.as_ref()
    }

    pub(super) fn party(&self) -> Party<'_> {
        Party { uid: self.uid, name: Some(&self.name) }
    }

    /// Whether its definition lets no instant fire any more.
    pub(super) fn is_used_up(&self) -> bool {
        self.definition.max_firings.is_some_and(|most| self.fired >= most)
    }

    /// What this entry had to decide, it has; its decisions have been judged.
    pub(super) fn settle_due(&mut self, court: &mut Court<'_>) {
        if let Some(due) = self.due.take() {
            self.pass_to(due.until, "and this entry, which had to decide it, did not", court);
        }
    }

    /// A change by a user comes after everything that was due by then.
    pub(super) fn decided_by(&mut self, at: Timestamp, court: &mut Court<'_>) {
        if self.standing == Standing::Active {
            self.pass_to(at, "and the entry that changed its schedule had to decide it before", court);
        }
    }

    /// Nothing up to there is left undecided; the cursor goes there.
    pub(super) fn pass_to(&mut self, until: Timestamp, why: &str, court: &mut Court<'_>) {
        if until > self.cursor {
            self.miss(until, why, court);
            self.cursor = until;
        }
    }

    /// Enters what lies behind the cursor up to `until` and needed a decision.
    pub(super) fn miss(&mut self, until: Timestamp, why: &str, court: &mut Court<'_>) {
        if !self.is_judged || self.is_used_up() {
            return;
        }
        let after = self.cursor.max(self.excused);
        let Some((count, first)) = self.undecided(after, until, court) else { return };
        court.enter(Fault::Missing, count, self.party(), Some(first), || {
            let others = match count {
                1 => String::new(),
                _ => format!(", the first of {count} up to {}", instant_text(until)),
            };
            format!("was never decided{others}: it neither fired nor was skipped, {why}")
        });
    }

    /// How many instants of `(after, until]` and of the scope nothing stands for, and the first of them. What a calendar
    /// excluded before its last few changes is not known here: those instants are left to who planned them.
    pub(super) fn undecided(
        &mut self,
        after: Timestamp,
        until: Timestamp,
        court: &mut Court<'_>,
    ) -> Option<(u64, Timestamp)> {
        let after = court.scope.after.map_or(after, |edge| edge.max(after));
        let after = court.rules.forgotten(&self.definition).map_or(after, |last| last.max(after));
        let until = court.scope.until.map_or(until, |edge| edge.min(until));
        let uid = self.uid;
        let work = court.work;
        let series = self.series(court)?;
        if series.next(after).is_none_or(|first| first.at > until) {
            return None;
        }
        let mut count = 0;
        let mut first = None;
        for (place, nominal) in steps(series, after, until).enumerate() {
            if place == WALKED {
                count += series.count(nominal - MILLI, until);
                break;
            }
            // A firing of that very instant which a user asked for stands for it as long as it is live.
            if !work.stands_for(uid, nominal) {
                count += 1;
                first = first.or(Some(nominal));
            }
        }
        first.map(|first| (count, first))
    }

    /// Nothing more can come of it.
    pub(super) fn finish(&mut self, court: &mut Court<'_>) {
        self.settle_due(court);
        if self.standing == Standing::Active {
            let last = Timestamp::NEVER - MILLI;
            self.miss_first(last, court);
        }
        self.standing = Standing::Finished;
        self.excused = court.at;
    }

    /// The end of the ledger: what had to be decided by `horizon` is missing, what has come since is pending.
    pub(super) fn close(&mut self, horizon: Timestamp, end: Timestamp, court: &mut Court<'_>) {
        // A definition whose search begins in the past has its first instants decided soon after it, not before.
        if self.defined_at <= horizon {
            self.miss(horizon, "and the ledger goes on behind it", court);
            self.cursor = self.cursor.max(horizon);
        }
        let after = self.cursor.max(self.excused);
        if self.is_judged && !self.is_used_up() && end > after {
            court.docket.counts.pending += self.undecided(after, end, court).map_or(0, |(count, _)| count);
        }
    }

    /// Enters one missing instant, when there is any to come: it may have no end.
    fn miss_first(&mut self, until: Timestamp, court: &mut Court<'_>) {
        let after = self.cursor;
        let Some(first) = self.series(court).and_then(|series| series.next(after)).map(|o| o.at) else {
            return;
        };
        self.miss(first.min(until), "and its schedule was finished before", court);
    }

    /// Told again: what was heard must agree with it.
    pub(super) fn stands(
        &mut self,
        version: &Version<'_>,
        standing: Standing,
        fired: u64,
        court: &mut Court<'_>,
    ) {
        self.settle_due(court);
        let was = self.standing;
        if was != Standing::Unknown {
            if was != standing || self.revision != version.revision || self.cursor > version.mark {
                let before = (self.revision, self.cursor);
                self.wrong(court, || {
                    let (now, mark) = (standing.as_str(), instant_text(version.mark));
                    let (was, cursor) = (was.as_str(), instant_text(before.1));
                    format!(
                        "stands as {now} in revision {} with mark {mark}, and the rows before make it {was} in revision {} and decided up to {cursor}",
                        version.revision, before.0
                    )
                });
            } else {
                self.pass_to(version.mark, "and its mark is behind it", court);
            }
        }
        self.follow(version, court);
        self.standing = standing;
        self.fired = fired;
        if standing == Standing::Finished {
            self.excused = self.excused.max(version.mark);
        }
    }
}

/// So many instants are stepped through; of more, the rest is counted by arithmetic (a test compares the two).
pub(super) const WALKED: usize = 1_000;

/// The instants of `(after, until]`, one by one.
pub(super) fn steps(
    series: &Series,
    after: Timestamp,
    until: Timestamp,
) -> impl Iterator<Item = Timestamp> + '_ {
    let next = move |after: &Timestamp| series.next(*after).map(|occurrence| occurrence.at);
    std::iter::successors(next(&after), next).take_while(move |at| *at <= until)
}
