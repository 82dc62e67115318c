//! The watchdog over this node's own disk: a write or a sync of the log that does not end.
//!
//! A leader with such a disk is the worst kind: it answers, so nobody stands against it, and commits late or not at all.
//! Giving the leadership away needs no disk. openraft itself cannot be relied upon to notice that it was lost: it waits for
//! the disk to save the vote for the successor. So the office ends here, by [`Alarms`], whatever openraft still says.
//!
//! Must not watch what fails: a failed write stops the node by itself.

use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::Instant;

use campanile_storage::log::{Log, LogStats};

use super::{Alarms, LOOK_EVERY, Lasting, Limits};
use crate::consensus::{Consensus, Inner};
use crate::fatal::Fatal;
use crate::runtime::between_looks;

/// How long openraft may take to accept that the leadership is to be given away.
const ASKING: Duration = Duration::from_secs(1);

/// How long the write under way has taken, as far as somebody sees who looks now and then.
#[derive(Debug, Default)]
pub(super) struct Writes {
    batches: u64,
    lasting: Lasting,
}

impl Writes {
    /// What the log shows now. Never longer than it is true, and shorter by two looks at most.
    pub(super) fn look(&mut self, stats: &LogStats, now: Instant) -> Duration {
        let same = std::mem::replace(&mut self.batches, stats.batches) == stats.batches;
        self.lasting.look(stats.is_busy && same, now)
    }
}

/// How a disk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It works, or nothing is asked of it.
    Works,
    /// It takes so long that this node must not lead.
    Hangs,
    /// It takes so long that this node must stop.
    Lost,
}

/// Judges a disk, look by look.
#[derive(Debug)]
pub struct Disk {
    limits: Limits,
    writes: Writes,
}

impl Disk {
    /// One that nobody has looked at.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, writes: Writes::default() }
    }

    /// How it stands by what the log shows now.
    pub fn look(&mut self, stats: &LogStats, now: Instant) -> Standing {
        let lasted = self.writes.look(stats, now);
        let is_over = |limit: Option<Duration>| limit.is_some_and(|limit| lasted >= limit);
        match (is_over(self.limits.disk_stop), is_over(self.limits.disk_hand_over)) {
            (true, _) => Standing::Lost,
            (false, true) => Standing::Hangs,
            (false, false) => Standing::Works,
        }
    }
}

/// Watches the disk of a node until it is lost.
pub(crate) async fn serve(inner: Weak<Inner>) {
    let Some(node) = inner.upgrade() else { return };
    let (log, limits) = (node.log.clone(), node.options.watchdog);
    let (alarms, fatal) = (Arc::clone(&node.alarms), node.fatal.clone());
    drop(node);
    let give_away = || async {
        match inner.upgrade() {
            Some(inner) => give_away(&Consensus::new(inner)).await,
            None => false,
        }
    };
    watch(&log, limits, &alarms, &fatal, give_away).await;
}

async fn watch<F>(log: &Log, limits: Limits, alarms: &Alarms, fatal: &Fatal, mut give_away: impl FnMut() -> F)
where
    F: Future<Output = bool>,
{
    let (mut disk, mut given) = (Disk::new(limits), false);
    loop {
        tokio::time::sleep(between_looks(LOOK_EVERY)).await;
        let standing = disk.look(&log.stats(), Instant::now());
        let hangs = standing != Standing::Works;
        if alarms.note_disk(hangs) {
            tell(hangs);
        }
        match standing {
            Standing::Works => given = false,
            // Asked for once is enough: openraft then proposes nothing and sends no heartbeats, so that the others elect.
            Standing::Hangs if given => {}
            Standing::Hangs => {
                given = give_away().await;
                if given {
                    alarms.note_hand_over();
                }
            }
            Standing::Lost => {
                let seconds = limits.disk_stop.unwrap_or_default().as_secs_f64();
                return fatal
                    .stop(format!("the disk hangs: a write of the log has not ended for {seconds} s"));
            }
        }
    }
}

fn tell(hangs: bool) {
    match hangs {
        true => tracing::error!("the disk hangs: this node leads no more, until a write of the log ends"),
        false => tracing::warn!("the disk works again"),
    }
}

/// Gives the leadership to the voter that answers and lacks least; whether that was asked for.
async fn give_away(consensus: &Consensus) -> bool {
    let status = consensus.status();
    if status.leader != Some(status.node) {
        return false;
    }
    let Some(to) = status.successor(|_| true) else { return false };
    match tokio::time::timeout(ASKING, consensus.transfer(to)).await {
        Ok(Ok(())) => {
            tracing::warn!(to = to.0, "this node gives its office away: its disk hangs");
            true
        }
        Ok(Err(error)) => {
            tracing::debug!(%error, "this node cannot give its office away yet");
            false
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests;
