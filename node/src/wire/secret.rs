//! Secrets as JSON: a text goes in, and never comes out again.

use campanile_core::secret::{MAX_KEEP_PREVIOUS, MAX_SECRET, Secret as CoreSecret, SecretText};
use campanile_core::time::{Span, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::orders::read;
use super::payload::Body;
use super::queue::check_name;
use super::read::{Fields, Flaws};
use super::time::{Instant, Length};
use crate::dispatch::sign::SigningKey;
use crate::problem::Problem;

/// How long a replaced text goes on to sign when nothing is said: receivers have a day to learn the new one.
const DEFAULT_KEEP: Span = Span::from_secs(86_400);

/// A text to sign requests with.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct SecretRequest {
    /// `whsec_` and the base64 of 24 to 64 random bytes. No answer holds it.
    #[schema(write_only)]
    pub secret: String,
    /// How long the text before goes on to sign beside it, at most `30d`; `0s` for not at all.
    #[serde(default = "default_keep")]
    #[schema(required = false)]
    pub keep_previous: Length,
}

/// A secret, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Secret {
    /// Its name.
    pub name: String,
    /// When it was created.
    pub created_at: Instant,
    /// When its text was last changed.
    pub rotated_at: Instant,
    /// The text before signs beside it until this; `null` when none does.
    pub previous_until: Option<Instant>,
    /// How many schedules name it.
    pub users: u32,
    /// Who changed it last.
    pub updated_by: String,
}

impl Secret {
    /// A secret as an answer.
    #[must_use]
    pub fn of(name: &str, secret: &CoreSecret, users: u32, now: Timestamp) -> Self {
        let until = secret.previous.as_ref().map(|(_, until)| *until).filter(|until| now < *until);
        Self {
            name: name.to_owned(),
            created_at: Instant(secret.created_at),
            rotated_at: Instant(secret.rotated_at),
            previous_until: until.map(Instant),
            users,
            updated_by: secret.updated_by.to_string(),
        }
    }
}

/// Why a text is no name of a secret.
///
/// # Errors
/// `invalid_schedule` with what a name has.
pub fn check_secret_name(name: &str) -> Result<(), Problem> {
    check_name("secret", name)
}

/// Reads a secret, and how long the one before is kept. No flaw that is told holds a part of the text.
///
/// # Errors
/// `unknown_field` or `invalid_schedule`, with every flaw.
pub fn read_secret(body: &Body) -> Result<(SecretText, Span), Problem> {
    read(body, |fields, flaws| (read_text(fields, flaws), read_keep(fields, flaws)))
}

fn read_text(fields: &mut Fields<'_>, flaws: &mut Flaws) -> SecretText {
    let pointer = fields.at("secret");
    if fields.get("secret").is_none() {
        flaws.add(
            pointer,
            "a secret needs its text",
            "make one with: echo \"whsec_$(openssl rand -base64 32)\"",
        );
        return SecretText::new("");
    }
    let text = fields.text("secret", flaws).unwrap_or_default().trim();
    if !flaws.is_empty() {
        return SecretText::new("");
    }
    if text.len() > MAX_SECRET {
        flaws.add(pointer, "is too long", format!("at most {MAX_SECRET} bytes"));
    } else if let Err(bad) = SigningKey::read(text) {
        // What is wrong, and behind it how to make a good one.
        let told = bad.to_string();
        let (detail, hint) = told.split_once("; ").unwrap_or((&told, ""));
        flaws.add(pointer, detail, hint);
    }
    SecretText::new(text)
}

fn read_keep(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Span {
    let keep = fields.span("keep_previous", flaws).unwrap_or(DEFAULT_KEEP);
    if keep > MAX_KEEP_PREVIOUS {
        flaws.add(
            fields.at("keep_previous"),
            format!("{keep} is too long"),
            format!("at most {MAX_KEEP_PREVIOUS}"),
        );
    }
    keep
}

fn default_keep() -> Length {
    Length(DEFAULT_KEEP)
}
