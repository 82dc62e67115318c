//! Opening a sled database that another handle of this process may have closed a moment ago.

use std::{
    thread,
    time::{Duration, Instant},
};

use ::sled::{Config, Db, Error};

/// How long to wait for a lock: a closed database holds its own for a moment, until sled's last thread lets go.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

const LOCK_POLL: Duration = Duration::from_millis(5);

/// Opens the database of `config`, waiting a moment for the lock that its own threads may still hold.
pub(crate) fn open(config: &Config) -> Result<Db, Error> {
    let begun = Instant::now();
    loop {
        match config.open() {
            Err(error) if is_lock(&error) && begun.elapsed() < LOCK_PATIENCE => thread::sleep(LOCK_POLL),
            answer => return answer,
        }
    }
}

/// Whether somebody else has the database open. sled 0.34.7 tells a lock from other errors by its text alone.
pub(crate) fn is_lock(error: &Error) -> bool {
    matches!(error, Error::Io(error) if error.to_string().starts_with("could not acquire lock"))
}
