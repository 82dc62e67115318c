//! A cluster under a seed: real consensus, machine, ticker, dispatcher and API in one thread, over a network, disks and
//! clocks that are values. What it does and what it finds is told in `docs/simulation.md`.

pub mod invariants;
#[cfg(feature = "mutants")]
pub mod mutants;
pub mod story;
