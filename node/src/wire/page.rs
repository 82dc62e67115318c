//! Pages of a list, and the opaque text that says where the next one begins.
//!
//! A token names the last item of the page before by its key, never by a count: what is inserted or removed meanwhile
//! neither repeats nor hides another item.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;

/// How many items a page has when nothing is said.
pub const DEFAULT_LIMIT: usize = 100;
/// The most items of a page.
pub const MAX_LIMIT: usize = 1000;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The items. A page with a filter may have fewer than `limit`, and still a next one.
    pub items: Vec<T>,
    /// Where the next page begins; left out on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

impl<T> Page<T> {
    /// At most `limit` of what comes in the order of its names, which are its keys.
    pub fn by_name(limit: usize, mut behind: impl Iterator<Item = T>, name: impl Fn(&T) -> &str) -> Self {
        let items: Vec<T> = behind.by_ref().take(limit).collect();
        let last = items.last().filter(|_| behind.next().is_some());
        let next_page_token = last.map(|last| token(&[name(last)]));
        Self { items, next_page_token }
    }
}

/// The name after which a page of [`Page::by_name`] begins.
///
/// # Errors
/// As [`parts`].
pub fn after_name(page_token: Option<&str>) -> Result<Option<String>, Problem> {
    Ok(page_token.map(parts::<1>).transpose()?.map(|[name]| name))
}

/// Hides the parts of a key in a token.
#[must_use]
pub fn token(parts: &[&str]) -> String {
    URL_SAFE_NO_PAD.encode(parts.join("\n"))
}

/// The parts of a key, as many as `N`.
///
/// # Errors
/// `bad_request` when the text is no token of this list.
pub fn parts<const N: usize>(token: &str) -> Result<[String; N], Problem> {
    let wrong = || Problem::bad_request("page_token is not one that this list gave");
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| wrong())?;
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    let parts: Vec<String> = text.split('\n').map(str::to_owned).collect();
    parts.try_into().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_gives_its_parts_back_and_a_forged_one_is_refused() {
        assert_eq!(parts::<2>(&token(&["a/b", "7"])), Ok(["a/b".to_owned(), "7".to_owned()]));
        for forged in ["", "!!", &token(&["one"]), &token(&["1", "2", "3"])] {
            assert!(parts::<2>(forged).is_err(), "{forged}");
        }
    }
}
