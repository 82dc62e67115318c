//! Dead letters: listed, put aside, run again. One by one as everything else: each re-run is a write of its own.
//!
//! An order about many is done under one key in many steps, each with a key made from it, so that asking again after a lost
//! answer goes on where it was and does nothing twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use campanile_core::command::{Body, DiscardLetters};
use campanile_core::firing::FiringId;
use campanile_core::letter::Letter;
use campanile_core::machine::Machine;
use campanile_core::plan::Instead;
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;
use futures_util::future::join_all;
use tokio::time::Instant;

use super::Service;
use super::schedules::unexpected;
use super::write::{Caller, Failure, PlanWrite, Planned};
use crate::problem::{Code, Problem};
use crate::wire::letter::{DeadLetter, DiscardedLetters, RefusedRerun, Rerun, RerunAs, RerunOrder, Which};
use crate::wire::page::{Page, parts, token};

/// So many firings fit into the entry of one discard: 20 bytes each of 100 KiB.
const AT_ONCE: usize = 2_000;
/// How many are run again side by side.
const SIDE_BY_SIDE: usize = 4;
/// What is kept of the time of the request, so that what was done is told, and not lost with the answer.
const TO_ANSWER: Duration = Duration::from_secs(3);

impl Service {
    /// A page of dead letters, the newest first.
    ///
    /// # Errors
    /// `bad_request` for a token that this list did not give.
    pub fn letters(
        &self,
        machine: &Machine,
        which: &Which,
        limit: usize,
        page_token: Option<&str>,
    ) -> Result<Page<DeadLetter>, Problem> {
        let before = page_token.map(read_place).transpose()?;
        // There are at most ten thousand, so that a filter which matches few costs little.
        let mut found = which.among(machine.letters().newest(before)).peekable();
        let page: Vec<&Arc<Letter>> = found.by_ref().take(limit).collect();
        let last = page.last().filter(|_| found.peek().is_some());
        let next_page_token =
            last.map(|last| token(&[&last.ended_at.as_millis().to_string(), &last.firing.to_string()]));
        Ok(Page { items: page.into_iter().map(|letter| DeadLetter::of(letter)).collect(), next_page_token })
    }

    /// Puts the letter of one firing aside; `false` when it had none.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub async fn discard_letter(
        self: &Arc<Self>,
        caller: &Caller,
        firing: FiringId,
    ) -> Result<bool, Failure> {
        let request = caller.request();
        let plan: PlanWrite = Arc::new(move |_, _, _| {
            let command = DiscardLetters { firings: vec![firing], request: request.clone() };
            Planned::Propose(Box::new(Body::DiscardLetters(command)))
        });
        Ok(discarded(&self.write(caller, plan).await?)? > 0)
    }

    /// Puts those letters aside, and answers how many they were and how many there are.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub async fn discard_letters(
        self: &Arc<Self>,
        caller: &Caller,
        which: Which,
    ) -> Result<DiscardedLetters, Failure> {
        let (which, mut all) = (Arc::new(which), 0);
        for part in 0.. {
            let caller = caller.for_part(&part.to_string());
            let (which, request) = (which.clone(), caller.request());
            let plan: PlanWrite = Arc::new(move |_, _, machine| {
                let letters = which.among(machine.letters().newest(None)).take(AT_ONCE);
                let firings = letters.map(|letter| letter.firing).collect();
                Planned::Propose(Box::new(Body::DiscardLetters(DiscardLetters {
                    firings,
                    request: request.clone(),
                })))
            });
            let some = discarded(&self.write(&caller, plan).await?)?;
            all += some;
            if (some as usize) < AT_ONCE {
                break;
            }
        }
        Ok(DiscardedLetters { discarded: all, left: self.letters_of(&which) })
    }

    /// Runs letters again, those that ended first, a few side by side, as long as the time of the request lasts.
    ///
    /// # Errors
    /// As [`Service::write`]. That one cannot be repeated is told in the answer.
    pub async fn rerun_letters(
        self: &Arc<Self>,
        caller: &Caller,
        order: &RerunOrder,
    ) -> Result<Rerun, Failure> {
        let enough = caller.deadline - TO_ANSWER.min(self.options.write_within / 3);
        let mut done = Rerun { rerun: self.rerun_before(caller), ..Rerun::default() };
        let room = (order.max as usize).saturating_sub(done.rerun.len());
        let chosen = oldest(&self.quorum().view(), &order.which, room);
        for some in chosen.chunks(SIDE_BY_SIDE) {
            if Instant::now() >= enough {
                break;
            }
            let each = some.iter().map(|id| self.rerun_letter(caller, *id, order));
            for outcome in join_all(each).await {
                match outcome? {
                    Ok(rerun) => done.rerun.push(rerun),
                    Err(refused) => done.refused.push(refused),
                }
            }
        }
        let refused = u32::try_from(done.refused.len()).unwrap_or(u32::MAX);
        done.left = self.letters_of(&order.which).saturating_sub(refused);
        Ok(done)
    }

    fn letters_of(&self, which: &Which) -> u32 {
        let count = which.among(self.quorum().view().letters().newest(None)).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// What this very request has run again before, when its answer was lost.
    fn rerun_before(&self, caller: &Caller) -> Vec<RerunAs> {
        let (view, request) = (self.quorum().view(), caller.request());
        let parts = view.requests().parts_of(&request);
        let fired = parts.filter_map(|(firing, reply)| match reply {
            Reply::Fired(id) => Some(RerunAs { firing: firing.to_owned(), as_firing: id.to_string() }),
            _ => None,
        });
        fired.collect()
    }

    async fn rerun_letter(
        self: &Arc<Self>,
        caller: &Caller,
        id: FiringId,
        order: &RerunOrder,
    ) -> Result<Result<RerunAs, RefusedRerun>, Failure> {
        let firing = id.to_string();
        let instead = Instead { overlap: order.overlap, ..Instead::default() };
        match self.rerun(&caller.for_part(&firing), id, instead).await {
            Ok(fired) => Ok(Ok(RerunAs { firing, as_firing: fired.to_string() })),
            Err(Failure::Problem(problem)) if is_its_own(problem.code) => {
                Ok(Err(RefusedRerun { firing, why: problem.detail }))
            }
            Err(failure) => Err(failure),
        }
    }
}

/// The letters that ended first, one of each nominal instant: a re-run of one run is a re-run of all.
fn oldest(machine: &Machine, which: &Which, most: usize) -> Vec<FiringId> {
    let mut seen = BTreeSet::new();
    let newest_runs = which.among(machine.letters().newest(None)).map(|letter| letter.firing);
    let mut all: Vec<FiringId> = newest_runs.filter(|id| seen.insert((id.uid, id.nominal))).collect();
    all.reverse();
    all.truncate(most);
    all
}

/// Whether a problem is one of that firing, and not one of the cluster.
const fn is_its_own(code: Code) -> bool {
    matches!(code, Code::Conflict | Code::Overlap | Code::NotFound | Code::InvalidSchedule)
}

fn discarded(reply: &Reply) -> Result<u32, Failure> {
    match reply {
        Reply::Discarded(count) => Ok(*count),
        other => Err(unexpected(other)),
    }
}

fn read_place(given: &str) -> Result<(Timestamp, FiringId), Problem> {
    let [ended_at, firing] = parts::<2>(given)?;
    match (ended_at.parse(), firing.parse()) {
        (Ok(millis), Ok(firing)) => Ok((Timestamp::from_millis(millis), firing)),
        _ => Err(Problem::bad_request("page_token is not one that this list gave")),
    }
}
