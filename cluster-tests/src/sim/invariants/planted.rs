//! Check the checkers: what each property must find is planted into a history of the real machine, and it is silent about the
//! history as it was.

#![allow(clippy::unwrap_used)]

mod clean;

mod instants;

mod log;

mod work;

mod calls;
