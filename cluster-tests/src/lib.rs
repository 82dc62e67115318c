//! What tests of whole clusters are made of: real processes of the real binary, a receiver that writes down every call,
//! and a judge that reads the ledger of every node.
//!
//! ```text
//!   seed ──▶ faults ──▶ cluster (processes, kill -9, pause, wipe) ──▶ ledgers ──┐
//!            workload ──▶ api, command line      │                              ├──▶ judge ──▶ findings
//!                                                └──▶ webhooks ──▶ receiver ────┘
//! ```
//! Everything goes the way that a stranger goes: command line, HTTP, signals. Nothing here may look into a node. What was
//! decided is judged by the product's own `campanile verify`, run as a process; what arrived, by the receiver's record, which
//! owes nothing to the product.
//!
//! Record first, judge after: while faults run nobody judges, so no fault is timed by a judge.

pub mod seed;

pub mod wait;

pub mod binary;

pub mod ports;

pub mod process;

pub mod api;

pub mod cluster;

pub mod receiver;

pub mod ledger;

pub mod streams;

pub mod workload;

pub mod workers;

pub mod fault;

pub mod proof;

pub mod judge;

pub mod trial;

#[cfg(feature = "sim")]
pub mod sim;
