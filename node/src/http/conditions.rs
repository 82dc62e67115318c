//! `If-Match` and `If-None-Match`, and the name in a path: what a write is addressed to, and when it may be made.

use std::collections::BTreeMap;

use axum::extract::FromRequestParts;
use axum::extract::Path;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use campanile_core::command::Condition;
use campanile_core::definition::ScheduleName;
use campanile_core::id::LogIndex;

use super::answer::Refused;
use crate::problem::{Code, Flaw, Problem};

/// The schedule that a path names.
#[derive(Debug)]
pub(crate) struct Named(pub(crate) ScheduleName);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let Path((namespace, name)) = Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map_err(|wrong| Problem::bad_request(format!("the path cannot be read: {wrong}")))?;
        ScheduleName::new(&namespace, &name).map(Self).map_err(|bad| {
            let flaw = Flaw {
                pointer: format!("/{}", bad.segment),
                detail: format!("the {} {}", bad.segment, bad.why),
                hint: "a schedule is namespace/name, each of 1-200 letters, digits, '.', '_' and '-'".into(),
                column: None,
            };
            Problem::with_errors(Code::InvalidSchedule, vec![flaw]).into()
        })
    }
}

/// The headers of a request that a handler of a write looks at: these travel to the leader.
const CONDITIONS: [HeaderName; 3] = [header::IF_MATCH, header::IF_NONE_MATCH, header::CONTENT_TYPE];

/// A header that may be there once.
pub(crate) fn one_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value
            .to_str()
            .map(Some)
            .map_err(|_| Problem::bad_request(format!("the header {name} is not ASCII"))),
        (Some(_), Some(_)) => Err(Problem::bad_request(format!("the header {name} is there more than once"))),
    }
}

/// The conditions of a write, and what its body is, as they came, for the handlers of the leader.
pub(crate) fn conditions(headers: &HeaderMap) -> Result<BTreeMap<String, String>, Problem> {
    let mut given = BTreeMap::new();
    for name in CONDITIONS {
        if let Some(value) = one_header(headers, &name)? {
            given.insert(name.to_string(), value.to_owned());
        }
    }
    Ok(given)
}

/// What must be so for a write to be made.
pub(crate) fn condition(headers: &HeaderMap) -> Result<Condition, Problem> {
    let if_match = one_header(headers, &header::IF_MATCH)?;
    let if_none_match = one_header(headers, &header::IF_NONE_MATCH)?;
    match (if_match, if_none_match) {
        (None, None) => Ok(Condition::None),
        (None, Some("*")) => Ok(Condition::Absent),
        (None, Some(_)) => Err(Problem::bad_request("If-None-Match is \"*\" here: create only")),
        (Some(tag), None) => tag_index(tag).map(Condition::Unchanged),
        (Some(_), Some(_)) => Err(Problem::bad_request("If-Match and If-None-Match exclude each other")),
    }
}

/// An entity tag is the log index of the last change, in quotes; people leave the quotes away.
fn tag_index(tag: &str) -> Result<LogIndex, Problem> {
    let bare = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap_or(tag);
    let digits = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit());
    bare.parse().ok().filter(|_| digits).map(LogIndex).ok_or_else(|| {
        Problem::bad_request(format!(
            "If-Match is the ETag of an answer, such as \"42\" in quotes, not {tag}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_indexes_in_quotes() {
        assert_eq!(tag_index("\"42\""), Ok(LogIndex(42)));
        assert_eq!(tag_index("42"), Ok(LogIndex(42)));
        for bad in ["", "*", "W/\"42\"", "\"x\"", "\"1\", \"2\"", "\"", "+4"] {
            assert!(tag_index(bad).is_err(), "{bad}");
        }
    }
}
