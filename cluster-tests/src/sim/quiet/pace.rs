//! How the nodes of a quiet run are set.
//!
//! What is due, applied or asked for happens as in production. What repeats itself at rest is slower: at 50 ms sixty days are
//! two hundred million heartbeats, an hour of real time, and the looks at clocks, disks and peers a quarter of one more.

use std::time::Duration;

use campanile::leader::Retention;
use campanile_core::time::Span;

use crate::sim::tuning::Tuning;

/// The heartbeat of the long run: 40 times that of production.
pub const HEARTBEAT: Duration = Duration::from_secs(2);
/// The heartbeat for which looks are as frequent as in production: they are slowed down half as much.
const AT_ONCE: Duration = Duration::from_millis(100);

/// With that heartbeat. Elections keep their distance to it; logs and ledgers are kept for days and not for weeks, so that
/// sixty days show what becomes of them.
pub(super) fn tuning(heartbeat: Duration) -> Tuning {
    let leisure = heartbeat.as_millis() / AT_ONCE.as_millis();
    Tuning {
        image_every: 5_000,
        keep_entries: 1_000,
        max_ahead: Span::from_secs(1),
        retention: Retention {
            age: Span::from_secs(5 * 24 * 3_600),
            look_every: Duration::from_secs(60),
            ..Retention::default()
        },
        segment_bytes: 1 << 20,
        leisure: u32::try_from(leisure).unwrap_or(u32::MAX).max(1),
        heartbeat,
        election_min: 3 * heartbeat,
        election_max: 6 * heartbeat,
    }
}
