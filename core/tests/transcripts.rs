//! Situations as readable text: each file under `testscripts/` is a conversation with the machine, and what it answered.
//!
//! A block is a few commands, `---`, and the output that they gave. `UPDATE=1 cargo test -p campanile-core --test
//! transcripts` writes the outputs anew; read the difference before you keep it. After every command the machine is
//! compared with one that was restarted from its image, and its invariants are checked. `docs/semantics-tests.md` says
//! which script shows which sentence.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub)]

mod transcript;

use std::fs;
use std::path::{Path, PathBuf};

use transcript::script;

#[test]
fn every_transcript_plays_as_it_is_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testscripts");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|it| it == "txt")).collect();
    scripts.sort();
    assert!(scripts.len() >= 40, "the transcripts are not where they should be");
    let faults: Vec<String> = scripts.iter().filter_map(|script| script::fault(script)).collect();
    let updated = std::env::var_os("UPDATE").is_some();
    assert!(faults.is_empty() || updated, "\n{}", faults.join("\n"));
}
