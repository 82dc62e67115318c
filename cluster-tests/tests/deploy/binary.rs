//! The binary under test, found or built, and what it says.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::SystemTime;

/// What a finished process said.
pub(crate) struct Answer {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl fmt::Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "exit code {:?}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// Runs `command` to its end.
pub(crate) fn says(mut command: Command) -> Answer {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Answer { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// `campanile …`, without what the environment of the developer would tell it.
pub(crate) fn campanile(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    let mut command = Command::new(BINARY.get_or_init(binary));
    let ours = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CAMPANILE_"));
    ours.for_each(|(name, _)| {
        command.env_remove(name);
    });
    command.args(arguments);
    command
}

/// The binary beside this test. `cargo test --workspace` has built it; a run of this package alone has not, or has left an
/// old one, and then it is built here. It is not rebuilt for nothing: a build of one package may choose other features, and
/// would compile half of the tree again.
fn binary() -> PathBuf {
    let profile = std::env::current_exe().unwrap().parent().and_then(Path::parent).unwrap().to_owned();
    let binary = profile.join("campanile");
    let built = fs::metadata(&binary).and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    if built < newest_source() {
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--locked", "-p", "campanile", "--bin", "campanile"]);
        build.arg("--target-dir").arg(profile.parent().unwrap());
        if profile.ends_with("release") {
            build.arg("--release");
        }
        let answer = says(build);
        assert_eq!(answer.code, Some(0), "the binary does not build: {answer}");
    }
    binary
}

/// When a source of the binary was last written.
fn newest_source() -> SystemTime {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let rooms = ["core/src", "storage/src", "raft/src", "node/src"];
    rooms.iter().map(|room| newest_in(&root.join(room))).max().unwrap()
}

fn newest_in(folder: &Path) -> SystemTime {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let written = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => newest_in(&entry.path()),
        false => entry.metadata().and_then(|file| file.modified()).unwrap(),
    });
    written.max().unwrap_or(SystemTime::UNIX_EPOCH)
}
