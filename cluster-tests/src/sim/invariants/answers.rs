//! What the log answered to requests, by the key under which clients asked: the witness of what became of their calls.

use std::collections::BTreeMap;

use campanile_core::command::{Body, Request, RequestKey};
use campanile_core::reply::Reply;
use campanile_core::time::{Span, Timestamp};

use super::is_admitted;
use crate::sim::story::{Moment, Step};

/// One entry that answered a request.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// Which.
    pub(super) index: u64,
    /// When the first node had applied it.
    pub(super) seen: Moment,
    /// The log's time.
    pub(super) at: Timestamp,
    /// How long it is remembered.
    pub(super) keep: Span,
    /// What.
    pub(super) reply: Reply,
    /// Whether the entry told a fact. Of what holders say nothing is known of each alone.
    pub(super) told: bool,
}

/// By what clients sent as their key. The parts of a request that is done in several commands come under the whole.
#[derive(Debug, Default)]
pub(super) struct Answers {
    by_key: BTreeMap<Box<str>, BTreeMap<Box<str>, Vec<Answer>>>,
}

impl Answers {
    /// One more entry. Refusals are not remembered: asking again asks anew.
    pub(super) fn hear(&mut self, step: &Step<'_>) {
        if !is_admitted(step) {
            return;
        }
        if let (Body::Work(work), Reply::Worked(worked)) = (&step.command.body, step.reply) {
            for (take, taken) in work.takes.iter().zip(&worked.taken) {
                // To have got nothing is not remembered either.
                if let Ok(leased) = taken
                    && !leased.is_empty()
                {
                    self.enter(step, &take.request, Reply::Leased(leased.clone()), false);
                }
            }
        } else if let Some(request) = request_of(&step.command.body)
            && !matches!(step.reply, Reply::Rejected(_))
        {
            self.enter(step, request, step.reply.clone(), !step.rows.is_empty());
        }
    }

    fn enter(&mut self, step: &Step<'_>, request: &Request, reply: Reply, told: bool) {
        // Keys of clients are marked, so that they never meet those that nodes draw.
        let Some(RequestKey { text, keep, .. }) = &request.key else { return };
        let Some(text) = text.strip_prefix("c:") else { return };
        let (whole, part) = text.split_once('\n').unwrap_or((text, ""));
        let answer =
            Answer { index: step.index, seen: step.seen, at: step.command.at, keep: *keep, reply, told };
        let parts = self.by_key.entry(whole.into()).or_default();
        parts.entry(part.into()).or_default().push(answer);
    }

    /// The answers to that key and its parts.
    pub(super) fn of<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a Answer> {
        self.by_key.get(key).into_iter().flat_map(|parts| parts.values().flatten())
    }

    /// Each key, each part of it, and what it was answered, in the order of the log.
    pub(super) fn each(&self) -> impl Iterator<Item = (&str, &[Answer])> {
        self.by_key.iter().flat_map(|(key, parts)| parts.values().map(move |answers| (&**key, &**answers)))
    }
}

/// Who asks, for the commands of users.
fn request_of(body: &Body) -> Option<&Request> {
    Some(match body {
        Body::PutSchedule(command) => &command.request,
        Body::DeleteSchedule(command) => &command.request,
        Body::PauseSchedule(command) => &command.request,
        Body::ResumeSchedule(command) => &command.request,
        Body::Trigger(command) => &command.request,
        Body::AdmitNode(command) => &command.request,
        Body::Apply(command) => &command.request,
        Body::SetMark(command) => &command.request,
        Body::Rerun(command) => &command.request,
        Body::CancelFiring(command) => &command.request,
        Body::CreateBackfill(command) => &command.request,
        Body::CancelBackfill(command) => &command.request,
        Body::PutCalendar(command) => &command.request,
        Body::DeleteCalendar(command) => &command.request,
        Body::PutQueue(command) => &command.request,
        Body::DeleteQueue(command) => &command.request,
        Body::PauseQueue(command) => &command.request,
        Body::ResumeQueue(command) => &command.request,
        Body::PutSecret(command) => &command.request,
        Body::DeleteSecret(command) => &command.request,
        Body::DiscardLetters(command) => &command.request,
        Body::LeaderEpoch(_)
        | Body::Tick(_)
        | Body::Work(_)
        | Body::StepBackfill(_)
        | Body::UseZones(_)
        | Body::Refresh(_)
        | Body::CheckLedger(_)
        | Body::Restate(_)
        | Body::DropLedger(_)
        | Body::SetFormatLevel(_) => return None,
    })
}
