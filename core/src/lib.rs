//! What Campanile *is*, without a clock, a disk, a network or a task: schedules, firings, and the machine that decides.
//!
//! Read it bottom to top, as the modules are declared. Three pure doors lead in: [`plan`] proposes, [`machine`] decides,
//! [`query`] shows. [`verify`] judges all three by what they wrote. The same command at the same index makes the same machine, reply and events on every replica.
//!
//! This room must not know tokio, openraft, sled, axum, the wall clock, randomness or hash order; `clippy.toml` and
//! `Cargo.toml` hold it to that.

pub mod time;

pub mod id;

mod recent;

pub mod mutant;

pub mod cron;

pub mod rrule;

pub mod calendar;

pub mod ical;

pub mod spec;

pub mod definition;

pub mod series;

pub mod english;

pub mod attempt;

pub mod firing;

pub mod queue;

pub mod secret;

pub mod chain;

pub mod letter;

pub mod schedule;

pub mod retry;

pub mod backfill;

pub mod reply;

pub mod format;

pub mod command;

pub mod event;

pub mod request;

pub mod due;

pub mod shared;

pub mod state;

pub mod machine;

pub mod plan;

pub mod query;

pub mod invariant;

pub mod verify;

pub mod image;
