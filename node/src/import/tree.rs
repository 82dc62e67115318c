//! YAML or JSON with the place of everything in it, and a reader of fields that forgets none.
//!
//! ```text
//! text ──▶ [Node] ──▶ Fields: what a reader asked for  ──▶ the draft
//!                        └──── what nobody asked for   ──▶ remarks, by `close`
//! ```
//!
//! Nothing here knows what a field means. Memory and depth are bounded whatever the text holds: aliases are counted as
//! what they stand for.

mod json;
mod yaml;

use std::collections::BTreeSet;

use serde_json::{Number, Value};

use super::{Import, Place, Weight};

/// The deepest nesting that is read: no configuration needs more, and the stack bears it.
const DEEPEST: usize = 64;

/// Why a text could not be read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where, if that is known.
    pub place: Option<Place>,
    /// What is wrong, lower case, without a full stop.
    pub detail: String,
}

impl Unreadable {
    pub(super) fn not_text() -> Self {
        Self { place: None, detail: "is not UTF-8 text".to_owned() }
    }
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key, where it stands, and its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) key: String,
    pub(super) value: Node,
}

impl Node {
    /// The documents of a YAML stream; empty ones are left out.
    pub(super) fn all_from_yaml(text: &str) -> Result<Vec<Self>, Unreadable> {
        yaml::read(text)
    }

    /// The one value of a JSON text.
    pub(super) fn from_json(text: &str) -> Result<Self, Unreadable> {
        json::read(text)
    }

    pub(super) fn entries(&self) -> &[Entry] {
        if let Kind::Map(entries) = &self.kind { entries } else { &[] }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Kind::Text(text) = &self.kind { Some(text) } else { None }
    }

    /// The value without its places.
    pub(super) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Flag(flag) => Value::Bool(*flag),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => items.iter().map(Self::to_value).collect(),
            Kind::Map(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_value())).collect()
            }
        }
    }
}

/// The fields of a map, and which of them were asked for.
pub(super) struct Fields<'a> {
    path: String,
    place: Place,
    entries: &'a [Entry],
    asked: BTreeSet<&'static str>,
}

impl<'a> Fields<'a> {
    /// The fields of `node`, which stands at `path`; none when it is no map.
    pub(super) fn of(node: &'a Node, path: impl Into<String>) -> Self {
        Self { path: path.into(), place: node.place, entries: node.entries(), asked: BTreeSet::new() }
    }

    /// Where the map stands.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// The path of a field, for messages.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// A field that is there and not null. Of keys that stand there twice the last counts, as in Go.
    pub(super) fn get(&mut self, name: &'static str) -> Option<&'a Entry> {
        self.asked.insert(name);
        let entry = self.entries.iter().rev().find(|entry| entry.key == name)?;
        (entry.value.kind != Kind::Null).then_some(entry)
    }

    /// A text that is not empty, with its place.
    pub(super) fn text(&mut self, name: &'static str, import: &mut Import) -> Option<(&'a str, Place)> {
        let entry = self.get(name)?;
        match &entry.value.kind {
            Kind::Text(text) if text.is_empty() => None,
            Kind::Text(text) => Some((text, entry.place)),
            _ => self.mistyped(entry, "text", import),
        }
    }

    /// A whole number, with its place.
    pub(super) fn number(&mut self, name: &'static str, import: &mut Import) -> Option<(u64, Place)> {
        let entry = self.get(name)?;
        match &entry.value.kind {
            Kind::Number(number) if number.is_u64() => Some((number.as_u64()?, entry.place)),
            _ => self.mistyped(entry, "whole number that is not negative", import),
        }
    }

    /// A flag, with its place.
    pub(super) fn flag(&mut self, name: &'static str, import: &mut Import) -> Option<(bool, Place)> {
        let entry = self.get(name)?;
        match entry.value.kind {
            Kind::Flag(flag) => Some((flag, entry.place)),
            _ => self.mistyped(entry, "flag", import),
        }
    }

    /// The items of a list.
    pub(super) fn list(&mut self, name: &'static str, import: &mut Import) -> &'a [Node] {
        let Some(entry) = self.get(name) else { return &[] };
        match &entry.value.kind {
            Kind::List(items) => items,
            _ => self.mistyped::<&[Node]>(entry, "list", import).unwrap_or_default(),
        }
    }

    /// The fields of a map inside this one; none are there when the map is not.
    pub(super) fn inner(&mut self, name: &'static str, import: &mut Import) -> Fields<'a> {
        let path = self.at(name);
        let entry = self.get(name);
        let found = entry.filter(|entry| match entry.value.kind {
            Kind::Map(_) => true,
            _ => self.mistyped::<()>(entry, "map", import).is_some(),
        });
        Fields {
            path,
            place: found.map_or(self.place, |entry| entry.place),
            entries: found.map_or(&[], |entry| entry.value.entries()),
            asked: BTreeSet::new(),
        }
    }

    /// Passes fields by in silence: what a server has written about itself.
    pub(super) fn pass(&mut self, names: &[&'static str]) {
        self.asked.extend(names);
    }

    /// Says of a field, if it is there, that it is not carried over.
    pub(super) fn leave(&mut self, name: &'static str, hint: &str, import: &mut Import) {
        if let Some(entry) = self.get(name) {
            let detail = format!("{} is not carried over", self.at(name));
            import.remark(entry.place, Weight::Dropped, detail, hint);
        }
    }

    /// Says of each field that nobody asked for that it is not carried over. Null says nothing.
    pub(super) fn close(self, hint: &str, import: &mut Import) {
        let unread = self
            .entries
            .iter()
            .filter(|entry| !self.asked.contains(entry.key.as_str()) && entry.value.kind != Kind::Null);
        for entry in unread {
            let detail = format!("{} is not carried over", self.at(&entry.key));
            import.remark(entry.place, Weight::Dropped, detail, hint);
        }
    }

    fn mistyped<T>(&self, entry: &Entry, wanted: &str, import: &mut Import) -> Option<T> {
        let detail = format!("{} is no {wanted}, so it is not carried over", self.at(&entry.key));
        import.remark(entry.place, Weight::Dropped, detail, "");
        None
    }
}
