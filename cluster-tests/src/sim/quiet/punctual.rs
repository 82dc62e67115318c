//! Receivers that answer at once, and are only counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use campanile::dispatch::exit::{Answer, Exit, Lost, Parcel};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// All of them. Clones are the same ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Punctual {
    had: Arc<AtomicU64>,
}

impl Punctual {
    /// How many requests they had.
    pub(super) fn had(&self) -> u64 {
        self.had.load(Ordering::Relaxed)
    }
}

impl Exit for Punctual {
    fn send(&self, _: Parcel) -> BoxFuture<'_, Result<Answer, Lost>> {
        async move {
            self.had.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok(Answer::whole(200, None, Bytes::from_static(b"seen")))
        }
        .boxed()
    }
}
