//! The duties of a leader against a machine in this process and a receiver on loopback: what is begun, sent and settled,
//! in which order, within which bounds, and what a lost office leaves behind.

#![allow(clippy::unwrap_used)]

mod bounds;
mod delivery;
mod egress;
mod exit;
mod hosts;
mod local;
mod node;
mod nodes;
mod office;
mod receiver;
mod stage;
mod stops;
mod ticks;
mod words;
