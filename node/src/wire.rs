//! The JSON of the HTTP API: what a body may hold, and what an answer looks like.
//!
//! The way in is by hand, field by field ([`read`]), so that a user hears of everything that is wrong at once, each with a
//! pointer; the way out is by serde, and the same types are the schemas of the OpenAPI document. Conversion to and from
//! `campanile_core` happens here and nowhere else. This folder must not know axum, the cluster or the clock: an instant
//! that matters is a parameter.

pub mod action;
pub mod apply;
pub mod as_of;
pub mod backfill;
pub mod calendar;
pub mod cluster;
pub mod definition;
pub mod diff;
pub mod draft;
pub mod exclusion;
pub mod explain;
pub mod firing;
pub mod host;
pub mod lease;
pub mod lease_ref;
pub mod ledger;
pub mod letter;
pub mod mark;
pub mod orders;
pub mod outage;
pub mod page;
pub mod patch;
pub mod payload;
pub mod policy;
pub mod preview;
pub mod queue;
pub mod read;
pub mod revision;
pub mod schedule;
pub mod secret;
pub mod spec;
pub mod stats;
pub mod target;
pub mod text;
pub mod time;
pub mod timeline;
pub mod verify;
pub mod webhook;
