//! One value of an answer as text for people. What a node sends is never trusted to be harmless on a terminal.

use serde_json::Value;

/// Where nothing is known.
pub(super) const NOTHING: &str = "-";

/// A text without control characters: a note or an output must not move the cursor or change the title.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            plain.extend(letter.escape_default());
        } else {
            plain.push(letter);
        }
    }
    plain
}

/// The value at a JSON pointer as one line; `-` when there is none.
pub(super) fn at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).map_or_else(|| NOTHING.to_owned(), text)
}

/// A value as one line.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => NOTHING.to_owned(),
        Value::String(text) if text.is_empty() => NOTHING.to_owned(),
        Value::String(text) => plain(text),
        Value::Object(map) if map.is_empty() => NOTHING.to_owned(),
        Value::Array(items) if items.is_empty() => NOTHING.to_owned(),
        other => plain(&other.to_string()),
    }
}

/// The fields of an object as `key=value key=value`, without those named.
pub(super) fn fields(value: &Value, without: &[&str]) -> String {
    let Value::Object(map) = value else { return text(value) };
    let kept = map.iter().filter(|(key, value)| !value.is_null() && !without.contains(&key.as_str()));
    kept.map(|(key, value)| format!("{}={}", plain(key), text(value))).collect::<Vec<_>>().join(" ")
}

/// At most `longest` characters; an ellipsis says that there is more.
pub(super) fn shortened(text: String, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text;
    }
    text.chars().take(longest - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cell_is_one_harmless_line() {
        let value = json!({"a": "x\u{1b}[2Jy\n", "b": null, "c": 5, "d": {"e": "z"}});
        assert_eq!(at(&value, "/a"), r"x\u{1b}[2Jy\n");
        assert_eq!(["/b", "/c", "/d/e", "/f"].map(|pointer| at(&value, pointer)), ["-", "5", "z", "-"]);
        assert_eq!(fields(&value, &["a"]), r#"c=5 d={"e":"z"}"#);
        assert_eq!(shortened("größer".into(), 4), "grö…");
    }
}
