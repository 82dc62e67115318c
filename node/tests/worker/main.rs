//! Workers against a queue that this process plays: the command `campanile worker` as a process, and the loop of the client
//! as a library. Nothing here is the server; what is held to the contract is what a worker asks for and does.

#![allow(clippy::unwrap_used)]

mod commands;
mod ends;
mod fake;
mod library;
mod node;
mod process;
mod terms;
mod ways;
