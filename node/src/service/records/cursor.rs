//! Where a page of a history ends, as a token.

use campanile_core::id::Uid;
use campanile_storage::history::Key;

use super::parse_position;
use crate::problem::Problem;
use crate::wire::page::{parts, token};

/// Hides the key of the last row of a page in a token.
pub(super) fn cursor_token(key: Key) -> String {
    token(&[&key.nominal.to_string(), &key.run.to_string(), &key.position.to_string()])
}

/// The key of a token that a list under `uid` gave.
///
/// # Errors
/// `bad_request` for another text.
pub(super) fn read_cursor(uid: Uid, given: &str) -> Result<Key, Problem> {
    let [nominal, run, position] = parts::<3>(given)?;
    match (nominal.parse(), run.parse(), parse_position(&position)) {
        (Ok(nominal), Ok(run), Some(position)) => Ok(Key { uid: uid.0, nominal, run, position }),
        _ => Err(Problem::bad_request("page_token is not one that this list gave")),
    }
}
