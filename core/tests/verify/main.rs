//! The verifier held against the machine: whatever random worlds live through is found clean, and whatever one row of a
//! decision says too little, too much or amiss is found.
//!
//! `SEEDS=1000 cargo test -p campanile-core --release --test verify -- --nocapture` runs more; each failure names its seed,
//! and `SEED=n` runs it alone.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, unreachable_pub)]
#![allow(dead_code, reason = "the world is other tests' as well")]

mod ledger;
mod plant;
mod planted;
mod sound;
mod speed;
mod story;
mod wide;
#[path = "../world/mod.rs"]
mod world;
