//! When an image is due: after so many entries or so many bytes of commands, whichever is first.
//!
//! openraft's own policy knows entries only, so it is switched off and this one asks instead.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

/// Counts what was applied since the last image and says when the next one is due.
#[derive(Debug)]
pub struct Policy {
    every_entries: u64,
    every_bytes: u64,
    entries: AtomicU64,
    bytes: AtomicU64,
    asked: AtomicBool,
    due: Notify,
}

impl Policy {
    /// An image every so many entries or bytes.
    #[must_use]
    pub fn new(every_entries: u64, every_bytes: u64) -> Self {
        Self {
            every_entries,
            every_bytes,
            entries: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            asked: AtomicBool::new(false),
            due: Notify::new(),
        }
    }

    /// Waits until an image is due.
    pub async fn due(&self) {
        self.due.notified().await;
    }

    /// An entry with a command of so many bytes was applied.
    pub(crate) fn count(&self, bytes: usize) {
        let entries = self.entries.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        let due = entries >= self.every_entries || bytes >= self.every_bytes;
        if due && !self.asked.swap(true, Ordering::Relaxed) {
            self.due.notify_one();
        }
    }

    /// An image is being made of what was applied up to now.
    pub(crate) fn restart(&self) {
        self.entries.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
        self.asked.store(false, Ordering::Relaxed);
    }

    /// Whoever was told may not have been heard: when an image is still due, the next entry says so again.
    pub(crate) fn remind(&self) {
        self.asked.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn is_due(policy: &Policy) -> bool {
        policy.due().now_or_never().is_some()
    }

    #[test]
    fn an_image_is_due_once_after_so_many_entries_or_bytes() {
        let policy = Policy::new(3, 100);
        policy.count(1);
        policy.count(1);
        assert!(!is_due(&policy));
        policy.count(1);
        assert!(is_due(&policy));
        policy.count(1);
        assert!(!is_due(&policy), "asked twice");
        policy.restart();
        policy.count(100);
        assert!(is_due(&policy));
    }

    #[test]
    fn what_was_not_heard_is_said_again() {
        let policy = Policy::new(1, 100);
        policy.count(0);
        assert!(is_due(&policy));
        policy.remind();
        policy.count(0);
        assert!(is_due(&policy));
    }
}
