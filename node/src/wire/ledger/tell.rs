//! From the fact of the log to the fact as it is told.

use campanile_core::attempt::{AttemptEnd, Verdict};
use campanile_core::backfill::BackfillState;
use campanile_core::event::{Event, Outcome, Row as CoreRow};

use super::{Fact, Row, hex};
use crate::wire::backfill::{backfill_id, backfill_word};
use crate::wire::firing::attempt_word;
use crate::wire::schedule::{end_word, state_word};
use crate::wire::time::Instant;

impl Row {
    /// A row as it stands at `position`.
    #[must_use]
    pub fn of(position: String, row: &CoreRow, hash: &[u8]) -> Self {
        Self { position, at: Instant(row.at), fact: (&row.event).into(), hash: hex(hash) }
    }
}

impl From<&Event> for Fact {
    fn from(event: &Event) -> Self {
        match event {
            Event::LeaderEpoch { epoch, node, incarnation, term, ledger } => Self::LeaderEpoch {
                epoch: epoch.0,
                node: node.0,
                incarnation: *incarnation,
                term: term.0,
                ledger: ledger.as_ref().map(Into::into),
            },
            Event::Fired { firing, revision, kind } => Self::Fired {
                firing: firing.into(),
                revision: revision.0,
                kind: kind.as_str().into(),
                cause: kind.cause().map(|cause| cause.to_string()),
            },
            Event::Skipped { uid, revision, reason, from, to, count } => Self::Skipped {
                uid: uid.to_string(),
                revision: revision.0,
                reason: reason.as_str().into(),
                from: Instant(*from),
                to: Instant(*to),
                count: *count,
            },
            Event::Begun { firing, lease } => Self::Begun {
                firing: firing.into(),
                attempt: lease.attempt.0,
                holder: (&lease.holder).into(),
                until: Instant(lease.until),
                fencing_token: lease.fencing_token.0,
            },
            Event::Settled { .. } => settled(event),
            Event::Defined { uid, name, revision, definition, mark, by } => Self::Defined {
                mark: Instant(*mark),
                uid: uid.to_string(),
                schedule: name.to_string(),
                revision: revision.0,
                definition: Box::new((&**definition).into()),
                by: by.to_string(),
            },
            Event::Deleted { uid, by } => Self::Deleted { uid: uid.to_string(), by: by.to_string() },
            Event::Paused { uid, note, until, by } => Self::Paused {
                uid: uid.to_string(),
                note: note.to_string(),
                until: until.map(Instant),
                by: by.to_string(),
            },
            Event::Resumed { uid, mark, by } => {
                Self::Resumed { uid: uid.to_string(), mark: Instant(*mark), by: by.to_string() }
            }
            Event::Parked { uid, reason } => {
                Self::Parked { uid: uid.to_string(), reason: reason.to_string() }
            }
            Event::Finished { uid } => Self::Finished { uid: uid.to_string() },
            Event::NodeAdmitted { node, peer_address } => {
                Self::NodeAdmitted { node: node.0, peer_address: peer_address.to_string() }
            }
            Event::MarkSet { uid, to, by } => {
                Self::MarkSet { uid: uid.to_string(), to: Instant(*to), by: by.to_string() }
            }
            Event::StopAsked { firing } => Self::StopAsked { firing: firing.into() },
            Event::Cancelled { firing, by } => Self::Cancelled { firing: firing.into(), by: by.to_string() },
            Event::BackfillCreated { .. } | Event::BackfillEnded { .. } => backfill(event),
            Event::CalendarPut { name, calendar, by } => Self::CalendarPut {
                name: name.to_string(),
                dates: calendar.dates.len(),
                spans: calendar.spans.len(),
                by: by.to_string(),
            },
            Event::CalendarDeleted { name, by } => {
                Self::CalendarDeleted { name: name.to_string(), by: by.to_string() }
            }
            Event::ZonesUsed { version } => Self::ZonesUsed { version: version.to_string() },
            Event::NextMoved { uid, from, to } => {
                Self::NextMoved { uid: uid.to_string(), from: from.map(Instant), to: to.map(Instant) }
            }
            Event::QueuePut { .. }
            | Event::QueueDeleted { .. }
            | Event::QueuePaused { .. }
            | Event::QueueResumed { .. } => queue(event),
            Event::SecretPut { name, previous_until, by } => Self::SecretPut {
                name: name.to_string(),
                previous_until: previous_until.map(Instant),
                by: by.to_string(),
            },
            Event::SecretDeleted { name, by } => {
                Self::SecretDeleted { name: name.to_string(), by: by.to_string() }
            }
            Event::ChainDropped { cause, to, reason } => Self::ChainDropped {
                firing: cause.into(),
                to: to.as_ref().map(|name| name.to_string()),
                reason: reason.as_str().into(),
            },
            Event::LetterDiscarded { firing, by } => {
                Self::LetterDiscarded { firing: firing.into(), by: by.to_string() }
            }
            Event::Outage { .. }
            | Event::LedgerChecked { .. }
            | Event::Restating { .. }
            | Event::Standing { .. }
            | Event::CalendarStanding { .. }
            | Event::Restated { .. }
            | Event::MembersChanged { .. }
            | Event::LedgerDropped { .. }
            | Event::FormatLevelSet { .. } => keeping(event),
        }
    }
}

/// The facts about the ledger itself, and who keeps it.
fn keeping(event: &Event) -> Fact {
    match event {
        Event::Outage { from, to } => Fact::Outage { from: Instant(*from), to: Instant(*to) },
        Event::LedgerChecked { end } => Fact::LedgerChecked { end: end.into() },
        Event::Restating { epoch, zones } => Fact::Restating { epoch: epoch.0, zones: zones.to_string() },
        Event::Standing { uid, name, revision, definition, mark, state, fired, by } => Fact::Standing {
            uid: uid.to_string(),
            schedule: name.to_string(),
            revision: revision.0,
            definition: Box::new((&**definition).into()),
            mark: Instant(*mark),
            state: state_word(state).into(),
            fired: *fired,
            by: by.to_string(),
        },
        Event::CalendarStanding { name, before, .. } => {
            Fact::CalendarStanding { calendar: name.to_string(), versions_before: before.len() }
        }
        Event::Restated { from } => Fact::Restated { from: from.0 },
        Event::MembersChanged { voters, learners } => Fact::MembersChanged {
            voters: voters.iter().map(|node| node.0).collect(),
            learners: learners.iter().map(|node| node.0).collect(),
        },
        Event::LedgerDropped { before } => Fact::LedgerDropped { before: before.0 },
        Event::FormatLevelSet { from, level } => Fact::FormatLevelSet { from: from.0, level: level.0 },
        _ => unreachable!("no fact about the ledger: {event:?}"),
    }
}

/// The two facts about a backfill.
fn backfill(event: &Event) -> Fact {
    match event {
        Event::BackfillCreated { id, uid, plan, instants, by } => Fact::BackfillCreated {
            backfill: backfill_id(*id),
            uid: uid.to_string(),
            after: Instant(plan.after),
            until: Instant(plan.until),
            again: plan.again,
            instants: *instants,
            by: by.to_string(),
        },
        Event::BackfillEnded { id, state, fired } => Fact::BackfillEnded {
            backfill: backfill_id(*id),
            state: backfill_word(state).into(),
            reason: match state {
                BackfillState::Failed(reason) => Some(reason.to_string()),
                _ => None,
            },
            fired: *fired,
        },
        _ => unreachable!("called for the facts about backfills only"),
    }
}

/// The facts about a queue.
fn queue(event: &Event) -> Fact {
    match event {
        Event::QueuePut { name, settings, by } => Fact::QueuePut {
            name: name.to_string(),
            max_in_flight: settings.max_in_flight,
            max_in_flight_per_key: settings.max_in_flight_per_key,
            rate: settings.rate.map(Into::into),
            by: by.to_string(),
        },
        Event::QueueDeleted { name, by } => Fact::QueueDeleted { name: name.to_string(), by: by.to_string() },
        Event::QueuePaused { name, note, by } => {
            Fact::QueuePaused { name: name.to_string(), note: note.to_string(), by: by.to_string() }
        }
        Event::QueueResumed { name, by } => Fact::QueueResumed { name: name.to_string(), by: by.to_string() },
        _ => unreachable!("called for the facts about queues only"),
    }
}

/// The one fact whose words need a thought: an attempt ends by a report or by its lease, and a firing goes on or ends.
fn settled(event: &Event) -> Fact {
    let Event::Settled { firing, attempt, report, outcome } = event else {
        unreachable!("called for a settled attempt only")
    };
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let report = report.as_ref();
    let end = report.map_or(AttemptEnd::LeaseEnded, |report| AttemptEnd::Reported(report.verdict));
    let (retry_at, state, lateness_ms) = match outcome {
        Outcome::Retry { at } => (Some(Instant(*at)), None, None),
        Outcome::End { state, lateness } => {
            (None, Some(end_word(*state).to_owned()), Some(lateness.as_millis()))
        }
    };
    Fact::Settled {
        firing: firing.into(),
        attempt: attempt.0,
        outcome: attempt_word(end).into(),
        sent_at: report
            .filter(|report| report.verdict != Verdict::NotSent)
            .map(|report| Instant(report.sent_at)),
        status: report.and_then(|report| report.status),
        error: report.and_then(|report| text(&report.error)),
        output: report.and_then(|report| text(&report.output)),
        retry_at,
        state,
        lateness_ms,
    }
}
