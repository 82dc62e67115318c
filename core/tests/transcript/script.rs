//! A script file: blocks of commands, `---`, and the output that they gave.
//!
//! `UPDATE=1` writes the outputs anew, `UPDATE=overlap` those of files with that in their name; read the difference before
//! you keep it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::Stage;

/// Plays a file; answers what is wrong with it, in words that name the file and the line.
pub fn fault(script: &Path) -> Option<String> {
    let name = script.file_name()?.to_string_lossy().into_owned();
    let written = match fs::read_to_string(script) {
        Ok(written) => written,
        Err(error) => return Some(format!("{name}: {error}")),
    };
    // A script that panics hides none of the others.
    let Ok(played) = catch_unwind(AssertUnwindSafe(|| play(&written))) else {
        return Some(format!("{name}: panicked, see above"));
    };
    let update = std::env::var("UPDATE").unwrap_or_default();
    if update == "1" || (!update.is_empty() && name.contains(&update)) {
        fs::write(script, &played).expect("the outputs can be written");
    }
    (played != written).then(|| first_difference(&name, &written, &played))
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
    stage.verify();
    assert!(commands.is_empty(), "the script ends with commands and no `---`: {commands:?}");
    played
}

fn first_difference(name: &str, written: &str, played: &str) -> String {
    let place = written.lines().zip(played.lines()).position(|(a, b)| a != b);
    let place = place.unwrap_or(written.lines().count().min(played.lines().count()));
    let line = |text: &str| text.lines().nth(place).unwrap_or("(the end)").to_owned();
    format!("{name}:{}\n  written: {}\n  played:  {}", place + 1, line(written), line(played))
}
