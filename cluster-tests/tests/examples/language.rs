//! The languages that examples are written in, as far as this machine speaks them.
//!
//! It starts nothing that stays: it says how a worker or a receiver is started, and builds what has to be built.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use campanile_cluster_tests::binary::says;

/// A language that is here, its examples built.
pub(crate) struct Language {
    /// Its name: also of the queue and of the schedules that its examples are tried with.
    pub(crate) name: &'static str,
    folder: PathBuf,
    program: &'static str,
    worker: &'static str,
    receiver: &'static str,
    tests: &'static [&'static str],
}

/// All that are here.
pub(crate) fn all_here() -> &'static [Language] {
    static HERE: OnceLock<Vec<Language>> = OnceLock::new();
    HERE.get_or_init(|| [python(), typescript()].into_iter().flatten().collect())
}

impl Language {
    /// A worker of a queue. `reach` names the nodes and the token as the command line does.
    pub(crate) fn worker<'a>(&self, options: &[&str], reach: impl Iterator<Item = &'a OsStr>) -> Command {
        let mut command = self.command(&[self.program, self.worker]);
        command.args(options).args(reach);
        command
    }

    /// A receiver on a free port, which it prints.
    pub(crate) fn receiver(&self, secret: &Path, state: &Path) -> Command {
        let mut command = self.command(&[self.program, self.receiver, "--listen", "127.0.0.1:0"]);
        command.arg("--secret-file").arg(secret).arg("--state").arg(state);
        command
    }

    pub(crate) fn assert_own_tests_pass(&self) {
        let answer = says(self.command(self.tests));
        assert_eq!(answer.code, Some(0), "{}: {answer}", self.name);
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(&self.folder).stdin(Stdio::null());
        // No caches in the tree, and none of a developer's settings.
        command.env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH").env_remove("NODE_OPTIONS");
        command
    }
}

fn python() -> Option<Language> {
    let language = Language {
        name: "python",
        folder: examples("python"),
        program: "python3",
        worker: "worker.py",
        receiver: "receiver.py",
        // A warning is an error: of a socket that was left open, for one.
        tests: &["python3", "-W", "error", "-m", "unittest"],
    };
    let is_new_enough = "import sys; sys.exit(sys.version_info < (3, 11))";
    if agrees(language.command(&["python3", "-c", is_new_enough])) {
        Some(language)
    } else {
        not_tried("Python", "no python3 of 3.11 or later")
    }
}

fn typescript() -> Option<Language> {
    let language = Language {
        name: "typescript",
        folder: examples("typescript"),
        program: "node",
        worker: "dist/src/worker.js",
        receiver: "dist/src/receiver.js",
        // Not built again: an example of another test may be starting from it.
        tests: &["npm", "test", "--ignore-scripts"],
    };
    let is_new_enough = "process.exit(process.versions.node.split('.')[0] < 20 ? 1 : 0)";
    let node = agrees(language.command(&["node", "-e", is_new_enough]));
    if !node || !agrees(language.command(&["npm", "--version"])) {
        return not_tried("TypeScript", "no npm, or no node of 20 or later");
    }
    if !has_compiler(&language) && !fetch_compiler(&language) {
        return not_tried("TypeScript", "its compiler could not be fetched");
    }
    let built = says(language.command(&["npm", "run", "build"]));
    assert_eq!(built.code, Some(0), "the TypeScript examples do not build: {built}");
    Some(language)
}

/// Whether npm has put there what is asked for now, not only what was asked for once.
fn has_compiler(typescript: &Language) -> bool {
    let written = |file| typescript.folder.join(file).metadata().and_then(|file| file.modified()).ok();
    written("node_modules/.package-lock.json") >= written("package-lock.json")
}

fn fetch_compiler(typescript: &Language) -> bool {
    let answer = says(typescript.command(&["npm", "ci", "--fetch-retries=1"]));
    if answer.code != Some(0) {
        eprintln!("npm ci: {answer}");
    }
    answer.code == Some(0)
}

/// CI has both languages and can fetch packages, so there nothing may be passed over; elsewhere one may be on a train.
fn not_tried(language: &str, why: &str) -> Option<Language> {
    assert!(std::env::var_os("CI").is_none(), "{why}: CI must try the examples in {language}");
    eprintln!("{why}: the examples in {language} are NOT tried");
    None
}

/// Whether the program is here and says yes.
fn agrees(mut command: Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn examples(language: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("deploy/examples").join(language)
}
