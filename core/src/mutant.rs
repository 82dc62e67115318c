//! Planted bugs, one at a time: what the simulation must catch, each at the one place where the product does it right.
//!
//! ```text
//!   the right way ── if mutant::is_on(Mutant::X) { the wrong way }       a thread is a world: one switch for all its nodes
//! ```
//! Without the feature `mutants` there is no switch: [`is_on`] is a constant `false`, and the compiler removes what it
//! guards. What ships is built without it. Nothing here may be used to decide anything else.

#[cfg(feature = "mutants")]
mod switch;

use std::borrow::Cow;

use crate::id::{LogIndex, Uid};
use crate::time::Timestamp;

#[cfg(feature = "mutants")]
pub use switch::{as_replica, is_on, set, with};

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutant {
    /// An instant that is the mark already fires again, and a new leader asks for that.
    NoDuplicateRefusal,
    /// Commands of an epoch that is over are carried out: by the machine, and by an office that has not heard that it is.
    NoEpochCheck,
    /// Leaders take an instant for decided once it was proposed: a proposal that is lost loses a tick.
    MarkBeforeCommit,
    /// The log says "durable" before it has synced; that is done before the next write. Storage knows nobody above, so it
    /// is told apart (`campanile_storage::mutant`).
    AcknowledgedBeforeSync,
    /// Each replica applies with the time of its own clock.
    LocalClockInApply,
    /// Each replica carries out the instants of a tick in an order of its own.
    HashOrderInApply,
    /// A leader that restarts leads on without an election (openraft's own default).
    LeaderRestore,
    /// The report of an attempt that is over ends the one that runs.
    SettleWithoutFencing,
    /// An image is shipped without the rows of the ledger that belong to it.
    ImageWithoutRows,
    /// A new leader begins with no idempotency key.
    KeysForgottenAtFailover,
    /// A machine that is read from an image does not know how long failed firings wait.
    RetryWaitInMemory,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::NoDuplicateRefusal,
        Self::NoEpochCheck,
        Self::MarkBeforeCommit,
        Self::AcknowledgedBeforeSync,
        Self::LocalClockInApply,
        Self::HashOrderInApply,
        Self::LeaderRestore,
        Self::SettleWithoutFencing,
        Self::ImageWithoutRows,
        Self::KeysForgottenAtFailover,
        Self::RetryWaitInMemory,
    ];

    /// Its name on command lines and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoDuplicateRefusal => "no-duplicate-refusal",
            Self::NoEpochCheck => "no-epoch-check",
            Self::MarkBeforeCommit => "mark-before-commit",
            Self::AcknowledgedBeforeSync => "acknowledged-before-sync",
            Self::LocalClockInApply => "local-clock-in-apply",
            Self::HashOrderInApply => "hash-order-in-apply",
            Self::LeaderRestore => "leader-restore",
            Self::SettleWithoutFencing => "settle-without-fencing",
            Self::ImageWithoutRows => "image-without-rows",
            Self::KeysForgottenAtFailover => "keys-forgotten-at-failover",
            Self::RetryWaitInMemory => "retry-wait-in-memory",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mutant| mutant.name() == name)
    }
}

/// Whether this bug is there: never, in a build without the feature.
#[cfg(not(feature = "mutants"))]
#[must_use]
pub const fn is_on(_: Mutant) -> bool {
    false
}

/// The items of the entry at `index`, in the order in which this replica carries them out: that of the entry.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn in_order<T: Clone>(items: &[T], _: LogIndex) -> Cow<'_, [T]> {
    Cow::Borrowed(items)
}

/// The items of the entry at `index`, in the order in which this replica carries them out: that of the entry, but for
/// [`Mutant::HashOrderInApply`].
#[cfg(feature = "mutants")]
pub(crate) fn in_order<T: Clone>(items: &[T], index: LogIndex) -> Cow<'_, [T]> {
    if is_on(Mutant::HashOrderInApply) {
        Cow::Owned(switch::scattered(items, index))
    } else {
        Cow::Borrowed(items)
    }
}

/// Up to where a leader takes a schedule for decided: its mark.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn decided_up_to(_: Uid, mark: Timestamp) -> Timestamp {
    mark
}

/// Up to where a leader takes a schedule for decided: its mark, but for [`Mutant::MarkBeforeCommit`].
#[cfg(feature = "mutants")]
pub(crate) fn decided_up_to(uid: Uid, mark: Timestamp) -> Timestamp {
    if is_on(Mutant::MarkBeforeCommit) {
        switch::proposed_of(uid).map_or(mark, |at| at.max(mark))
    } else {
        mark
    }
}

/// An instant was planned, and will be proposed.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn note_proposed(_: Uid, _: Timestamp) {}

/// An instant was planned, and will be proposed.
#[cfg(feature = "mutants")]
pub(crate) fn note_proposed(uid: Uid, nominal: Timestamp) {
    if is_on(Mutant::MarkBeforeCommit) {
        switch::note_proposed(uid, nominal);
    }
}

#[cfg(test)]
mod names {
    use super::*;

    #[test]
    fn every_mutant_is_found_by_its_name_and_no_two_have_the_same() {
        for mutant in Mutant::ALL {
            assert_eq!(Mutant::from_name(mutant.name()), Some(mutant));
        }
        assert_eq!(Mutant::from_name("none"), None);
    }
}

#[cfg(all(test, feature = "mutants"))]
mod tests;
