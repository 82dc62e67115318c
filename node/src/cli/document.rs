//! One value as a document: JSON or YAML, with its fields in the order in which people read them.

use std::io;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// The order of `API.md`; other fields follow as they came. One list for every kind: their names do not quarrel.
const FIRST: [&str; 31] = [
    "id",
    "namespace",
    "name",
    "schedule",
    "kind",
    "nominal",
    "state",
    "display_name",
    "description",
    "labels",
    "specs",
    "exclude",
    "start_at",
    "end_at",
    "max_firings",
    "after_completion",
    "jitter",
    "target",
    "payload",
    "overlap",
    "queue_limit",
    "catch_up",
    "delivery",
    "deadline",
    "retry",
    "pause_after_failures",
    "on_failure",
    "on_success",
    "uid",
    "revision",
    "text",
];

/// Indented JSON without a line end.
pub(super) fn json(value: &Value) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(&Ordered(value))?)
}

/// A YAML document with a line end.
pub(super) fn yaml(value: &Value) -> io::Result<String> {
    serde_saphyr::to_string(&Ordered(value)).map_err(io::Error::other)
}

struct Ordered<'a>(&'a Value);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = self.0 else { return self.0.serialize(serializer) };
        let mut map = serializer.serialize_map(Some(fields.len()))?;
        for name in FIRST {
            if let Some(value) = fields.get(name) {
                map.serialize_entry(name, value)?;
            }
        }
        for (name, value) in fields.iter().filter(|(name, _)| !FIRST.contains(&name.as_str())) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A schedule with everything that YAML readers are known to stumble over.
    fn thorny() -> Value {
        json!({
            "name": "on", "namespace": "1e3", "labels": {"yes": "no", "~": "null", "a b": "0x1f", "c": "2026-12-01"},
            "specs": [{"cron": "*/5 * * * *", "time_zone": "UTC"}, {"cron": "@daily"}, {"at": "2026-12-01T00:00:00Z"}],
            "payload": {"command": "a: b # c", "stdin": "one\n two\n\n", "n": 1.5, "big": 9007199254740993_u64, "e": ""},
            "exclude": [], "deadline": null, "status": {"text": "- 'x' \"y\" & *z !t %d @h `i` {j} [k] | > ? \t é \u{7}"},
        })
    }

    #[test]
    fn yaml_is_read_back_as_the_same_value() {
        let text = yaml(&thorny()).expect("YAML");
        let read: Value = serde_saphyr::from_str(&text).expect(&text);
        assert_eq!(read, thorny(), "{text}");
    }

    #[test]
    fn names_come_first_and_what_is_not_known_comes_last() {
        let text = json(&json!({"zebra": 1, "specs": [], "name": "n", "alpha": 2, "namespace": "ns"}))
            .expect("JSON");
        let order: Vec<usize> = ["namespace", "name", "specs", "zebra", "alpha"]
            .iter()
            .map(|name| text.find(&format!("{name:?}")).expect(name))
            .collect();
        assert!(order.is_sorted(), "{text}");
    }
}
