//! Disks that hurt what a node keeps: torn, damaged, lost and full. Three real processes, schedules of every second, writers
//! that count what they were answered; one node is killed with -9, its data directory is hurt, and it is started again.
//!
//! However it ends (healed, refused and rebuilt from a peer, stopped until there is room), nothing that was acknowledged is
//! lost: it is on every node, `campanile verify` is green on each of them, and the three ledgers are one, row by row.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "damage/disk.rs"]
mod disk;
#[path = "damage/full.rs"]
mod full;
#[path = "damage/index.rs"]
mod index;
#[path = "damage/ledger.rs"]
mod ledger;
#[path = "damage/log.rs"]
mod log;
#[path = "damage/scene.rs"]
mod scene;
