//! Figures about a log, for metrics and for a watchdog.

use std::time::Duration;

/// How a log is doing. Counts are since it was opened.
#[derive(Debug, Clone, Default)]
pub struct LogStats {
    /// Entries that wait to be durable.
    pub waiting_entries: usize,
    /// Their bytes.
    pub waiting_bytes: usize,
    /// Bytes of entries in RAM, the waiting ones included.
    pub window_bytes: usize,
    /// Bytes that the files take.
    pub disk_bytes: u64,
    /// The last durable index.
    pub durable: Option<u64>,
    /// Batches made durable.
    pub batches: u64,
    /// Whether anything is being written, or waits for that, be it a vote. A log that stays busy while [`LogStats::batches`]
    /// stands still has a disk that hangs; for how long is counted by whoever looks, by a clock of its own.
    pub is_busy: bool,
    /// Entries made durable.
    pub entries: u64,
    /// Entries in the last batch.
    pub last_batch: usize,
    /// How long the last batch took, write and sync.
    pub last_sync: Duration,
    /// How long the slowest batch took.
    pub slowest_sync: Duration,
    /// How long the batch under way has taken so far: a disk that hangs shows here and nowhere else.
    pub under_way: Option<Duration>,
    /// How often an append was refused because the queue was full.
    pub refused: u64,
    /// Whether a write failed; then nothing is accepted any more.
    pub poisoned: bool,
}
