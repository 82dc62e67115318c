//! Instants and durations as texts: RFC 3339 with `Z`, and `"1h30m"`.
//!
//! The parsing itself is core's; here it becomes serde and a schema.

use campanile_core::cron;
use campanile_core::time::{Span, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Reads an instant in RFC 3339, with any offset.
#[must_use]
pub fn parse(text: &str) -> Option<Timestamp> {
    cron::parse_instant(text)
}

/// An instant, written in RFC 3339 with `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub Timestamp);

impl Instant {
    /// `None` for "never" as well as for nothing: a reader of JSON knows one word for both.
    #[must_use]
    pub fn known(instant: Option<Timestamp>) -> Option<Self> {
        instant.filter(|at| *at != Timestamp::NEVER).map(Self)
    }
}

impl std::fmt::Display for Instant {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&cron::instant_text(self.0))
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text)
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no RFC 3339 instant")))
    }
}

impl PartialSchema for Instant {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::new(Type::String))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some("An instant in RFC 3339; answers use `Z`."))
            .examples([serde_json::json!("2026-12-01T01:30:00Z")])
            .build()
            .into()
    }
}

impl ToSchema for Instant {}

/// A length of time, written as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Length(pub Span);

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| serde::de::Error::custom(format!("{text:?} is no duration")))
    }
}

impl PartialSchema for Length {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::new(Type::String))
            .description(Some(
                "A duration: whole numbers with `d`, `h`, `m`, `s`, `ms`, largest first, each once.",
            ))
            .examples([serde_json::json!("1h30m")])
            .build()
            .into()
    }
}

impl ToSchema for Length {}
