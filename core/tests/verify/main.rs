//! The verifier held against the machine: whatever random worlds live through is found clean, and whatever one row of a
//! decision says too little, too much or amiss is found.
//!
//! `SEEDS=1000 cargo test -p campanile-core --release --test verify -- --nocapture` runs more; each failure names its seed,
//! and `SEED=n` runs it alone.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, unreachable_pub, dead_code)]

mod ledger;
mod planted;
mod sound;
mod story;
mod wide;
#[path = "../world/mod.rs"]
mod world;
