//! Receivers that answer at once, and look at the true time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use campanile::dispatch::exit::{Answer, Exit, Lost, Parcel};
use campanile_core::firing::FiringId;
use campanile_core::time::Span;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::sim::clock::TrueTime;

/// All of them. Clones are the same ones.
#[derive(Debug, Clone)]
pub(super) struct Punctual {
    time: TrueTime,
    seen: Arc<Mutex<Seen>>,
}

/// What they have seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Seen {
    /// Requests.
    pub(super) had: u64,
    /// Those that came before their nominal, by true time, or did not say what they are.
    pub(super) early: u64,
    /// How long after its nominal the latest came.
    pub(super) latest: Span,
}

impl Punctual {
    /// In that time.
    pub(super) fn new(time: TrueTime) -> Self {
        Self { time, seen: Arc::default() }
    }

    /// What they have seen.
    pub(super) fn seen(&self) -> Seen {
        *self.lock()
    }

    fn take(&self, parcel: &Parcel) {
        let text = parcel.headers.get("campanile-firing").and_then(|value| value.to_str().ok());
        let firing: Option<FiringId> = text.and_then(|text| text.parse().ok());
        let (now, mut seen) = (self.time.now(), self.lock());
        seen.had += 1;
        match firing {
            Some(firing) if firing.nominal <= now => {
                seen.latest = seen.latest.max(now.since(firing.nominal));
            }
            _ => seen.early += 1,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exit for Punctual {
    fn send(&self, parcel: Parcel) -> BoxFuture<'_, Result<Answer, Lost>> {
        async move {
            self.take(&parcel);
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok(Answer::whole(200, None, Bytes::from_static(b"seen")))
        }
        .boxed()
    }
}
