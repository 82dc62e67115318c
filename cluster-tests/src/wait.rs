//! Waiting for a condition that somebody else makes true, with a deadline and a name. The only waiting that tests do.
//!
//! What is waited for is always something real: an answer, a row, the end of a process. It must not be used to let time
//! pass in the hope that something has happened meanwhile.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How often one looks: often enough to be no part of what is measured in tenths of a second.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The answer of `look`, as soon as it has one; `None` at the deadline.
pub async fn until<T>(within: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(found) = look().await {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        sleep(LOOK_EVERY).await;
    }
}

/// As [`until`], for what must come.
///
/// # Panics
/// When `what` has not come in time.
pub async fn must<T>(what: &str, within: Duration, look: impl AsyncFnMut() -> Option<T>) -> T {
    match until(within, look).await {
        Some(found) => found,
        None => panic!("after {within:?} still waiting for: {what}"),
    }
}
