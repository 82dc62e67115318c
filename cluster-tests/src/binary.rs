//! The binary under test, found or built, and what it says.
//!
//! Nothing here knows a subcommand: what `campanile` can do stands in the tests.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::SystemTime;

/// Another binary to try instead of the one of this tree.
const CHOSEN: &str = "CAMPANILE_BINARY";

/// What a finished process said.
#[derive(Debug, Clone)]
pub struct Answer {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    /// Its data.
    pub stdout: String,
    /// Its talk.
    pub stderr: String,
}

impl fmt::Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "exit code {:?}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// Runs `command` to its end.
///
/// # Panics
/// When it cannot be started, or says something that is no text.
#[must_use]
pub fn says(mut command: Command) -> Answer {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes| String::from_utf8(bytes).expect("a program that talks to people writes UTF-8");
    Answer { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// `campanile …`, without what the environment of the developer would tell it.
///
/// # Panics
/// As [`path`].
pub fn campanile(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    command(path(), arguments)
}

/// The same of any binary.
pub fn command(binary: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(binary);
    let ours = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CAMPANILE_"));
    ours.for_each(|(name, _)| {
        command.env_remove(name);
    });
    command.args(arguments);
    command
}

/// The binary beside this test, or the one that `CAMPANILE_BINARY` names. `cargo test --workspace` has built it; a run of
/// this package alone has not, or has left an old one, and then it is built here. It is not rebuilt for nothing: a build of
/// one package may choose other features, and would compile half of the tree again.
///
/// # Panics
/// When it does not build.
pub fn path() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(chosen) = std::env::var_os(CHOSEN) {
            return chosen.into();
        }
        let profile = profile_folder();
        let release: &[&str] = if profile.ends_with("release") { &["--release"] } else { &[] };
        let target = profile.parent().expect("a profile's folder stands in the target folder");
        let binary = profile.join("campanile");
        if is_stale(&binary) {
            build(target, release);
        }
        binary
    })
}

/// The binary with the refusal of duplicates switched off: a new leader repeats the last instant of every schedule.
///
/// # Panics
/// When it does not build.
#[must_use]
pub fn planted() -> PathBuf {
    with_feature("plant-duplicates")
}

/// The binary that reads one format level more than that of this tree, as the next version will.
///
/// # Panics
/// When it does not build.
#[must_use]
pub fn next_format() -> PathBuf {
    with_feature("plant-next-format")
}

/// In a target folder of their own, since the plain binary must never be mistaken for one of them; in one for all, since
/// what they depend on is the same. The last one that was built lies where cargo puts it, so each is copied away.
fn with_feature(feature: &str) -> PathBuf {
    let target = profile_folder().parent().expect("it stands in the target folder").join("planted");
    let copy = target.join(format!("campanile-with-{feature}"));
    if is_stale(&copy) {
        let arguments = [&["--features", feature], QUICKLY].concat();
        let built = target.join("debug/campanile");
        build(&target, &arguments);
        fs::copy(&built, &copy).unwrap_or_else(|error| panic!("{}: {error}", built.display()));
    }
    copy
}

/// Nobody waits for these binaries to be fast, but everybody for them to be built.
const QUICKLY: &[&str] = &[
    "--config",
    "profile.dev.opt-level=0",
    "--config",
    "profile.dev.debug=false",
    "--config",
    "profile.dev.package.\"*\".opt-level=0",
];

/// `target/debug` or `target/release`: where this test itself was built.
fn profile_folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    // A test stands in `deps/`, a binary such as the bench directly in the folder.
    let folder = test.parent().expect("a file stands in a folder");
    let profile =
        if folder.ends_with("deps") { folder.parent().expect("deps/ stands in it") } else { folder };
    profile.to_owned()
}

fn is_stale(binary: &Path) -> bool {
    let built = fs::metadata(binary).and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    built < newest_source()
}

fn build(target: &Path, arguments: &[&str]) {
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--locked", "-p", "campanile", "--bin", "campanile", "--target-dir"]);
    build.arg(target).args(arguments);
    let answer = says(build);
    assert_eq!(answer.code, Some(0), "the binary does not build: {answer}");
}

/// When a source of the binary was last written.
fn newest_source() -> SystemTime {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this room stands in the house");
    let rooms = ["core/src", "storage/src", "raft/src", "node/src"];
    rooms.iter().map(|room| newest_in(&root.join(room))).max().expect("there are rooms")
}

/// A file that goes away meanwhile (an editor's) is no source.
fn newest_in(folder: &Path) -> SystemTime {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let written = entries.filter_map(|entry| match entry.file_type().ok()?.is_dir() {
        true => Some(newest_in(&entry.path())),
        false => entry.metadata().and_then(|file| file.modified()).ok(),
    });
    written.max().unwrap_or(SystemTime::UNIX_EPOCH)
}
