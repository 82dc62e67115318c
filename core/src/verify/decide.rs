//! Decisions held against the instants of their schedule: each next one is decided, in order, once.

use crate::cron::instant_text;
use crate::event::SkipReason;
use crate::series::Series;
use crate::time::Timestamp;

use super::court::Court;
use super::life::{Life, MILLI, Standing, WALKED, steps};
use super::part::Part;
use super::verdict::Fault;

impl Life {
    /// Judges one decision and moves the cursor behind it.
    pub(super) fn judge(&mut self, part: &Part, court: &mut Court<'_>) {
        if !self.is_judged {
            return;
        }
        (court.place, court.at) = (Some(part.place), part.at);
        if self.standing == Standing::Unknown || self.series(court).is_none() {
            court.docket.counts.unverified += 1;
            self.cursor = self.cursor.max(part.to);
            return;
        }
        self.count(part, court);
        if self.is_asked_for(part, court) && self.place(part, court) {
            if part.skipped.is_some() {
                self.judge_run(part, court);
            }
            if self.due.is_none() && part.comes_of_a_tick() {
                court.order.decided(part.from);
            }
            self.cursor = self.cursor.max(part.to);
        }
        self.fired += u64::from(part.skipped.is_none());
    }

    fn count(&mut self, part: &Part, court: &mut Court<'_>) {
        let (after, until) = (part.from - MILLI, part.to);
        let instants = match (court.scope.covers(part.from), court.scope.covers(part.to)) {
            (true, true) => part.count,
            _ if part.count == 1 => 0,
            _ => {
                let after = court.scope.after.map_or(after, |edge| edge.max(after));
                let until = court.scope.until.map_or(until, |edge| edge.min(until));
                self.series(court).map_or(0, |series| series.count(after, until))
            }
        };
        let counts = &mut court.docket.counts;
        counts.decided += instants;
        match part.skipped {
            None => counts.fired += instants,
            Some(reason) if instants > 0 => *counts.skipped.entry(reason).or_default() += instants,
            Some(_) => {}
        }
    }

    /// Whether the schedule was one whose instants are decided so.
    fn is_asked_for(&self, part: &Part, court: &mut Court<'_>) -> bool {
        let why = if self.standing == Standing::Active {
            self.why_not(part)
        } else {
            let state = match self.standing {
                Standing::Paused => "paused",
                Standing::Parked => "parked",
                Standing::Finished => "finished",
                Standing::Active | Standing::Unknown => "not known",
            };
            Some(format!("and the schedule was {state} then, so nothing of it was nominal"))
        };
        if let Some(why) = &why
            && court.scope.covers(part.from)
        {
            court.enter(Fault::Phantom, part.count, self.party(), Some(part.from), || {
                format!("{} {why}", part.said())
            });
        }
        let early = part.to > court.at && part.skipped != Some(SkipReason::Superseded);
        if early && court.scope.covers(part.to) {
            let at = court.at;
            court.enter(Fault::Early, 1, self.party(), Some(part.to), || {
                format!("{} at {}, before it had come", part.said(), instant_text(at))
            });
        }
        why.is_none()
    }

    fn why_not(&self, part: &Part) -> Option<String> {
        if part.revision != self.revision {
            return Some(format!(
                "by revision {}, and revision {} was in force",
                part.revision, self.revision
            ));
        }
        let reason = part.skipped;
        // What was decided before is told again, whatever it says.
        let allowed = self.due.map(|due| due.reason).or(reason.filter(|_| part.from <= self.cursor));
        match reason {
            None if self.is_used_up() => Some("and the schedule had fired as often as it may".into()),
            Some(SkipReason::PausedGap) if allowed != reason => {
                Some("for a pause, and none ended in this entry".into())
            }
            Some(SkipReason::Superseded) if allowed != reason => {
                Some("since a user skipped ahead, and none did in this entry".into())
            }
            _ => None,
        }
    }

    /// Whether a decision begins with the next instant; what it passes over is missing.
    fn place(&mut self, part: &Part, court: &mut Court<'_>) -> bool {
        let (cursor, born) = (self.cursor, self.born);
        let from = part.from;
        let Some(series) = self.series(court) else { return false };
        let expected = series.next(cursor).map(|occurrence| occurrence.at);
        if expected == Some(from) {
            return true;
        }
        let is_instant = series.contains(from);
        let in_scope = court.scope.covers(from);
        if from <= cursor && is_instant && from > born {
            if in_scope {
                let last = instant_text(cursor);
                court.enter(Fault::Doubled, part.count, self.party(), Some(from), || {
                    format!("{} again: everything up to {last} was decided before", part.said())
                });
            }
            return false;
        }
        if from <= cursor || !is_instant {
            if in_scope {
                let next = expected.map_or("no instant was to come".into(), |at| {
                    format!("the next instant was {}", instant_text(at))
                });
                court.enter(Fault::Phantom, part.count, self.party(), Some(from), || {
                    format!("{} and is no nominal instant: {next}", part.said())
                });
            }
            return false;
        }
        self.miss(from - MILLI, "and a later one was decided", court);
        true
    }

    /// A run of skips names its last instant, and how many there are.
    fn judge_run(&mut self, part: &Part, court: &mut Court<'_>) {
        if part.from == part.to && part.count == 1 {
            return;
        }
        let uid = self.uid;
        let work = court.work;
        let Some(series) = self.series(court) else { return };
        let ends_well = part.to >= part.from && series.contains(part.to);
        let instants = count(series, part.from - MILLI, part.to);
        // Those between that a firing stands for which a user asked for.
        let stood_for = || {
            let between = steps(series, part.from, part.to).take(WALKED);
            between.filter(|nominal| work.stands_for(uid, *nominal)).count() as u64
        };
        let agrees = ends_well
            && (part.count == instants || (part.count < instants && part.count + stood_for() >= instants));
        if agrees || !court.scope.covers(part.from) {
            return;
        }
        let fault = if part.count < instants { Fault::Missing } else { Fault::Phantom };
        let times = part.count.abs_diff(instants).max(1);
        court.enter(fault, times, self.party(), Some(part.from), || {
            let (to, said) = (instant_text(part.to), part.said());
            format!("{said}: the row counts {} up to {to}, and there are {instants}", part.count)
        });
    }
}

impl Part {
    /// Whether a leader that was late decides so.
    const fn comes_of_a_tick(&self) -> bool {
        match self.skipped {
            None | Some(SkipReason::TooLate | SkipReason::Coalesced | SkipReason::Limit) => true,
            Some(SkipReason::PausedGap | SkipReason::Overlap | SkipReason::Superseded) => false,
        }
    }

    fn said(&self) -> String {
        self.skipped.map_or("fired".into(), |reason| format!("was skipped ({})", reason.as_str()))
    }
}

/// How many instants are in `(after, until]`: step by step; of very many, the rest by arithmetic.
fn count(series: &Series, after: Timestamp, until: Timestamp) -> u64 {
    let mut last = after;
    let mut walked = 0;
    for nominal in steps(series, after, until).take(WALKED) {
        (last, walked) = (nominal, walked + 1);
    }
    if walked < WALKED as u64 { walked } else { walked + series.count(last, until) }
}
