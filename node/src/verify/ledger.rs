//! The rows of a node's own ledger, up to where it ended when the pass began.

use campanile_storage::ledger::{Hash, Head, LedgerReader, Position, Row, chain_hash};

use super::{Batch, Progress, Source};

/// The most rows of one batch, and the most bytes of their bodies.
const BATCH: (usize, usize) = (4_096, 4 << 20);

/// A ledger that is being read beside its writer.
#[derive(Debug)]
pub struct OfLedger {
    ledger: LedgerReader,
    /// Where the pass ends: what is written meanwhile is for the next one.
    end: Head,
    /// The hash before the next row; `None` when the row before it is dropped.
    before: Option<Hash>,
    after: Option<Position>,
    done: u64,
    of: u64,
    over: bool,
    /// Changes when rows were cut off or all replaced.
    generation: u64,
}

impl OfLedger {
    /// The ledger as it is now.
    #[must_use]
    pub fn now(ledger: LedgerReader) -> Self {
        let (generation, end) = (ledger.generation(), ledger.head());
        // A ledger that cannot be read says so with the first batch.
        let whole = ledger.reaches(None).unwrap_or(false);
        let of = end.rows.saturating_sub(if whole { 0 } else { ledger.base().rows });
        let before = whole.then_some(Hash::default());
        Self { ledger, end, before, after: None, done: 0, of, over: false, generation }
    }

    /// Whether rows behind this one are gone by right, so that what was read in their place means nothing.
    fn was_overtaken(&self, after: Option<Position>) -> bool {
        let dropped = after.is_some() && !self.ledger.reaches(after).unwrap_or(true);
        dropped || self.ledger.generation() != self.generation
    }

    fn judge(&mut self, row: Row) -> (Row, Option<String>) {
        let expected = self.before.map(|before| chain_hash(&before, row.position, &row.body));
        let flaw = expected.filter(|expected| *expected != row.hash);
        self.before = Some(row.hash);
        self.after = Some(row.position);
        let told = flaw.map(|_| "its hash does not follow from the row before it and its body".to_owned());
        (row, told)
    }
}

impl Source for OfLedger {
    fn begins_midway(&self) -> bool {
        self.before.is_none()
    }

    fn next(&mut self) -> Option<Batch> {
        if self.over || self.after >= self.end.position {
            return None;
        }
        let mut batch = Batch::default();
        let asked = self.after;
        match self.ledger.read(self.after, BATCH.0, BATCH.1) {
            Err(trouble) => batch.cut = Some(format!("the ledger cannot be read further: {trouble}")),
            Ok(rows) if rows.is_empty() => batch.cut = Some("rows at its end are gone".to_owned()),
            Ok(rows) => {
                let until = self.end.position;
                let inside = rows.into_iter().take_while(|row| Some(row.position) <= until);
                batch.rows = inside.map(|row| self.judge(row)).collect();
                if batch.rows.is_empty() {
                    batch.cut = Some("the row that it ended with is gone".to_owned());
                }
            }
        }
        batch.overtaken = self.was_overtaken(asked);
        self.over = batch.cut.is_some() || batch.overtaken;
        self.done += batch.rows.len() as u64;
        batch.progress = Progress { done: self.done.min(self.of), of: self.of };
        Some(batch)
    }
}
