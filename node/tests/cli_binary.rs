//! What only the real process shows: exit codes as a shell sees them, and a pipe whose reader leaves.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output, Stdio};

fn campanile(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_campanile"));
    command
        .args(args)
        .env_remove("CAMPANILE_ENDPOINT")
        .env_remove("CAMPANILE_TOKEN_FILE")
        .env("NO_COLOR", "1");
    command
}

fn output(args: &[&str]) -> Output {
    campanile(args).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_shell_sees_the_exit_codes_of_the_contract() {
    for (args, code) in [
        (["--help"].as_slice(), 0),
        (&["explain", "@daily"], 0),
        (&["explain", "0 24 * * *"], 1),
        (&["schedule"], 2),
        (&["schedule", "ls", "--endpoint", "gopher://x"], 2),
        // Port 1 of this machine is nobody's.
        (&["schedule", "ls", "--endpoint", "http://127.0.0.1:1"], 6),
    ] {
        let output = output(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert_eq!(output.stdout.is_empty(), code != 0, "{args:?}");
    }
}

#[test]
fn a_reader_that_leaves_early_hears_no_complaint() {
    let mut child = campanile(&["explain", "* * * * * *", "-c", "1000", "-o", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("pipe") && !said.contains("panicked"), "{said}");
}

#[test]
fn the_environment_names_endpoints_and_flags_stand_above_it() {
    let asked = |command: &mut Command| {
        String::from_utf8_lossy(&command.stdin(Stdio::null()).output().unwrap().stderr).into_owned()
    };
    let both = "http://127.0.0.1:1,http://127.0.0.1:2";
    let said = asked(campanile(&["schedule", "ls"]).env("CAMPANILE_ENDPOINT", both));
    assert!(said.contains("127.0.0.1:1: ") && said.contains("127.0.0.1:2: "), "{said}");
    let said =
        asked(campanile(&["schedule", "ls", "--endpoint", "127.0.0.1:3"]).env("CAMPANILE_ENDPOINT", both));
    assert!(said.contains("127.0.0.1:3: ") && !said.contains("127.0.0.1:1: "), "{said}");
}
