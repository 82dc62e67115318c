//! Situations as readable text: each file under `testscripts/` is a conversation with the machine, and what it answered.
//!
//! A block is a few commands, `---`, and the output that they gave. `UPDATE=1 cargo test -p campanile-core --test
//! transcripts` writes the outputs anew; read the difference before you keep it. After every command the machine is
//! compared with one that was restarted from its image, and its invariants are checked.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub)]

mod transcript;

use std::fs;
use std::path::{Path, PathBuf};

use transcript::Stage;

#[test]
fn every_transcript_plays_as_it_is_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testscripts");
    let mut scripts: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.sort();
    assert!(scripts.len() >= 8, "the transcripts are not where they should be");
    let mut failed = Vec::new();
    for script in &scripts {
        let written = fs::read_to_string(script).unwrap();
        let played = play(&written);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(script, played).unwrap();
        } else if played != written {
            failed.push(first_difference(script, &written, &played));
        }
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}

/// Plays a script and answers it with the outputs that it gave this time.
fn play(script: &str) -> String {
    let mut stage = Stage::default();
    let mut played = String::new();
    let mut commands: Vec<&str> = Vec::new();
    let mut in_output = false;
    for line in script.lines() {
        if line == "---" {
            in_output = true;
            played.push_str("---\n");
            for command in commands.drain(..) {
                stage.play(command).iter().for_each(|said| played.push_str(&format!("{said}\n")));
            }
        } else if in_output {
            if line.is_empty() {
                in_output = false;
                played.push('\n');
            }
        } else {
            played.push_str(line);
            played.push('\n');
            if !line.is_empty() && !line.starts_with('#') {
                commands.push(line);
            }
        }
    }
    assert!(commands.is_empty(), "the script ends with commands and no `---`: {commands:?}");
    played
}

fn first_difference(script: &Path, written: &str, played: &str) -> String {
    let place = written.lines().zip(played.lines()).position(|(a, b)| a != b);
    let place = place.unwrap_or(written.lines().count().min(played.lines().count()));
    let line = |text: &str| text.lines().nth(place).unwrap_or("(the end)").to_owned();
    format!(
        "{}:{}\n  written: {}\n  played:  {}",
        script.file_name().unwrap().display(),
        place + 1,
        line(written),
        line(played)
    )
}
