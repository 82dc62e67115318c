//! Why this node must stop, once it must.
//!
//! The first reason stands; nothing is retried and nothing is restarted here. The node watches it, says it and ends.

use crate::runtime::watch;

/// The one reason. Clones are the same.
#[derive(Debug, Clone)]
pub struct Fatal(watch::Sender<Option<String>>);

impl Default for Fatal {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Fatal {
    /// The node must stop for this reason.
    pub fn stop(&self, reason: impl Into<String>) {
        let reason = reason.into();
        self.0.send_if_modified(|first| {
            if first.is_none() {
                tracing::error!(%reason, "this node must stop");
                *first = Some(reason);
                return true;
            }
            false
        });
    }

    /// The reason, if there is one.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        self.0.borrow().clone()
    }

    /// Told when there is one.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Option<String>> {
        self.0.subscribe()
    }
}
