//! Compaction at work: logs are purged behind images, ledgers behind what was told again, and neither grows with the days.

use std::collections::BTreeSet;

use campanile_core::id::LogIndex;
use campanile_raft::{ClusterStatus, LogStatus};
use campanile_storage::ledger::LedgerReader;

use crate::sim::invariants::Findings;
use crate::sim::tuning::Tuning;

/// What is found here.
pub(super) const PURGED: &str = "the log is purged";
pub(super) const DROPPED: &str = "old rows are dropped";
pub(super) const FILES: &str = "the ledger's files are bounded";

/// What a node has kept up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kept {
    /// Its last entry,
    pub last: u64,
    /// and up to where its log is purged.
    pub purged: u64,
    /// How many different images were seen.
    pub images: u64,
    /// Rows that it had written in all,
    pub rows: u64,
    /// and those of them that were in files that are gone.
    pub dropped: u64,
    /// Bytes of all rows.
    pub bytes: u64,
    /// The most bytes of its files,
    pub held: u64,
    /// and the most files.
    pub files: u64,
}

/// Watches one node.
#[derive(Debug, Default)]
pub(super) struct Upkeep {
    kept: Kept,
    images: BTreeSet<LogIndex>,
}

impl Upkeep {
    /// One look.
    pub(super) fn look(&mut self, status: &ClusterStatus, ledger: &LedgerReader) {
        let LogStatus { image, purged, .. } = status.log;
        self.images.extend(image);
        let head = ledger.head();
        let files = ledger.segments().len() as u64;
        self.kept = Kept {
            last: status.last_log.0,
            purged: purged.map_or(0, |index| index.0).max(self.kept.purged),
            images: self.images.len() as u64,
            rows: head.rows,
            dropped: ledger.base().rows,
            bytes: head.bytes,
            held: self.kept.held.max(ledger.bytes_held()),
            files: self.kept.files.max(files),
        };
    }

    /// What it has kept up.
    pub(super) const fn kept(&self) -> Kept {
        self.kept
    }

    /// After so many days.
    pub(super) fn judge(&self, node: usize, days: u64, tuning: &Tuning, found: &mut Findings) {
        let Kept { last, purged, images, dropped, bytes, files, .. } = self.kept;
        // An image may be due since the last look, and a purge goes in steps.
        let most = 2 * tuning.image_every + 2 * tuning.keep_entries;
        if purged + most < last {
            found.add(PURGED, || format!("node {node}: up to {purged} of {last}, after {images} images"));
        }
        let age_days = tuning.retention.age.as_millis() / 86_400_000;
        if days > 2 * age_days && dropped == 0 {
            found.add(DROPPED, || format!("node {node}: none of {} rows in {days} days", self.kept.rows));
        }
        let most = most_files(bytes, days, age_days, tuning);
        if files > most {
            found.add(FILES, || format!("node {node}: {files}, and {most} would hold what is kept"));
        }
    }
}

/// Rows stay an eighth longer than they must (see the keeper), a file stays as long as one of its rows; one is being
/// filled, and one reserved.
fn most_files(bytes: u64, days: u64, age_days: u64, tuning: &Tuning) -> u64 {
    let kept_days = (age_days + age_days.div_ceil(8) + 1).min(days.max(1));
    (bytes / days.max(1) * kept_days).div_ceil(u64::from(tuning.segment_bytes)) + 3
}

#[cfg(test)]
mod tests {
    use super::super::pace::{HEARTBEAT, tuning};
    use super::*;

    /// Sixty days of a megabyte each.
    fn good() -> Kept {
        Kept {
            last: 900_000,
            purged: 894_000,
            images: 44,
            rows: 900_000,
            dropped: 800_000,
            bytes: 60 << 20,
            held: 7 << 20,
            files: 8,
        }
    }

    fn found(kept: Kept) -> Vec<&'static str> {
        let (upkeep, mut found) = (Upkeep { kept, images: BTreeSet::new() }, Findings::default());
        upkeep.judge(0, 60, &tuning(HEARTBEAT), &mut found);
        found.told.iter().map(|(name, _)| *name).collect()
    }

    #[test]
    fn what_is_not_compacted_is_found() {
        assert_eq!(found(good()), [""; 0]);
        assert_eq!(found(Kept { purged: 0, ..good() }), [PURGED]);
        assert_eq!(found(Kept { dropped: 0, ..good() }), [DROPPED]);
        assert_eq!(found(Kept { files: 60, ..good() }), [FILES]);
    }
}
