//! Backfills as JSON.

use campanile_core::backfill::BackfillState;
use campanile_core::id::BackfillId;

/// What a backfill is called outside: `bkf_` and its number.
#[must_use]
pub fn backfill_id(id: BackfillId) -> String {
    format!("bkf_{id}")
}

/// The word for how a backfill stands.
#[must_use]
pub const fn backfill_word(state: &BackfillState) -> &'static str {
    match state {
        BackfillState::Running => "running",
        BackfillState::Completed => "completed",
        BackfillState::Cancelled => "cancelled",
        BackfillState::Failed(_) => "failed",
    }
}
