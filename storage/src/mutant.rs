//! What the simulation plants in this room (the mutants of core): whoever runs the world says so here, since this room knows
//! nobody above. Without the feature `mutants` there is nothing to say, and the compiler removes what is guarded.

#[cfg(feature = "mutants")]
use std::cell::Cell;

#[cfg(feature = "mutants")]
thread_local! {
    static EARLY: Cell<bool> = const { Cell::new(false) };
}

/// From here on, logs whose writer runs on this thread say "durable" before they have synced, and sync before they write
/// again; or not any more.
#[cfg(feature = "mutants")]
pub fn acknowledge_early(early: bool) {
    EARLY.set(early);
}

/// Whether the log answers before it has synced.
#[cfg(feature = "mutants")]
pub(crate) fn acknowledges_early() -> bool {
    EARLY.get()
}

/// Whether the log answers before it has synced.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn acknowledges_early() -> bool {
    false
}
