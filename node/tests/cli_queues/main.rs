//! The commands about queues, the secrets that requests are signed with, and dead letters.

#![allow(clippy::unwrap_used)]

#[path = "../cli_support/mod.rs"]
mod cli_support;
mod letters;
mod queues;
mod secrets;

use campanile::cli::Exit;
use cli_support::{Node, Ran, cli};

const AT: &str = "2026-12-01T00:00:00Z";

/// Runs a command against a node.
fn ask(node: &Node, args: &[&str]) -> Ran {
    cli(&[args, &["--endpoint", &node.url()]].concat())
}

/// What a command printed that did as asked.
fn done(node: &Node, args: &[&str]) -> String {
    let ran = ask(node, args);
    assert_eq!(ran.exit, Exit::Done, "{args:?}: {}", ran.err);
    ran.out
}
