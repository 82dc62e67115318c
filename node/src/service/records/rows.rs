//! Rows of the ledger: from bytes to facts, and where each belongs in the history.

use campanile_core::event::{Event, Row as CoreRow};
use campanile_core::firing::FiringId;
use campanile_core::id::{Run, Uid};
use campanile_core::time::Timestamp;
use campanile_raft::level;
use campanile_storage::Kind;
use campanile_storage::history::Key;
use campanile_storage::ledger::{LedgerReader, Position, Row};

use super::{Records, places};
use crate::problem::{Code, Problem};
use crate::wire::ledger::Row as ShownRow;

/// Offices are indexed under a uid that no schedule has, by the index of their entry: who led at an index is one look.
pub(super) const OFFICES: Uid = Uid(0);
/// Gaps between leaders are indexed under a uid that no schedule has, by when they ended.
pub(super) const OUTAGES: Uid = Uid(1 << 58);
/// Definitions are indexed under the uid of their schedule with this bit set, by revision: the newest first is one look,
/// and no firing is met on the way. Uids are places in the log below 2^53 (`Uid::of`), so no schedule has such a uid.
const DEFINITIONS: u64 = 1 << 63;
/// Runs of skips are indexed under this run, which no firing has (each run is one more than the last, and nobody asks for
/// four billion re-runs of an instant). So whatever stands under another run has fired, and what has fired is known from
/// keys alone.
pub(in crate::service) const SKIPS: u32 = u32::MAX;

/// Where a row belongs in the history: firings by their nominal, a run of skips by its last, and what changed a schedule by
/// its place in the log too (see `places`). Give it to the indexer. Other keys for the same row are another form of the
/// index: its directory needs another name in `storage`.
pub fn history_keys(row: &Row, keys: &mut Vec<Key>) {
    if let Ok(read) = read_row(row) {
        keys.extend(key_of(row.position, &read.event));
        places::add(row.position, &read.event, keys);
    }
}

fn key_of(position: Position, event: &Event) -> Option<Key> {
    let key = |uid: Uid, nominal: i64, run: Run| Key { uid: uid.0, nominal, run: run.0, position };
    let of = |id: &FiringId| key(id.uid, id.nominal.as_millis(), id.run);
    match event {
        Event::Fired { firing, .. }
        | Event::Begun { firing, .. }
        | Event::Settled { firing, .. }
        | Event::StopAsked { firing }
        | Event::Cancelled { firing, .. }
        | Event::LetterDiscarded { firing, .. }
        | Event::ChainDropped { cause: firing, .. } => Some(of(firing)),
        Event::Skipped { uid, to, .. } => Some(key(*uid, to.as_millis(), Run(SKIPS))),
        Event::LeaderEpoch { epoch, .. } => Some(key(OFFICES, i64::try_from(epoch.0).ok()?, Run(0))),
        Event::Defined { uid, revision, .. } => {
            Some(key(definitions_of(*uid), i64::from(revision.0), Run(0)))
        }
        Event::Outage { to, .. } => Some(key(OUTAGES, to.as_millis(), Run(0))),
        Event::Deleted { .. }
        | Event::Paused { .. }
        | Event::Resumed { .. }
        | Event::Parked { .. }
        | Event::Finished { .. }
        | Event::NodeAdmitted { .. }
        | Event::MarkSet { .. }
        | Event::BackfillCreated { .. }
        | Event::BackfillEnded { .. }
        | Event::CalendarPut { .. }
        | Event::CalendarDeleted { .. }
        | Event::ZonesUsed { .. }
        | Event::NextMoved { .. }
        | Event::QueuePut { .. }
        | Event::QueueDeleted { .. }
        | Event::QueuePaused { .. }
        | Event::QueueResumed { .. }
        | Event::SecretPut { .. }
        | Event::SecretDeleted { .. }
        | Event::LedgerChecked { .. }
        | Event::Restating { .. }
        | Event::Standing { .. }
        | Event::CalendarStanding { .. }
        | Event::Restated { .. }
        | Event::MembersChanged { .. }
        | Event::LedgerDropped { .. }
        | Event::FormatLevelSet { .. } => None,
    }
}

/// The uid under which the definitions of a schedule are indexed.
pub(super) fn definitions_of(uid: Uid) -> Uid {
    Uid(uid.0 | DEFINITIONS)
}

/// The firing that a key belongs to; of a run of skips, the firing that its last instant would have been.
pub(super) fn firing_of(key: Key) -> FiringId {
    let run = if key.run == SKIPS { 0 } else { key.run };
    FiringId { uid: Uid(key.uid), nominal: Timestamp::from_millis(key.nominal), run: Run(run) }
}

/// The fact in a row.
///
/// # Errors
/// `internal` when a newer version wrote it, or it is damaged.
pub fn read_row(row: &Row) -> Result<CoreRow, Problem> {
    level::read(Kind::Event, &row.body).map_err(|wrong| {
        Problem::new(Code::Internal, format!("row {} of the ledger cannot be read: {wrong}", row.position))
    })
}

impl Records {
    /// The ledger itself.
    #[must_use]
    pub fn reader(&self) -> LedgerReader {
        self.ledger.clone()
    }
}

/// A row as an answer.
pub(super) fn show(row: &Row) -> Result<ShownRow, Problem> {
    Ok(ShownRow::of(row.position.to_string(), &read_row(row)?, &row.hash))
}

/// A position from its text, `index.n`; `index` alone is behind every row of that entry.
#[must_use]
pub fn parse_position(text: &str) -> Option<Position> {
    match text.split_once('.') {
        Some((index, n)) => Some(Position::new(index.parse().ok()?, n.parse().ok()?)),
        None => Some(Position::end_of(text.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_back_from_their_text() {
        assert_eq!(parse_position("7.3"), Some(Position::new(7, 3)));
        assert_eq!(parse_position("7"), Some(Position::end_of(7)));
        for bad in ["", ".", "7.", "-1.0", "a.b", "1.2.3"] {
            assert_eq!(parse_position(bad), None, "{bad}");
        }
    }
}
