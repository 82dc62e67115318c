//! A node of Campanile, and the command line that talks to it: one library under one binary.
//!
//! In the order of reading: [`config`] says what is wanted, [`run`] gives each part what it needs, [`leader`] does the
//! duties of an office, [`dispatch`] sends, [`service`] and [`http`] answer users, [`cli`] and [`client`] are those users.
//! This room alone reads the wall clock and touches the network beyond the peers; what it decides, it decides by proposing
//! to `raft`. It holds no state that a restart would miss.

pub mod config;

pub mod clock;

pub mod telemetry;

pub mod metrics;

pub mod auth;

pub mod run;

mod ending;

pub mod leader;

pub mod dispatch;

pub mod problem;

pub mod wire;

pub mod verify;

pub mod service;

pub mod work;

pub mod backup;

pub mod http;

pub mod client;

pub mod export;

pub mod cli;

pub mod import;

pub mod demo;
