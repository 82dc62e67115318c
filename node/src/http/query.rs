//! Query parameters, each asked for by name: what nobody asked for is refused, since `?dry_run=true` that is not understood
//! must not be carried out for real.

use std::collections::BTreeMap;

use campanile_core::time::Timestamp;

use crate::problem::Problem;
use crate::service::Consistency;
use crate::wire::page::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::wire::{text, time};

/// The parameters of one request.
#[derive(Debug)]
pub(crate) struct Params {
    given: BTreeMap<String, Vec<String>>,
    known: Vec<&'static str>,
}

impl Params {
    /// The parameters of a query text. `forward` is the relay's; it is known everywhere.
    pub(crate) fn of(query: Option<&str>) -> Self {
        let mut given: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            given.entry(name.into_owned()).or_default().push(value.into_owned());
        }
        given.remove("forward");
        Self { given, known: Vec::new() }
    }

    /// Every value of a parameter that may be repeated.
    pub(crate) fn all(&mut self, name: &'static str) -> Vec<String> {
        self.known.push(name);
        self.given.remove(name).unwrap_or_default()
    }

    /// A parameter that may be there once; an empty one counts as left out.
    pub(crate) fn one(&mut self, name: &'static str) -> Result<Option<String>, Problem> {
        let mut values = self.all(name);
        match values.len() {
            0 | 1 => Ok(values.pop().filter(|value| !value.is_empty())),
            _ => Err(Problem::bad_request(format!("the query parameter {name:?} is there more than once"))),
        }
    }

    /// A whole number between `least` and `most`.
    pub(crate) fn number(
        &mut self,
        name: &'static str,
        least: usize,
        most: usize,
    ) -> Result<Option<usize>, Problem> {
        let Some(given) = self.one(name)? else { return Ok(None) };
        let number = given.parse().ok().filter(|number| (least..=most).contains(number));
        number.map(Some).ok_or_else(|| {
            Problem::bad_request(format!(
                "the query parameter {name:?} is a number between {least} and {most}, not {given:?}"
            ))
        })
    }

    /// `true` or `false`; `false` when it is left out.
    pub(crate) fn flag(&mut self, name: &'static str) -> Result<bool, Problem> {
        Ok(self.word(name, &["true", "false"])? == Some("true"))
    }

    /// How many items a page has.
    pub(crate) fn limit(&mut self) -> Result<usize, Problem> {
        Ok(self.number("limit", 1, MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT))
    }

    /// An instant.
    pub(crate) fn instant(&mut self, name: &'static str) -> Result<Option<Timestamp>, Problem> {
        let Some(given) = self.one(name)? else { return Ok(None) };
        // A `+` of an offset that was not escaped arrives as a blank.
        let instant = time::parse(&given).or_else(|| time::parse(&given.replace(' ', "+")));
        instant.map(Some).ok_or_else(|| {
            Problem::bad_request(format!(
                "the query parameter {name:?} is an RFC 3339 instant, not {given:?}"
            ))
        })
    }

    /// One of some words.
    pub(crate) fn word(
        &mut self,
        name: &'static str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, Problem> {
        let Some(given) = self.one(name)? else { return Ok(None) };
        let word = words.iter().find(|word| **word == given).copied();
        word.map(Some).ok_or_else(|| {
            let hint = text::did_you_mean(&given, words);
            Problem::bad_request(format!("the query parameter {name:?} does not know {given:?}: {hint}"))
        })
    }

    /// How fresh the answer must be.
    pub(crate) fn consistency(&mut self) -> Result<Consistency, Problem> {
        Ok(match self.word("consistency", &["linearizable", "stale"])? {
            Some("stale") => Consistency::Stale,
            _ => Consistency::Linearizable,
        })
    }

    /// No more parameters are known.
    pub(crate) fn close(self) -> Result<(), Problem> {
        match self.given.keys().next() {
            None => Ok(()),
            Some(name) if self.known.is_empty() => {
                Err(Problem::bad_request(format!("unknown query parameter {name:?}: this path has none")))
            }
            Some(name) => {
                let hint = text::did_you_mean(name, &self.known);
                Err(Problem::bad_request(format!("unknown query parameter {name:?}: {hint}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_bounded_and_never_ignored() {
        let mut params =
            Params::of(Some("limit=5&label=a%3Db&label=c&after=2026-01-01T00:00:00+02:00&forward=false"));
        assert_eq!(params.limit(), Ok(5));
        assert_eq!(params.all("label"), ["a=b", "c"]);
        assert_eq!(params.instant("after"), Ok(time::parse("2025-12-31T22:00:00Z")));
        assert_eq!(params.close(), Ok(()));
        for bad in ["limit=0", "limit=1001", "limit=x", "limit=1&limit=2", "limt=3", "dry_run=true"] {
            let mut params = Params::of(Some(bad));
            assert!(params.limit().and_then(|_| params.close()).is_err(), "{bad}");
        }
    }
}
