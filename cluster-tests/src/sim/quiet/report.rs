//! What came of a quiet run, in numbers and in words.

use std::fmt;

use campanile_core::time::Span;

use super::account::Counted;
use super::memory;
use super::upkeep::Kept;
use crate::sim::invariants::Findings;

/// What came of it.
#[derive(Debug, Default, Clone)]
pub struct Report {
    /// What was found.
    pub found: Findings,
    /// Of each node: what its ledger holds,
    pub counted: Vec<Counted>,
    /// and what it has kept up.
    pub kept: Vec<Kept>,
    /// Requests that the receivers had.
    pub sent: u64,
    /// How long after its nominal the latest of them came.
    pub latest: Span,
    /// Zones whose hands were put meanwhile.
    pub changes: Vec<&'static str>,
    /// The resident size of this process: at the first sample that counts, at most, and at the end, in bytes.
    pub memory: Option<[u64; 3]>,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(counted) = self.counted.first() else { return Ok(()) };
        writeln!(out, "hands were put in {}", self.changes.join(", "))?;
        writeln!(
            out,
            "{} fired, {} sent; decided {} ms and sent {} ms after its nominal at most",
            counted.fired,
            self.sent,
            counted.latest.as_millis(),
            self.latest.as_millis()
        )?;
        for (node, (counted, kept)) in self.counted.iter().zip(&self.kept).enumerate() {
            let mib = kept.held >> 20;
            writeln!(
                out,
                "node {node}: entry {}, purged to {}, {} images; {} rows read, {} of them dropped since; at most {} files, \
                 {mib} MiB, of the ledger",
                kept.last, kept.purged, kept.images, counted.rows, kept.dropped, kept.files
            )?;
        }
        if let Some([first, most, last]) = self.memory {
            let [first, most, last] = [first, most, last].map(|bytes| bytes >> 20);
            let days = memory::SETTLES;
            writeln!(out, "{first} MiB resident after {days} days, {most} at most since, {last} at the end")?;
        }
        for (name, what) in &self.found.told {
            writeln!(out, "FOUND {name}: {what}")?;
        }
        Ok(())
    }
}
