//! Rows that begin or end a chapter of a schedule: defined, paused, resumed, parked, finished, skipped ahead.
//!
//! What a user does comes after everything that was due by then, in the same entry; a rule of the schedule itself leaves
//! what is undecided to the pause. A resume and a skip ahead name in advance up to where their entry decides.

use crate::cron::instant_text;
use crate::definition::ScheduleName;
use crate::event::{Event, SkipReason};
use crate::id::Revision;
use crate::time::Timestamp;

use super::court::Court;
use super::life::{Due, Life, Standing, Version};
use super::verdict::Fault;

/// Who pauses by a rule of the schedule itself.
const BY_RULE: &str = "campanile";

impl Life {
    /// One that no row told of before. Told midway, its state may be anything.
    pub(super) fn begin(
        uid: crate::id::Uid,
        name: &ScheduleName,
        version: &Version<'_>,
        is_midway: bool,
        court: &mut Court<'_>,
    ) -> Self {
        let mut life = Self::new(uid, name, version, court);
        let is_first = version.revision == Revision(1) && version.mark <= court.at;
        if is_midway && !is_first {
            life.standing = Standing::Unknown;
        } else if !is_first {
            life.wrong(court, || {
                let mark = instant_text(version.mark);
                format!("begins with revision {} and mark {mark}", version.revision)
            });
        }
        life
    }

    /// A new revision.
    pub(super) fn redefine(&mut self, name: &ScheduleName, version: &Version<'_>, court: &mut Court<'_>) {
        self.settle_due(court);
        self.decided_by(court.at, court);
        let (before, cursor) = (self.revision, self.cursor);
        let follows = version.revision.0 == before.0 + 1 && version.mark >= cursor;
        if self.standing != Standing::Unknown && !follows {
            self.wrong(court, || {
                let (mark, cursor) = (instant_text(version.mark), instant_text(cursor));
                format!(
                    "has revision {} with mark {mark} after revision {before}, which was decided up to {cursor}",
                    version.revision
                )
            });
        }
        self.name = name.clone();
        self.follow(version, court);
        if !matches!(self.standing, Standing::Paused | Standing::Unknown) {
            self.standing = Standing::Active;
        }
    }

    /// A row that changes whether its instants are decided; `true` when this entry has something to decide for it.
    pub(super) fn turn(&mut self, event: &Event, court: &mut Court<'_>) -> bool {
        match event {
            Event::Paused { by, .. } => self.pause(by, court),
            Event::Resumed { mark, .. } => return self.resume(*mark, court),
            Event::MarkSet { to, .. } => return self.skip_ahead(*to, court),
            Event::Parked { .. } => {
                self.settle_due(court);
                self.stand(Standing::Parked);
            }
            Event::Finished { .. } if self.standing != Standing::Unknown => self.finish(court),
            _ => {}
        }
        false
    }

    fn pause(&mut self, by: &str, court: &mut Court<'_>) {
        self.settle_due(court);
        if by != BY_RULE {
            self.decided_by(court.at, court);
        }
        self.stand(Standing::Paused);
    }

    fn resume(&mut self, mark: Timestamp, court: &mut Court<'_>) -> bool {
        if self.standing == Standing::Unknown {
            (self.standing, self.cursor) = (Standing::Active, mark);
            return false;
        }
        if !matches!(self.standing, Standing::Paused | Standing::Parked) {
            self.wrong(court, || "was resumed, and was neither paused nor parked".into());
        }
        self.standing = Standing::Active;
        self.due = Some(Due { until: mark, reason: SkipReason::PausedGap });
        true
    }

    fn skip_ahead(&mut self, to: Timestamp, court: &mut Court<'_>) -> bool {
        if self.standing == Standing::Unknown {
            return false;
        }
        self.settle_due(court);
        if self.standing != Standing::Active {
            self.wrong(court, || "was skipped ahead, and was not active".into());
        }
        self.decided_by(court.at, court);
        self.due = Some(Due { until: to, reason: SkipReason::Superseded });
        true
    }

    /// Removed: as any change by a user.
    pub(super) fn end(&mut self, court: &mut Court<'_>) {
        self.settle_due(court);
        self.decided_by(court.at, court);
    }

    fn stand(&mut self, standing: Standing) {
        if self.standing != Standing::Unknown {
            self.standing = standing;
        }
    }

    /// Enters that its rows do not follow from each other.
    pub(super) fn wrong(&self, court: &mut Court<'_>, what: impl FnOnce() -> String) {
        if self.is_judged {
            court.enter(Fault::Disorder, 1, self.party(), None, what);
        }
    }
}
