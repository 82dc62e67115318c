//! Each kind of row goes to whom it is about.

use crate::event::{Event, Row};
use crate::firing::{FiringId, Kind};
use crate::id::{Revision, Uid};
use crate::time::Timestamp;

use super::Verifier;
use super::asked::Asked;
use super::court::{Party, offender};
use super::life::{Life, Standing, Version};
use super::part::Part;
use super::verdict::{Fault, Place};
use super::work::{Stranger, Wrong};

impl Verifier {
    pub(super) fn take(&mut self, place: Place, row: &Row) {
        match &row.event {
            Event::Fired { firing, revision, kind } => self.fired(place, row.at, *firing, *revision, *kind),
            Event::Skipped { uid, revision, reason, from, to, count } => {
                let skipped = Some(*reason);
                let (from, to) = (*from, *to);
                let part = Part { place, at: row.at, revision: *revision, from, to, count: *count, skipped };
                self.decided(*uid, part);
            }
            Event::Begun { firing, lease } => {
                let stranger = self.stranger(*firing);
                let wrong = self.bench.work.begun(*firing, lease, row.at, stranger);
                self.enter(place, *firing, wrong);
            }
            Event::Settled { firing, attempt, report, outcome } => {
                let stranger = self.stranger(*firing);
                let wrong = self.bench.work.settled(*firing, *attempt, report.as_ref(), *outcome, stranger);
                self.enter(place, *firing, wrong);
            }
            Event::Defined { .. } | Event::Standing { .. } => self.defined(place, row),
            Event::Deleted { uid, .. } => self.deleted(place, row.at, *uid),
            Event::Paused { uid, .. }
            | Event::Resumed { uid, .. }
            | Event::Parked { uid, .. }
            | Event::Finished { uid }
            | Event::MarkSet { uid, .. } => self.turned(place, row, *uid),
            Event::BackfillCreated { id, uid, plan, .. } => self.backfills.begin(*id, *uid, *plan),
            Event::BackfillEnded { .. } => self.backfill_ended(place, row),
            Event::Restated { from } => self.is_midway &= *from < self.begins,
            event => self.bench.rules.hear(row.at, event),
        }
    }

    /// The entry is over: its decisions are judged, and what it had to decide.
    pub(super) fn close_entry(&mut self) {
        self.judge_parts();
        let (at, place) = (self.bench.order.at, self.bench.order.place);
        for uid in self.open.drain(..) {
            if let Some(life) = self.lives.get_mut(&uid) {
                life.settle_due(&mut self.bench.court(at, place));
            }
        }
        self.bench.work.next_entry();
    }

    fn fired(&mut self, place: Place, at: Timestamp, firing: FiringId, revision: Revision, kind: Kind) {
        let life = self.lives.get_mut(&firing.uid);
        let is_judged =
            life.as_ref().is_some_and(|life| life.is_judged && self.bench.scope.covers(firing.nominal));
        let was_live = self.bench.work.fired(firing, is_judged);
        if matches!(kind, Kind::Scheduled | Kind::CatchUp) && firing.run.0 == 0 {
            let (from, to) = (firing.nominal, firing.nominal);
            let part = Part { place, at, revision, from, to, count: 1, skipped: None };
            return self.decided(firing.uid, part);
        }
        let Some(life) = life else { return self.unheard_of(place, firing.uid, Some(firing.nominal)) };
        let asked = Asked { firing, revision, kind, was_live };
        let mut court = self.bench.court(at, Some(place));
        life.judge_asked(asked, &mut self.backfills, self.begins_at.is_some(), &mut court);
    }

    /// Decisions of one schedule stand together; they are judged when another's come, or when its own life changes.
    fn decided(&mut self, uid: Uid, part: Part) {
        if self.parts.uid != uid {
            self.judge_parts();
        }
        self.parts.push(uid, part);
    }

    fn judge_parts(&mut self) {
        if self.parts.is_empty() {
            return;
        }
        let uid = self.parts.uid;
        let parts = self.parts.take();
        if let Some(life) = self.lives.get_mut(&uid) {
            for part in &parts {
                life.judge(part, &mut self.bench.court(part.at, Some(part.place)));
            }
        } else {
            parts.iter().for_each(|part| self.unheard_of(part.place, uid, Some(part.from)));
        }
        self.parts.give_back(parts);
    }

    /// What this entry decided of a schedule so far is judged by what was so before it changes.
    fn judge_parts_of(&mut self, uid: Uid) {
        if self.parts.uid == uid {
            self.judge_parts();
        }
    }

    fn defined(&mut self, place: Place, row: &Row) {
        let (Event::Defined { uid, name, revision, definition, mark, .. }
        | Event::Standing { uid, name, revision, definition, mark, .. }) = &row.event
        else {
            return;
        };
        self.judge_parts_of(*uid);
        let version = Version { revision: *revision, definition, mark: *mark };
        let mut court = self.bench.court(row.at, Some(place));
        let told_again = match &row.event {
            Event::Standing { state, fired, .. } => Some((Standing::of(state), *fired)),
            _ => None,
        };
        match (self.lives.get_mut(uid), told_again) {
            (Some(life), None) => life.redefine(name, &version, &mut court),
            (Some(life), Some((standing, fired))) => life.stands(&version, standing, fired, &mut court),
            (None, _) => {
                // Told again midway, it is known from here on; without a beginning it is as a definition that has none.
                let is_midway = self.is_midway || told_again.is_some() && self.begins_at.is_some();
                let mut life = Life::begin(*uid, name, &version, is_midway, &mut court);
                if let Some((standing, fired)) = told_again {
                    (life.standing, life.fired) = (standing, fired);
                }
                court.docket.counts.schedules += u64::from(life.is_judged);
                self.lives.insert(*uid, life);
            }
        }
    }

    fn deleted(&mut self, place: Place, at: Timestamp, uid: Uid) {
        self.judge_parts_of(uid);
        match self.lives.remove(&uid) {
            Some(mut life) => life.end(&mut self.bench.court(at, Some(place))),
            None => self.unheard_of(place, uid, None),
        }
    }

    fn turned(&mut self, place: Place, row: &Row, uid: Uid) {
        self.judge_parts_of(uid);
        let Some(life) = self.lives.get_mut(&uid) else { return self.unheard_of(place, uid, None) };
        if life.turn(&row.event, &mut self.bench.court(row.at, Some(place))) {
            self.open.push(uid);
        }
    }

    fn backfill_ended(&mut self, place: Place, row: &Row) {
        let Some((uid, detail)) = self.backfills.end(&row.event) else { return };
        let name = self.lives.get(&uid).filter(|life| life.is_judged).map(|life| &life.name);
        if let Some(name) = name {
            let party = Party { uid, name: Some(name) };
            let mut court = self.bench.court(row.at, Some(place));
            court.enter(Fault::Disorder, 1, party, None, || detail);
        }
    }

    /// What is known of a firing that is not live.
    fn stranger(&self, firing: FiringId) -> Stranger {
        let is_older = self.begins_at.is_some_and(|begins_at| firing.nominal <= begins_at);
        match self.lives.get(&firing.uid) {
            Some(life) if !life.is_judged || !self.bench.scope.covers(firing.nominal) => Stranger::OutOfScope,
            _ if is_older => Stranger::Older,
            _ => Stranger::Unheard,
        }
    }

    /// A row about a schedule of which nothing was told, or which was removed.
    fn unheard_of(&mut self, place: Place, uid: Uid, nominal: Option<Timestamp>) {
        if self.is_midway {
            self.bench.docket.counts.unverified += 1;
            return;
        }
        if nominal.is_some_and(|nominal| !self.bench.scope.covers(nominal)) {
            return;
        }
        let what = "is told of, and no row defines such a schedule, or it had been removed";
        let party = Party { uid, name: None };
        self.bench
            .docket
            .enter(Fault::Phantom, 1, || offender(Fault::Phantom, Some(place), party, nominal, what));
    }

    fn enter(&mut self, place: Place, firing: FiringId, wrong: Option<Wrong>) {
        let Some((fault, what)) = wrong else { return };
        let party = Party { uid: firing.uid, name: self.lives.get(&firing.uid).map(|life| &life.name) };
        let nominal = Some(firing.nominal);
        self.bench.docket.enter(fault, 1, || offender(fault, Some(place), party, nominal, &what));
    }
}
