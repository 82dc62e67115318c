//! The HTTP API, asked by direct calls of its router, over a machine in memory and a real ledger.
#![allow(clippy::unwrap_used)]

mod access;
mod bad_input;
#[path = "../cli_support/mod.rs"]
mod cli_support;
mod export;
mod fake;
mod firings;
mod openapi;
mod relay;
mod schedules;
