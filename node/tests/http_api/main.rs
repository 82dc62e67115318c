//! The HTTP API, asked by direct calls of its router, over a machine in memory and a real ledger.
#![allow(clippy::unwrap_used)]

mod access;
mod apply;
mod as_of;
mod backfills;
mod bad_input;
mod calendars;
mod cli_sets;
#[path = "../cli_support/mod.rs"]
mod cli_support;
mod dry_run;
mod egress;
mod explain;
mod export;
mod fake;
mod firings;
mod leases;
mod letters;
mod mark;
mod openapi;
mod outages;
mod queues;
mod relay;
mod reruns;
mod revisions;
mod schedules;
mod secrets;
mod stream;
mod stream_client;
mod tables;
mod targets;
mod timeline;
mod verify;
