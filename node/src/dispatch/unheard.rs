//! An attempt of which this node does not know whether it has begun it: the answer to its Begin was lost, or refused since an
//! earlier try had been heard. What is applied here tells, sooner or later; it is sent once, or by nobody from here.
//!
//! That is safe since a claim is kept until this node's own machine knows the end of its attempt, and since a node
//! begins nothing before it has caught up with what an earlier process of its may have acted on: so a lease in this
//! node's name on an attempt that is not under way here was never used.

use std::time::Duration;
use tokio::time::Instant;

use campanile_core::attempt::{Holder, Lease};
use campanile_core::firing::{FiringId, Phase};
use campanile_core::id::AttemptNumber;

use super::attempt::Attempt;
use super::desk::Place;
use super::{Tools, next_attempt};

/// How long it is waited for: longer than a leader tries to bring to the log what it was told.
const WITHIN: Duration = Duration::from_secs(5);

/// Finds out, and sends what turns out to be this node's. Whoever asked did so at `asked_at`, or earlier.
pub(super) async fn find_out(place: Place, asked_at: Instant, tools: Tools) {
    let lease = tokio::time::timeout(WITHIN, lease_of(&place, &tools)).await.ok().flatten();
    if let Some(lease) = lease {
        tracing::debug!(firing = %place.firing.id, attempt = lease.attempt.0, "a lease is found whose answer was lost");
        let asked_at = asked_at.min(begun_at(&lease, &tools));
        Attempt { place, lease, asked_at }.run(tools).await;
    }
}

/// The lease that this node was given, once it is known whether it was.
async fn lease_of(place: &Place, tools: &Tools) -> Option<Lease> {
    let (attempt, holder) = (next_attempt(&place.firing), Holder::Node(tools.quorum.node()));
    loop {
        let view = tools.quorum.view();
        let firing = view.firing(place.firing.id)?;
        if firing.attempt >= attempt {
            let lease = firing.lease()?;
            return (lease.attempt == attempt && lease.holder == holder).then(|| lease.clone());
        }
        tools.quorum.applied_beyond(view.applied()).await;
    }
}

/// When the lease began, as well as the clocks tell: it may be of an earlier try than the last one. The log's time bounds
/// from below how long ago that was, should this node's clock be behind.
fn begun_at(lease: &Lease, tools: &Tools) -> Instant {
    let age = tools.clock.now().max(tools.quorum.view().clock()).since(lease.begun_at);
    let now = Instant::now();
    // The monotonic clock of a machine that has just started may not reach back so far; then nor does the lease.
    now.checked_sub(Duration::from_millis(age.as_millis())).unwrap_or(now)
}

/// Returns once this node's machine knows that an attempt is over. Until then a look could find the attempt as if it had
/// not begun, and the log could still show its lease as one of which nothing was heard.
pub(super) async fn is_over(firing: FiringId, attempt: AttemptNumber, tools: &Tools) {
    loop {
        let view = tools.quorum.view();
        let runs_or_will = view.firing(firing).is_some_and(|firing| match &firing.phase {
            Phase::Running(lease) => lease.attempt <= attempt,
            Phase::Queued | Phase::Waiting { .. } | Phase::Held => firing.attempt < attempt,
        });
        if !runs_or_will {
            return;
        }
        tools.quorum.applied_beyond(view.applied()).await;
    }
}
