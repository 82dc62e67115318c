//! Reading a body field by field: the place is tracked, wrong types are told, unknown fields are refused, and nothing stops
//! at the first flaw.
//!
//! `null` and a field left out are the same everywhere, as in a merge-patch. Reading never decides what a value means.

use std::ops::RangeInclusive;

use campanile_core::time::{Span, Timestamp};
use serde_json::{Map, Value};

use super::text;
use crate::problem::{Code, Flaw, Problem};

/// What was found wrong so far. At most [`Flaws::MAX`] are kept: a body of a megabyte can be wrong in many places.
#[derive(Debug, Default)]
pub struct Flaws {
    found: Vec<Flaw>,
    unknown_field: bool,
}

impl Flaws {
    /// The most flaws that one answer tells.
    pub const MAX: usize = 50;

    /// Something is wrong at `pointer`.
    pub fn add(&mut self, pointer: impl Into<String>, detail: impl Into<String>, hint: impl Into<String>) {
        self.push(Flaw { pointer: pointer.into(), detail: detail.into(), hint: hint.into(), column: None });
    }

    /// The same with everything that is known about it.
    pub fn push(&mut self, flaw: Flaw) {
        if self.found.len() < Self::MAX {
            self.found.push(flaw);
        }
    }

    /// Takes over what was found wrong with a part that was read alone and stands at `pointer`.
    pub(crate) fn take_over(&mut self, pointer: &str, problem: Problem) {
        self.unknown_field |= problem.code == Code::UnknownField;
        if problem.errors.is_empty() {
            self.add(pointer, problem.detail, "write it as the reference of the API says");
            return;
        }
        for flaw in problem.errors {
            self.push(Flaw { pointer: format!("{pointer}{}", flaw.pointer), ..flaw });
        }
    }

    /// Nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// How much was found, as far as it is kept.
    #[must_use]
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// `value`, unless something is wrong.
    ///
    /// # Errors
    /// `unknown_field` when there is one (whatever else follows from it), else `invalid_schedule`; with all flaws.
    pub fn settle<T>(self, value: Option<T>) -> Result<T, Problem> {
        match value {
            Some(value) if self.found.is_empty() => Ok(value),
            _ if self.unknown_field => Err(Problem::with_errors(Code::UnknownField, self.found)),
            _ => Err(Problem::with_errors(Code::InvalidSchedule, self.found)),
        }
    }
}

/// The fields of one JSON object. Each is asked for by name; what nobody asked for is unknown.
#[derive(Debug)]
pub struct Fields<'a> {
    map: &'a Map<String, Value>,
    pointer: String,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The fields of `value`, which stands at `pointer`; `None`, and a flaw, when it is no object.
    pub fn of(value: &'a Value, pointer: impl Into<String>, flaws: &mut Flaws) -> Option<Self> {
        let pointer = pointer.into();
        let Value::Object(map) = value else {
            wrong_type(flaws, &pointer, "an object", value);
            return None;
        };
        Some(Self { map, pointer, known: Vec::new() })
    }

    /// Where a field stands.
    #[must_use]
    pub fn at(&self, name: &str) -> String {
        format!("{}/{}", self.pointer, escape(name))
    }

    /// The value of a field; `None` when it is left out or `null`.
    pub fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// A text.
    pub fn text(&mut self, name: &'static str, flaws: &mut Flaws) -> Option<&'a str> {
        let value = self.get(name)?;
        let text = value.as_str();
        if text.is_none() {
            wrong_type(flaws, &self.at(name), "a text", value);
        }
        text
    }

    /// True or false.
    pub fn flag(&mut self, name: &'static str, flaws: &mut Flaws) -> Option<bool> {
        let value = self.get(name)?;
        let flag = value.as_bool();
        if flag.is_none() {
            wrong_type(flaws, &self.at(name), "true or false", value);
        }
        flag
    }

    /// A whole number that is not negative and at most `max`.
    pub fn number(&mut self, name: &'static str, max: u64, flaws: &mut Flaws) -> Option<u64> {
        let value = self.get(name)?;
        match value.as_u64() {
            Some(number) if number <= max => Some(number),
            Some(number) => {
                flaws.add(self.at(name), format!("{number} is too large"), format!("at most {max}"));
                None
            }
            None => {
                wrong_type(flaws, &self.at(name), "a whole number, not negative", value);
                None
            }
        }
    }

    /// A whole number in these bounds.
    pub fn integer(
        &mut self,
        name: &'static str,
        bounds: RangeInclusive<i64>,
        flaws: &mut Flaws,
    ) -> Option<i64> {
        let value = self.get(name)?;
        match value.as_i64() {
            Some(number) if bounds.contains(&number) => Some(number),
            Some(number) => {
                let hint = format!("between {} and {}", bounds.start(), bounds.end());
                flaws.add(self.at(name), format!("{number} is out of bounds"), hint);
                None
            }
            None => {
                wrong_type(flaws, &self.at(name), "a whole number", value);
                None
            }
        }
    }

    /// A duration such as `"90s"`.
    pub fn span(&mut self, name: &'static str, flaws: &mut Flaws) -> Option<Span> {
        let text = self.text(name, flaws)?;
        let span = text.parse().ok();
        if span.is_none() {
            flaws.add(self.at(name), format!("{text:?} is no duration"), SPAN_HINT);
        }
        span
    }

    /// An instant in RFC 3339.
    pub fn instant(&mut self, name: &'static str, flaws: &mut Flaws) -> Option<Timestamp> {
        let text = self.text(name, flaws)?;
        let instant = super::time::parse(text);
        if instant.is_none() {
            flaws.add(self.at(name), format!("{text:?} is no instant"), INSTANT_HINT);
        }
        instant
    }

    /// One of the words of an enumeration.
    pub fn word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&'static str, T)],
        flaws: &mut Flaws,
    ) -> Option<T> {
        let given = self.text(name, flaws)?;
        let meaning = words.iter().find(|(word, _)| *word == given).map(|(_, meaning)| *meaning);
        if meaning.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            flaws.add(
                self.at(name),
                format!("{given:?} is not known here"),
                text::did_you_mean(given, &known),
            );
        }
        meaning
    }

    /// An object of texts, such as labels.
    pub fn texts(&mut self, name: &'static str, flaws: &mut Flaws) -> Vec<(&'a str, &'a str)> {
        let Some(value) = self.get(name) else { return Vec::new() };
        let Value::Object(map) = value else {
            wrong_type(flaws, &self.at(name), "an object of texts", value);
            return Vec::new();
        };
        let mut pairs = Vec::with_capacity(map.len());
        for (key, value) in map {
            match value.as_str() {
                Some(text) => pairs.push((key.as_str(), text)),
                None => wrong_type(flaws, &format!("{}/{}", self.at(name), escape(key)), "a text", value),
            }
        }
        pairs
    }

    /// The items of a list.
    pub fn list(&mut self, name: &'static str, flaws: &mut Flaws) -> Option<&'a [Value]> {
        let value = self.get(name)?;
        let Value::Array(items) = value else {
            wrong_type(flaws, &self.at(name), "a list", value);
            return None;
        };
        Some(items)
    }

    /// The fields of an object inside this one.
    pub fn inner(&mut self, name: &'static str, flaws: &mut Flaws) -> Option<Self> {
        let value = self.get(name)?;
        Self::of(value, self.at(name), flaws)
    }

    /// No more fields are known: every other one is a flaw.
    pub fn close(self, flaws: &mut Flaws) {
        for name in self.map.keys().filter(|name| !self.known.contains(&name.as_str())) {
            flaws.unknown_field = true;
            flaws.add(
                self.at(name),
                format!("unknown field {name:?}"),
                text::did_you_mean(name, &self.known),
            );
        }
    }

    /// The names that were asked for, in that order: what the OpenAPI document must list too.
    #[cfg(test)]
    pub(crate) fn known(&self) -> &[&'static str] {
        &self.known
    }
}

/// How a duration is written.
pub(crate) const SPAN_HINT: &str =
    "a text such as \"90s\", \"1h30m\" or \"250ms\": d, h, m, s, ms, largest first";
/// How an instant is written.
pub(crate) const INSTANT_HINT: &str = "RFC 3339, such as \"2026-12-01T01:30:00Z\"";

fn wrong_type(flaws: &mut Flaws, pointer: &str, wanted: &str, got: &Value) {
    let (got, hint) = match got {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("true or false", ""),
        Value::Number(_) if wanted == "a text" => ("a number", "put it in quotes"),
        Value::Number(_) => ("a number", ""),
        Value::String(_) if wanted.contains("number") => ("a text", "take the quotes away"),
        Value::String(_) => ("a text", ""),
        Value::Array(_) => ("a list", ""),
        Value::Object(_) => ("an object", ""),
    };
    let hint = if hint.is_empty() { format!("write {wanted}") } else { hint.to_owned() };
    flaws.add(pointer, format!("expected {wanted}, got {got}"), hint);
}

/// A name as a part of a JSON pointer (RFC 6901).
pub(crate) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_that_is_wrong_is_told_at_once_with_its_place() {
        let body = json!({"a": 5, "b/c": 1, "n": -1, "big": 300, "w": "skp", "s": "1x", "labels": {"k": 3}});
        let mut flaws = Flaws::default();
        let mut fields = Fields::of(&body, "/outer", &mut flaws).unwrap();
        fields.text("a", &mut flaws);
        fields.number("n", 10, &mut flaws);
        fields.number("big", 255, &mut flaws);
        fields.word("w", &[("allow", 1), ("skip", 2)], &mut flaws);
        fields.span("s", &mut flaws);
        fields.texts("labels", &mut flaws);
        fields.close(&mut flaws);
        let problem = flaws.settle(Some(())).unwrap_err();
        assert_eq!(problem.code, Code::UnknownField);
        let told: Vec<(&str, &str)> =
            problem.errors.iter().map(|flaw| (flaw.pointer.as_str(), flaw.detail.as_str())).collect();
        assert_eq!(
            told,
            [
                ("/outer/a", "expected a text, got a number"),
                ("/outer/n", "expected a whole number, not negative, got a number"),
                ("/outer/big", "300 is too large"),
                ("/outer/w", "\"skp\" is not known here"),
                ("/outer/s", "\"1x\" is no duration"),
                ("/outer/labels/k", "expected a text, got a number"),
                ("/outer/b~1c", "unknown field \"b/c\""),
            ]
        );
    }

    #[test]
    fn null_is_the_same_as_left_out() {
        let body = json!({"a": null});
        let mut flaws = Flaws::default();
        let mut fields = Fields::of(&body, "", &mut flaws).unwrap();
        assert_eq!(fields.text("a", &mut flaws), None);
        assert_eq!(fields.text("b", &mut flaws), None);
        fields.close(&mut flaws);
        assert!(flaws.settle(Some(())).is_ok());
    }

    #[test]
    fn a_body_wrong_in_a_thousand_places_is_told_of_fifty() {
        let body = Value::Object((0..1000).map(|n| (format!("x{n}"), Value::Null)).collect());
        let mut flaws = Flaws::default();
        Fields::of(&body, "", &mut flaws).unwrap().close(&mut flaws);
        assert_eq!(flaws.settle(Some(())).unwrap_err().errors.len(), Flaws::MAX);
    }
}
