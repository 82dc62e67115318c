//! Re-runs: a nominal instant fires once more because a user asks.

use super::Turn;
use crate::command::Rerun;
use crate::reply::{Rejection, Reply};

pub(super) fn rerun(_turn: &mut Turn<'_>, _command: &Rerun) -> Result<Reply, Rejection> {
    Err(Rejection::NotFound)
}
