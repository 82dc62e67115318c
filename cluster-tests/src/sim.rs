//! A cluster under a seed: real consensus, machine, ticker, dispatcher and API in one thread, over a network, disks and
//! clocks that are values. What it does and what it finds is told in `docs/simulation.md`.

pub mod caller;
pub mod clock;
pub mod coverage;
pub mod disk;
pub mod door;
pub mod fault;
mod files;
pub mod host;
pub mod invariants;
pub mod judge;
pub mod lasting;
pub mod mutants;
pub mod net;
pub mod plan;
pub mod quiet;
pub mod receivers;
pub mod shrink;
pub mod story;
pub mod strike;
pub mod sweep;
pub mod trace;
pub mod tuning;
mod watchdog;
mod witness;
pub mod worker;
pub mod workload;
pub mod world;
