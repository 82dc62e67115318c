//! What only grows: places, the log's time, epochs, terms, fencing tokens. And from time and epochs: up to when everything
//! had to be decided.

use crate::cron::instant_text;
use crate::event::{Event, Row};
use crate::id::{Epoch, FencingToken, Term};
use crate::time::{Span, Timestamp};

use super::verdict::{Docket, Fault, Offender, Place};

/// The newest of everything that only grows.
#[derive(Debug)]
pub(super) struct Order {
    patience: Span,
    /// The last row.
    pub(super) place: Option<Place>,
    /// The time of the last row.
    pub(super) at: Timestamp,
    epoch: Epoch,
    term: Term,
    token: Option<FencingToken>,
    /// The last moment that excuses whoever is late: a leader took office, was still busy with a
    /// backlog, or wrote its first row after a silence.
    excuse: Timestamp,
    horizon: Timestamp,
}

impl Order {
    pub(super) fn new(patience: Span) -> Self {
        let first = Timestamp::from_millis(i64::MIN);
        Self {
            patience,
            place: None,
            at: first,
            epoch: Epoch(0),
            term: Term(0),
            token: None,
            excuse: first,
            horizon: first,
        }
    }

    /// Takes a row; what ran backwards is entered and taken as it is, so that one fault is told once.
    pub(super) fn hear(&mut self, place: Place, row: &Row, docket: &mut Docket) {
        let mut wrong = |detail: String| docket.enter(Fault::Disorder, 1, || of_log(place, detail));
        if self.place.is_some_and(|before| before >= place) {
            wrong(format!("row {} stands behind one that comes after it", shown(place)));
        }
        if row.at < self.at {
            let (at, before) = (instant_text(row.at), instant_text(self.at));
            wrong(format!("row {} is of {at}, and the one before it of {before}", shown(place)));
        }
        match &row.event {
            Event::LeaderEpoch { epoch, term, .. } => {
                if *epoch <= self.epoch || *term < self.term {
                    let (old, old_term) = (self.epoch, self.term);
                    wrong(format!("epoch {epoch} of term {term} follows epoch {old} of term {old_term}"));
                }
                (self.epoch, self.term) = (*epoch, *term);
            }
            Event::Begun { firing, lease } => {
                let token = lease.fencing_token;
                if self.token.is_some_and(|before| before >= token) {
                    wrong(format!("fencing token {token} of {firing} was given after a newer one"));
                }
                if token.index() != place.index {
                    wrong(format!("fencing token {token} of {firing} is of another entry"));
                }
                self.token = Some(token);
            }
            _ => {}
        }
        self.hear_silence(row.at);
        self.place = Some(place);
        self.pass(row.at);
        if matches!(row.event, Event::LeaderEpoch { .. }) {
            self.excuse = self.excuse.max(row.at);
        }
    }

    /// Nothing was written for longer than a leader may take: perhaps nothing was due, perhaps every node slept. Either way
    /// what had to be decided before the silence is judged by then, and the rest has time from its end on.
    fn hear_silence(&mut self, at: Timestamp) {
        let is_silence = self.patience > Span::ZERO && self.place.is_some();
        if is_silence && at.since(self.at) > self.patience {
            if self.at > self.excuse {
                self.horizon = self.horizon.max(self.at - self.patience);
            }
            self.excuse = self.excuse.max(at);
        }
    }

    /// Something was decided so late that a leader must have had a backlog at that moment.
    pub(super) fn decided(&mut self, nominal: Timestamp) {
        if self.at.since(nominal) > self.patience {
            self.excuse = self.at;
        }
    }

    /// Time has come so far.
    fn pass(&mut self, at: Timestamp) {
        self.at = self.at.max(at);
        let due = self.at - self.patience;
        if due > self.excuse {
            self.horizon = self.horizon.max(due);
        }
    }

    /// Up to when everything had to be decided, when the ledger is whole up to `until`.
    pub(super) fn horizon(&mut self, until: Option<Timestamp>) -> Timestamp {
        until.into_iter().for_each(|until| self.pass(until));
        until.map_or(self.horizon, |until| self.horizon.min(until))
    }
}

/// A row's key for people.
pub(super) fn shown(place: Place) -> String {
    format!("{}/{}", place.index, place.n)
}

/// Something wrong with the log itself, of no schedule.
pub(super) fn of_log(place: Place, detail: String) -> Offender {
    Offender { fault: Fault::Disorder, place: Some(place), schedule: None, uid: None, nominal: None, detail }
}
