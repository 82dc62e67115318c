//! Who asks: one admin token, compared in constant time, never logged. Scopes and several tokens come later.

use std::sync::Arc;

use subtle::ConstantTimeEq;

use crate::config::Secret;
use crate::http::{Gate, Principal};
use crate::problem::{Code, Problem};

/// The name of whoever holds the admin token.
pub const ADMIN: &str = "admin";
/// The name of everybody on this machine, when no token is configured.
pub const LOCAL: &str = "local";

/// No valid token came with the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// None came.
    #[error(
        "a bearer token is needed: send the header `Authorization: Bearer …` (on the command line: --token-file)"
    )]
    Missing,
    /// Another one came.
    #[error("the bearer token is not the one of this cluster")]
    Wrong,
}

/// The gate of the API: it asks for that token, or lets everybody in as [`LOCAL`] when there is none, which the
/// configuration allows on loopback only.
#[must_use]
pub fn gate(token: Option<Secret>) -> Gate {
    Arc::new(move |headers| {
        let given = headers.get("authorization").map(|value| value.as_bytes());
        match admit(token.as_ref(), given) {
            Ok(name) => Ok(Principal { name: name.to_owned() }),
            Err(denied) => Err(Problem::new(Code::Unauthenticated, denied.to_string())),
        }
    })
}

/// Who sends a request with that `Authorization` header.
///
/// # Errors
/// [`Denied`], when a token is asked for and this is not it.
pub fn admit(token: Option<&Secret>, authorization: Option<&[u8]>) -> Result<&'static str, Denied> {
    let Some(token) = token else { return Ok(LOCAL) };
    let given = authorization.and_then(bearer).ok_or(Denied::Missing)?;
    // How long the token is may show in the time this takes; what it holds may not.
    if bool::from(given.ct_eq(token.expose().as_bytes())) { Ok(ADMIN) } else { Err(Denied::Wrong) }
}

/// The token of a `Bearer` header; the word in any case (RFC 9110 §11.1).
fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = header.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_opens_the_gate_and_without_one_it_stands_open() {
        let token = Secret::new("0123456789abcdef").expect("long enough");
        for (header, answer) in [
            (None, Err(Denied::Missing)),
            (Some("Basic 0123456789abcdef"), Err(Denied::Missing)),
            (Some("Bearer"), Err(Denied::Missing)),
            (Some("Bearer "), Err(Denied::Wrong)),
            (Some("Bearer 0123456789abcdeg"), Err(Denied::Wrong)),
            (Some("Bearer 0123456789abcdef0"), Err(Denied::Wrong)),
            (Some("Bearer 0123456789abcdef"), Ok(ADMIN)),
            (Some("bearer 0123456789abcdef"), Ok(ADMIN)),
        ] {
            assert_eq!(admit(Some(&token), header.map(str::as_bytes)), answer, "{header:?}");
        }
        assert_eq!(admit(None, None), Ok(LOCAL));
    }
}
