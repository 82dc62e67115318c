//! What the process writes to standard error while it runs: one event a decision, ids as fields.
//!
//! Info tells the story of a day, debug that of a minute. Nothing here decides what is worth an event.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use crate::config::{Log, LogFormat};

/// Starts logging for the whole process; a second call changes nothing.
pub fn start(log: &Log) {
    let filter = filter(&log.level).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // An error says that somebody has set a subscriber already: a test, or a node in the same process.
    let _ = match log.format {
        LogFormat::Text => builder.with_ansi(false).try_init().map_err(|_| ()),
        LogFormat::Json => builder.json().flatten_event(true).try_init().map_err(|_| ()),
    };
}

/// The level, when it is one.
///
/// # Errors
/// What to write instead.
pub fn checked_level(level: String) -> Result<String, String> {
    match filter(&level) {
        Ok(_) => Ok(level),
        Err(why) => Err(format!("{level:?} is no filter ({why}); write error, warn, info, debug or trace")),
    }
}

fn filter(level: &str) -> Result<EnvFilter, String> {
    // A word that is no level would be taken for the name of a module, and nothing would be logged.
    let words = ["error", "warn", "info", "debug", "trace", "off"];
    let bare = level.split(',').filter(|part| !part.contains(['=', '[', ':']));
    if let Some(unknown) =
        bare.map(str::trim).find(|part| !words.contains(&part.to_ascii_lowercase().as_str()))
    {
        return Err(format!("{unknown:?} is no level"));
    }
    // openraft tells its own story at info; ours is told by the leader and the raft room.
    let quiet = if level.contains("openraft") { String::new() } else { ",openraft=error".to_owned() };
    EnvFilter::try_new(format!("{level}{quiet}")).map_err(|error| error.to_string())
}
