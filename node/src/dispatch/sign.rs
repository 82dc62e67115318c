//! The signature of a webhook, symmetric, as the specification of Standard Webhooks 1.0 has it: made here, and checked here
//! for receivers that are written in Rust.
//!
//! ```text
//!   webhook-signature: v1,BASE64(HMAC-SHA256(key, "{webhook-id}.{webhook-timestamp}.{body}"))  and one more for each key
//! ```
//! While a key is exchanged for another, both sign, and a receiver that knows either accepts.
//!
//! It reads no clock and no file, and never shows a key: not in `Debug`, not in an error.

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

/// What a key begins with, so that its kind can be told from its text.
const PREFIX: &str = "whsec_";
/// What the private and the public keys of the asymmetric scheme begin with.
const ASYMMETRIC: [&str; 2] = ["whsk_", "whpk_"];
/// 192 bits, which the specification asks for at the least.
const MIN_KEY: usize = 24;
/// 512 bits, which is all that SHA-256 takes in at once; the specification allows no more.
const MAX_KEY: usize = 64;
/// The scheme that these signatures are of.
const VERSION: &str = "v1";
/// How many signatures of one request are looked at. A sender has two keys for a while; a header of thousands is an attack.
const MAX_SIGNATURES: usize = 16;

/// How far the timestamp of a request may be from the receiver's clock, unless the receiver has a reason for another value:
/// what the libraries of Standard Webhooks take.
pub const TOLERANCE: Duration = Duration::from_secs(300);

/// A key that signs and checks. It cannot be cloned or printed; share it behind an `Arc`.
pub struct SigningKey(Hmac<Sha256>);

/// Why a text is no key. Says how to make one, and nothing of the text itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    /// It does not begin as keys do.
    #[error("does not begin with whsec_; {HOW}")]
    NoPrefix,
    /// It is a key of the other scheme.
    #[error("is a key of the asymmetric scheme, which is not spoken here; {HOW}")]
    Asymmetric,
    /// What follows the prefix cannot be decoded.
    #[error("is not whsec_ and base64 with the alphabet of + and / and with its padding; {HOW}")]
    NotBase64,
    /// Too short to be safe.
    #[error("holds {0} bytes, fewer than {MIN_KEY}; {HOW}")]
    TooShort(usize),
    /// Longer than the scheme allows.
    #[error("holds {0} bytes, more than {MAX_KEY}; {HOW}")]
    TooLong(usize),
}

/// The way to a good key, for every [`BadKey`].
const HOW: &str = "make one with: echo \"whsec_$(openssl rand -base64 32)\"";

impl fmt::Debug for SigningKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SigningKey(…)")
    }
}

impl SigningKey {
    /// Reads `whsec_` and the base64 of 24 to 64 random bytes; white space around it does not matter. The prefix is asked
    /// for, since without it any password would pass for a key.
    ///
    /// # Errors
    /// [`BadKey`].
    pub fn read(text: &str) -> Result<Self, BadKey> {
        let text = text.trim();
        if ASYMMETRIC.iter().any(|prefix| text.starts_with(prefix)) {
            return Err(BadKey::Asymmetric);
        }
        let digits = text.strip_prefix(PREFIX).ok_or(BadKey::NoPrefix)?;
        let bytes = STANDARD.decode(digits).map_err(|_| BadKey::NotBase64)?;
        match bytes.len() {
            length @ ..MIN_KEY => Err(BadKey::TooShort(length)),
            length if length > MAX_KEY => Err(BadKey::TooLong(length)),
            _ => Ok(Self(Hmac::new_from_slice(&bytes).expect("HMAC takes keys of every length"))),
        }
    }

    fn sign(&self, id: &str, unix_secs: i64, body: &[u8]) -> [u8; 32] {
        let mut mac = self.0.clone();
        mac.update(format!("{id}.{unix_secs}.").as_bytes());
        mac.update(body);
        mac.finalize().into_bytes().into()
    }
}

/// The value of `webhook-signature`: one signature a key, in the order of the keys. Empty without keys; then the header is
/// left out.
///
/// `id` must have no full stop in it, as ids of firings have none, see [`Unverified::BadId`]. `unix_secs` is the second at
/// which this attempt is sent, `body` exactly the bytes that are sent.
pub fn signatures<'a>(
    keys: impl IntoIterator<Item = &'a SigningKey>,
    id: &str,
    unix_secs: i64,
    body: &[u8],
) -> String {
    let one = |key: &SigningKey| format!("{VERSION},{}", STANDARD.encode(key.sign(id, unix_secs, body)));
    keys.into_iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The headers that a signature needs to be checked, as they were received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signed<'a> {
    /// `webhook-id`.
    pub id: &'a str,
    /// `webhook-timestamp`.
    pub timestamp: &'a str,
    /// `webhook-signature`.
    pub signature: &'a str,
}

/// Why a request is not to be believed. Answer 401, and do nothing of what it asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// With a full stop in the id one signed text could be cut in more than one way: the beginning of a body that is a
    /// number would pass for a timestamp.
    #[error("webhook-id is empty or has a full stop in it")]
    BadId,
    /// Not the plain number of a second.
    #[error("webhook-timestamp is not a number of seconds since 1970")]
    BadTimestamp,
    /// Signed too long ago, so it may be replayed; or this machine's clock is ahead.
    #[error("webhook-timestamp is too old: the request is replayed, or a clock is wrong")]
    TooOld,
    /// Signed in the future; or this machine's clock is behind.
    #[error("webhook-timestamp is in the future: a clock is wrong")]
    TooNew,
    /// Another key, or something was changed on the way.
    #[error("no signature in webhook-signature is of a known key over this id, timestamp and body")]
    NoMatch,
}

/// Checks that somebody who has one of the keys signed this body, and not long before or after `now`, in seconds since
/// 1970. The body is what was received, before any parsing. How long it takes
/// tells nothing of how much of a signature was right.
///
/// What was accepted once is accepted again within the tolerance: keep the ids, or compare fencing tokens.
///
/// # Errors
/// [`Unverified`].
pub fn verify<'a>(
    keys: impl IntoIterator<Item = &'a SigningKey>,
    signed: Signed<'_>,
    body: &[u8],
    now: i64,
    tolerance: Duration,
) -> Result<(), Unverified> {
    if signed.id.is_empty() || signed.id.contains('.') {
        return Err(Unverified::BadId);
    }
    let sent = second(signed.timestamp).ok_or(Unverified::BadTimestamp)?;
    if now.abs_diff(sent) > tolerance.as_secs() {
        return Err(if sent < now { Unverified::TooOld } else { Unverified::TooNew });
    }
    let given = candidates(signed.signature);
    let mut found = Choice::from(0);
    for key in keys {
        let expected = key.sign(signed.id, sent, body);
        for signature in &given {
            found |= expected[..].ct_eq(signature);
        }
    }
    if found.into() { Ok(()) } else { Err(Unverified::NoMatch) }
}

/// A number as it is written here: no sign before a positive one, no zeros in front. So what was signed is what was sent.
fn second(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number: &i64| number.to_string() == text)
}

/// The signatures of this scheme in a header. Those of others, and what cannot be read, are passed over.
fn candidates(header: &str) -> Vec<Vec<u8>> {
    header
        .split(' ')
        .filter_map(|entry| entry.split_once(','))
        .filter(|(version, _)| *version == VERSION)
        .take(MAX_SIGNATURES)
        .filter_map(|(_, digits)| STANDARD.decode(digits).ok())
        .collect()
}

#[cfg(test)]
mod tests;
