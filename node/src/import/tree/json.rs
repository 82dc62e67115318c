//! JSON with places, by `serde_json`: a raw value is a slice of the text, so where it begins says on which line it stands.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{DEEPEST, Entry, Kind, Node, Place, Unreadable};

pub(super) fn read(text: &str) -> Result<Node, Unreadable> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| unreadable(&error, error.line()))?;
    let lines = text.match_indices('\n').map(|(at, _)| at).collect();
    Source { text, lines }.node(raw, DEEPEST)
}

/// `line` since the parser counts from the start of the part that it was given.
fn unreadable(error: &serde_json::Error, line: usize) -> Unreadable {
    let text = error.to_string();
    let detail = text.split(" at line ").next().unwrap_or_default();
    Unreadable { place: Some(Place { line, column: None }), detail: format!("is no JSON: {detail}") }
}

struct Source<'a> {
    text: &'a str,
    /// Where each line ends.
    lines: Vec<usize>,
}

impl<'a> Source<'a> {
    fn node(&self, raw: &'a RawValue, depth: usize) -> Result<Node, Unreadable> {
        let place = self.place(raw);
        if depth == 0 {
            let detail = format!("is no JSON: nested deeper than {DEEPEST} levels");
            return Err(Unreadable { place: Some(place), detail });
        }
        Ok(Node { place, kind: self.kind(raw, depth - 1)? })
    }

    fn kind(&self, raw: &'a RawValue, depth: usize) -> Result<Kind, Unreadable> {
        let text = raw.get();
        let line = self.place(raw).line;
        let trouble = |error: serde_json::Error| unreadable(&error, line + error.line().saturating_sub(1));
        match text.as_bytes().first() {
            Some(b'[') => {
                let items: Vec<&'a RawValue> = serde_json::from_str(text).map_err(trouble)?;
                items.into_iter().map(|item| self.node(item, depth)).collect::<Result<_, _>>().map(Kind::List)
            }
            Some(b'{') => {
                let pairs: Pairs<'a> = serde_json::from_str(text).map_err(trouble)?;
                let entry =
                    |(key, raw)| Ok(Entry { place: self.place(raw), key, value: self.node(raw, depth)? });
                pairs.0.into_iter().map(entry).collect::<Result<_, _>>().map(Kind::Map)
            }
            _ => Ok(match serde_json::from_str(text).map_err(trouble)? {
                Value::Bool(flag) => Kind::Flag(flag),
                Value::Number(number) => Kind::Number(number),
                Value::String(text) => Kind::Text(text),
                Value::Null | Value::Array(_) | Value::Object(_) => Kind::Null,
            }),
        }
    }

    fn place(&self, raw: &RawValue) -> Place {
        let at = (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        Place { line: self.lines.partition_point(|end| *end < at) + 1, column: None }
    }
}

/// The fields of an object in their order, duplicates included.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Pairs<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = fields.next_entry::<String, &'de RawValue>()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_line() {
        let node = read("\n[\n\t{\"a\":\n 1, \"b\": [null,\n \"x\\u00e4\"]}]\n").expect("JSON");
        let Kind::List(items) = &node.kind else { panic!("{node:?}") };
        let entries = items[0].entries();
        assert_eq!((node.place.line, items[0].place.line), (2, 3));
        assert_eq!(entries.iter().map(|entry| entry.place.line).collect::<Vec<_>>(), [4, 4]);
        let Kind::List(inner) = &entries[1].value.kind else { panic!("{entries:?}") };
        assert_eq!((inner[1].place.line, inner[1].text()), (5, Some("xä")));
        assert_eq!(node.to_value(), serde_json::json!([{"a": 1, "b": [null, "xä"]}]));
    }

    #[test]
    fn what_is_no_json_or_too_much_of_it_is_one_error_with_its_line() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for (text, line) in
            [("", 1), ("{\"a\": 1,\n}", 2), ("[1]\n[2]", 2), ("[\n1,\n1e999]", 3), (&deep, 1), ("nope", 1)]
        {
            let error = read(text).expect_err("no JSON");
            assert_eq!(error.place.map(|place| place.line), Some(line), "{error:?}");
            assert!(error.detail.starts_with("is no JSON: "), "{error:?}");
        }
    }
}
