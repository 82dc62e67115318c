//! What a command finds in its environment.
//!
//! It inherits the worker's, without what the worker alone is trusted with: of our own variables only the endpoints go on.

use std::ffi::OsStr;

use tokio::process::Command;

use crate::wire::lease::Leased;

/// Ours that a command may need too: to ask the cluster, with a token of its own.
const SHARED: &str = "CAMPANILE_ENDPOINT";

/// Gives `command` the environment of this firing.
pub(super) fn give(command: &mut Command, leased: &Leased) {
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_withheld(name)) {
        command.env_remove(name);
    }
    command
        .env("CAMPANILE_FIRING", &leased.firing)
        .env("CAMPANILE_SCHEDULE", &leased.schedule)
        .env("CAMPANILE_NOMINAL", leased.nominal.to_string())
        .env("CAMPANILE_ATTEMPT", leased.attempt.to_string())
        .env("CAMPANILE_FENCING_TOKEN", leased.fencing_token.to_string())
        .env("CAMPANILE_QUEUE", &leased.queue)
        .env("CAMPANILE_KIND", &leased.kind)
        .env("CAMPANILE_RUN", leased.run.to_string())
        .env("CAMPANILE_LEASE", &leased.lease)
        .env("CAMPANILE_DEADLINE", leased.deadline.to_string());
    if let Some(cause) = &leased.cause {
        command.env("CAMPANILE_CAUSE", cause);
    }
    if !leased.traceparent.is_empty() {
        command.env("TRACEPARENT", &leased.traceparent).env_remove("TRACESTATE");
    }
}

/// Credentials of the worker, settings of a node on the same machine, and what another firing left behind: a worker may
/// itself be the command of a worker.
fn is_withheld(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name != SHARED && name.starts_with("CAMPANILE_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_and_leftovers_are_withheld_and_the_rest_is_inherited() {
        for name in
            ["CAMPANILE_TOKEN", "CAMPANILE_TOKEN_FILE", "CAMPANILE_PEER__SECRET_FILE", "CAMPANILE_CAUSE"]
        {
            assert!(is_withheld(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "HOME", "CAMPANILE_ENDPOINT", "MY_CAMPANILE_TOKEN"] {
            assert!(!is_withheld(OsStr::new(name)), "{name}");
        }
    }
}
