//! How a command ends: the exit codes of `API.md`, and one clear line with hints for each way to fail.

use std::io;
use std::process::ExitCode;

use super::Io;
use super::cell::plain;
use crate::client::{Error, FieldError, Problem, Tried};

/// How a command ended, as scripts see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// As asked.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// There is no such thing.
    NotFound = 3,
    /// It exists already, or was changed by somebody else.
    Conflict = 4,
    /// Not signed in, or not allowed.
    Auth = 5,
    /// No node was reached, or none that has a quorum.
    Unreachable = 6,
    /// No answer came in time; it may have been done.
    TimedOut = 7,
    /// `trigger --wait`: the firing did not succeed.
    FiringFailed = 8,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(super) enum Failure {
    /// A node, or the way to it.
    Api(Error),
    /// Something about the input of the command.
    Input { exit: Exit, detail: String, hint: String },
    /// Everything is said already.
    Said(Exit),
    /// Standard output, a file, the runtime.
    Io(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Api(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Failure {
    /// The command line asks for something that makes no sense.
    pub(super) fn usage(detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Input { exit: Exit::Usage, detail: detail.into(), hint: hint.into() }
    }

    /// It was understood and cannot be done.
    pub(super) fn failed(detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Input { exit: Exit::Failed, detail: detail.into(), hint: hint.into() }
    }

    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Api(Error::Problem(problem)) => exit_of(problem),
            Self::Api(Error::Unreachable { .. }) => Exit::Unreachable,
            Self::Api(Error::TimedOut { .. }) => Exit::TimedOut,
            Self::Api(Error::Foreign { .. } | Error::Broken { .. }) => Exit::Failed,
            Self::Api(Error::Unusable(_)) => Exit::Usage,
            Self::Input { exit, .. } | Self::Said(exit) => *exit,
            // Whoever read our output has enough: `campanile schedule ls | head` is no failure.
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Io(_) => Exit::Failed,
        }
    }

    /// Tells what went wrong, on standard error.
    pub(super) fn tell(&self, io: &mut Io<'_>) {
        match self {
            Self::Said(_) => {}
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Self::Io(error) => tell(io, &error.to_string(), []),
            Self::Input { detail, hint, .. } => tell(io, detail, hint_line(hint)),
            Self::Api(error) => tell_api(io, error),
        }
    }
}

/// Writes out what is left, tells what went wrong, and gives the exit code.
pub(super) fn settle(done: Result<(), Failure>, io: &mut Io<'_>) -> Exit {
    let flushed = io.out.flush().map_err(Failure::Io);
    match done.and(flushed) {
        Ok(()) => Exit::Done,
        Err(failure) => {
            failure.tell(io);
            failure.exit()
        }
    }
}

fn exit_of(problem: &Problem) -> Exit {
    match (problem.code.as_str(), problem.status) {
        ("idempotency_mismatch", _) => Exit::Conflict,
        ("unknown_outcome", _) => Exit::TimedOut,
        (_, 401 | 403) => Exit::Auth,
        (_, 404) => Exit::NotFound,
        (_, 409 | 412) => Exit::Conflict,
        (_, 503) => Exit::Unreachable,
        (_, 504) => Exit::TimedOut,
        _ => Exit::Failed,
    }
}

fn tell_api(io: &mut Io<'_>, error: &Error) {
    match error {
        Error::Problem(problem) => {
            let fields = problem.errors.iter().flat_map(field_lines);
            tell(io, &error.to_string(), fields.chain(hint_line(hint_for(&problem.code))));
        }
        Error::Unreachable { tried } => {
            tell(io, &error.to_string(), tried_lines(tried).chain(hint_line(HINT_ENDPOINT)));
        }
        Error::TimedOut { may_have_acted, tried } => {
            let hint = if *may_have_acted { HINT_UNKNOWN } else { "" };
            tell(io, &error.to_string(), tried_lines(tried).chain(hint_line(hint)));
        }
        Error::Foreign { .. } => tell(io, &error.to_string(), hint_line(HINT_ENDPOINT)),
        Error::Unusable(_) | Error::Broken { .. } => tell(io, &error.to_string(), []),
    }
}

const HINT_ENDPOINT: &str = "name a node's API address with --endpoint or CAMPANILE_ENDPOINT";
const HINT_UNKNOWN: &str = "it may have been done all the same: look before you do it again";

fn hint_for(code: &str) -> &'static str {
    match code {
        "unauthenticated" => "sign in with --token-file or CAMPANILE_TOKEN_FILE",
        "already_exists" => "`campanile schedule put` replaces a schedule",
        "version_conflict" => "somebody changed it: get it again, then put it with the new ETag",
        "unknown_outcome" => HINT_UNKNOWN,
        "watch_expired" => "rows are gone: without --after it begins with the oldest that is kept",
        "no_quorum" => "a majority of the nodes must be up: `campanile cluster status`",
        _ => "",
    }
}

fn tell(io: &mut Io<'_>, detail: &str, more: impl IntoIterator<Item = String>) {
    let error = io.paint("1;31", "error:");
    io.say(&format!("{error} {}", plain(detail)));
    for line in more {
        io.say(&format!("  {line}"));
    }
}

fn hint_line(hint: &str) -> Option<String> {
    (!hint.is_empty()).then(|| format!("hint: {}", plain(hint)))
}

fn tried_lines(tried: &[Tried]) -> impl Iterator<Item = String> {
    tried.iter().map(|tried| plain(&format!("{}: {}", tried.endpoint, tried.why)))
}

fn field_lines(error: &FieldError) -> impl Iterator<Item = String> + use<> {
    let pointer = if error.pointer.is_empty() { "the body" } else { &error.pointer };
    let column = error.column.map(|column| format!(", column {column}")).unwrap_or_default();
    let place = plain(&format!("at {pointer}{column}: {}", error.detail));
    [place].into_iter().chain(error.hint.as_deref().and_then(hint_line))
}
