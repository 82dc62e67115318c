//! Merge-patch (RFC 7396): what is named changes, `null` goes back to the default, the rest stays.

use serde_json::Value;

use super::payload::{Body, Payload};

/// `target` with `patch` merged in.
#[must_use]
pub fn merge(target: Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut merged = match target {
        Value::Object(map) => map,
        _ => serde_json::Map::new(),
    };
    for (name, change) in changes {
        if change.is_null() {
            merged.remove(name);
        } else {
            let before = merged.remove(name).unwrap_or(Value::Null);
            merged.insert(name.clone(), merge(before, change));
        }
    }
    Value::Object(merged)
}

/// A definition with a patch merged in. A payload that the patch does not name keeps every digit; one that it replaces
/// whole is taken as it was written.
#[must_use]
pub fn merge_definition(current: Value, payload: &Payload, patch: &Body) -> Body {
    let payload = match patch.value.get("payload") {
        None => payload.0.clone(),
        Some(Value::Null) => "".into(),
        Some(change @ Value::Object(_)) => {
            let before = serde_json::from_str(&payload.0).unwrap_or(Value::Null);
            merge(before, change).to_string().into()
        }
        Some(_) => patch.payload.clone(),
    };
    Body { value: merge(current, &patch.value), payload }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn the_examples_of_rfc_7396_hold() {
        for (target, patch, merged) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            assert_eq!(merge(target, &patch), merged, "{patch}");
        }
    }

    #[test]
    fn a_payload_that_is_not_named_keeps_every_digit() {
        let payload = Payload(r#"{"n":12345678901234567890123}"#.into());
        let patch = Body::parse(br#"{"overlap": "skip"}"#).unwrap();
        let merged = merge_definition(json!({"overlap": "allow", "payload": {"n": 1e22}}), &payload, &patch);
        assert_eq!(&*merged.payload, r#"{"n":12345678901234567890123}"#);
        assert_eq!(merged.value["overlap"], "skip");
    }
}
