//! Backfills: instants of a range that fire again, a bounded batch at a time.

use super::Turn;
use crate::command::{CancelBackfill, CreateBackfill, StepBackfill};
use crate::firing::EndState;
use crate::id::{BackfillId, Uid};
use crate::reply::{Rejection, Reply};

pub(super) fn create(_turn: &mut Turn<'_>, _command: &CreateBackfill) -> Result<Reply, Rejection> {
    Err(Rejection::NotFound)
}

pub(super) fn step(_turn: &mut Turn<'_>, _command: &StepBackfill) -> Reply {
    Reply::Stepped(false)
}

pub(super) fn cancel(_turn: &mut Turn<'_>, _command: &CancelBackfill) -> Result<Reply, Rejection> {
    Err(Rejection::NotFound)
}

/// One of its firings has ended.
pub(super) fn settled(_turn: &mut Turn<'_>, _id: BackfillId, _state: EndState) {}

/// Its schedule is removed.
pub(super) fn end_all_of(_turn: &mut Turn<'_>, _uid: Uid) {}
