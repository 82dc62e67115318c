//! The payload of a schedule: JSON of the user, carried as text, so that no number of it loses a digit and no key its place.
//!
//! Only blanks between its tokens are taken out, so that two ways of indenting are the same definition.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::openapi::schema::{ObjectBuilder, SchemaType};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::problem::Problem;

/// A body that was read: as a tree to look at, and the payload as it was written.
#[derive(Debug, Clone)]
pub struct Body {
    /// The whole of it.
    pub value: Value,
    /// The text of its field `payload`, compact; empty when it is left out or `null`.
    pub payload: Box<str>,
}

#[derive(Deserialize)]
struct PayloadOnly<'a> {
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
}

impl Body {
    /// Reads the JSON of a request. No body at all is an empty object, for orders that need none.
    ///
    /// # Errors
    /// `bad_request` with line and column when it is no JSON.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self { value: Value::Object(serde_json::Map::new()), payload: "".into() });
        }
        let text = std::str::from_utf8(bytes).map_err(|wrong| {
            Problem::bad_request(format!("the body is not UTF-8 at byte {}", wrong.valid_up_to()))
        })?;
        let value: Value = serde_json::from_str(text).map_err(|wrong| no_json(&wrong))?;
        let payload = match &value {
            Value::Object(map) if map.get("payload").is_some_and(|payload| !payload.is_null()) => {
                let only: PayloadOnly<'_> = serde_json::from_str(text).map_err(|wrong| no_json(&wrong))?;
                only.payload.map_or_else(|| "".into(), |raw| compact(raw.get()))
            }
            _ => "".into(),
        };
        Ok(Self { value, payload })
    }

    /// A body made of a tree, when there is no text of a user.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        let payload = value
            .get("payload")
            .filter(|payload| !payload.is_null())
            .map(Value::to_string)
            .unwrap_or_default();
        Self { value, payload: payload.into() }
    }
}

#[derive(Deserialize)]
struct SchedulesOnly<'a> {
    #[serde(borrow)]
    schedules: Vec<&'a RawValue>,
}

/// The items of the list `schedules` in a body, each with its payload as it was written; none when they cannot be read,
/// which whoever looks at the tree of the body finds out.
#[must_use]
pub fn each_schedule(bytes: &[u8]) -> Vec<Body> {
    let Ok(SchedulesOnly { schedules }) = serde_json::from_slice(bytes) else { return Vec::new() };
    let bodies: Result<Vec<Body>, Problem> =
        schedules.into_iter().map(|raw| Body::parse(raw.get().as_bytes())).collect();
    bodies.unwrap_or_default()
}

fn no_json(wrong: &serde_json::Error) -> Problem {
    let (line, column) = (wrong.line(), wrong.column());
    let text = wrong.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    Problem::bad_request(format!("the body is no JSON: {what}, at line {line}, column {column}"))
}

/// JSON text without the blanks between its tokens. `text` must be valid JSON.
#[must_use]
pub fn compact(text: &str) -> Box<str> {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for letter in text.chars() {
        if in_string {
            in_string = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
        } else {
            in_string = letter == '"';
            if letter.is_ascii_whitespace() {
                continue;
            }
        }
        out.push(letter);
    }
    out.into()
}

/// A payload as part of an answer: JSON text, written digit by digit as it came; empty is `null`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Payload(pub Box<str>);

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match RawValue::from_string(self.0.to_string()) {
            Ok(raw) => raw.serialize(serializer),
            Err(_) if self.0.is_empty() => serializer.serialize_unit(),
            // It was JSON when it came in; should it not be, it is shown as a text rather than not at all.
            Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Self(if value.is_null() { "".into() } else { value.to_string().into() }))
    }
}

impl PartialSchema for Payload {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::AnyValue)
            .description(Some("Any JSON, at most 64 KiB; sent with each firing as it is."))
            .build()
            .into()
    }
}

impl ToSchema for Payload {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_payload_keeps_its_digits_and_its_order() {
        let body =
            Body::parse(br#"{"payload": {"z": 12345678901234567890123, "a": 1.10, "t": "a \" b"}}"#).unwrap();
        assert_eq!(&*body.payload, r#"{"z":12345678901234567890123,"a":1.10,"t":"a \" b"}"#);
    }

    #[test]
    fn nothing_and_null_are_no_payload() {
        for text in ["", " \n", "{}", r#"{"payload": null}"#, "[]"] {
            assert_eq!(&*Body::parse(text.as_bytes()).unwrap().payload, "", "{text}");
        }
    }

    #[test]
    fn broken_json_is_told_with_line_and_column() {
        let problem = Body::parse(b"{\n  \"a\": ,\n}").unwrap_err();
        assert_eq!(problem.detail, "the body is no JSON: expected value, at line 2, column 8");
        assert!(Body::parse(&[0xff]).unwrap_err().detail.contains("UTF-8"));
        assert!(Body::parse("[".repeat(200).as_bytes()).unwrap_err().detail.contains("recursion"));
    }

    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn compacting_changes_blanks_only(value in tree()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(&*compact(&pretty), value.to_string());
        }
    }
}
