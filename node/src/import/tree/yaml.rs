//! YAML with places, by `serde_saphyr`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::{Location, Spanned};

use super::{DEEPEST, Entry, Kind, Node, Place, Unreadable};

pub(super) fn read(text: &str) -> Result<Vec<Node>, Unreadable> {
    let options = serde_saphyr::options! { budget: serde_saphyr::budget! { max_depth: DEEPEST } };
    let read = serde_saphyr::from_multiple_with_options::<Spanned<Kind>>(text, options);
    let documents = read.map_err(|error| Unreadable {
        place: error.location().map(place),
        detail: format!("is no YAML: {}", one_line(&error.without_snippet().to_string())),
    })?;
    Ok(documents.into_iter().map(node).filter(|node| node.kind != Kind::Null).collect())
}

fn node(spanned: Spanned<Kind>) -> Node {
    Node { place: place(spanned.referenced), kind: spanned.value }
}

fn place(location: Location) -> Place {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Place { line: number(location.line()), column: Some(number(location.column())) }
}

/// What an error says, without its place, which is told before it.
fn one_line(text: &str) -> String {
    let text = text.split(" at line ").next().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Kind;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        Kind::deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Kind, E> {
        Ok(Kind::Flag(flag))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Kind, E> {
        Ok(Kind::Number(number.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Kind, E> {
        Ok(Kind::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Kind, E> {
        Ok(Number::from_f64(number).map_or_else(|| Kind::Text(number.to_string()), Kind::Number))
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<Kind, E> {
        Ok(Kind::Text(number.to_string()))
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<Kind, E> {
        Ok(Kind::Text(number.to_string()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Kind, E> {
        Ok(Kind::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kind, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Kind>>()? {
            list.push(node(item));
        }
        Ok(Kind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Kind, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = fields.next_key::<Spanned<String>>()? {
            let value = node(fields.next_value::<Spanned<Kind>>()?);
            entries.push(Entry { place: place(key.referenced), key: key.value, value });
        }
        Ok(Kind::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `line:column path` of everything in a tree.
    fn places(path: &str, node: &Node, into: &mut Vec<String>) {
        for entry in node.entries() {
            let path = format!("{path}.{}", entry.key);
            into.push(format!("{}:{} {path}", entry.place.line, entry.place.column.unwrap_or_default()));
            places(&path, &entry.value, into);
        }
        if let Kind::List(items) = &node.kind {
            for (n, item) in items.iter().enumerate() {
                into.push(format!("{} {path}[{n}]", item.place.line));
                places(&format!("{path}[{n}]"), item, into);
            }
        }
    }

    #[test]
    fn every_key_has_its_place() {
        let text = "# x\na:\n  b: 1\n  c:\n    - d: x\n    - y\n---\n---\ne: {f: true}\n";
        let mut found = Vec::new();
        for document in read(text).expect("YAML") {
            places("", &document, &mut found);
        }
        assert_eq!(
            found,
            [
                "2:1 .a",
                "3:3 .a.b",
                "4:3 .a.c",
                "5 .a.c[0]",
                "5:7 .a.c[0].d",
                "6 .a.c[1]",
                "9:1 .e",
                "9:5 .e.f"
            ]
        );
    }

    #[test]
    fn what_is_no_yaml_or_too_much_of_it_is_one_error() {
        let bomb = (1..12).fold("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, n| {
            let before = format!("*a{}", n - 1);
            format!("{text}a{n}: &a{n} [{}]\n", [before.as_str(); 10].join(", "))
        });
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for text in ["a: [", "a: b: c", "\u{0}", "*nowhere", bomb.as_str(), deep.as_str(), "a: 1\na: 2"] {
            let error = read(text).expect_err("no YAML");
            assert!(error.detail.starts_with("is no YAML: ") && !error.detail.contains('\n'), "{error:?}");
        }
        assert_eq!(read("# nothing\n"), Ok(vec![]));
    }
}
