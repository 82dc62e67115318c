//! How the nodes of a world are set: otherwise than in production where a world lasts minutes, or months.

use std::time::Duration;

use campanile::leader::Retention;
use campanile_core::time::Span;

/// A zone that came with tz data 2025b; a program of the version before lacks it.
pub const NEW_ZONE: &str = "America/Coyhaique";

/// See the head of the file.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// An image after so many entries.
    pub image_every: u64,
    /// Entries that stay in the log behind an image.
    pub keep_entries: u64,
    /// How far a clock may be ahead.
    pub max_ahead: Span,
    /// How much of the ledger is kept.
    pub retention: Retention,
    /// The bytes of a segment.
    pub segment_bytes: u32,
    /// How many times as long as in production a node waits between two looks.
    pub leisure: u32,
    /// How often a leader says that it is there.
    pub heartbeat: Duration,
    /// After how long a silence a follower stands for election, at least,
    pub election_min: Duration,
    /// and at most.
    pub election_max: Duration,
}

impl Default for Tuning {
    fn default() -> Self {
        let retention = Retention {
            age: Span::from_secs(240),
            least_gap: Span::from_secs(20),
            check_rows: 200,
            ..Retention::default()
        };
        Self {
            image_every: 400,
            keep_entries: 100,
            max_ahead: Span::from_secs(5),
            retention,
            segment_bytes: 64 << 10,
            leisure: 1,
            heartbeat: Duration::from_millis(50),
            election_min: Duration::from_millis(150),
            election_max: Duration::from_millis(300),
        }
    }
}
