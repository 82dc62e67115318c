//! Where a node's API is reached, and with what right: addresses and the bearer token.
//!
//! A token is never shown: not by `Debug`, not in an error, not in an address.

use std::fmt;
use std::path::Path;

use reqwest::Url;
use reqwest::header::HeaderValue;

use super::Error;

/// The base address of one node's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(Url);

impl Endpoint {
    /// Reads `http://node1:7700`, or `node1:7700` for the same.
    ///
    /// # Errors
    /// What is wrong with the address, and what it should look like.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refuse =
            |why: &str| Error::Unusable(format!("endpoint {text:?} {why}; write it like http://node1:7700"));
        let text = text.trim();
        let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = Url::parse(&whole).map_err(|_| refuse("is not an address"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse("is neither http nor https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            // An address ends up in messages and logs; a password must not.
            return Err(Error::Unusable("an endpoint holds a user or password; use --token-file".into()));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("has more than host, port and path"));
        }
        Ok(Self(url))
    }

    /// Whether reaching it needs certificates.
    #[must_use]
    pub(super) fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The address of a resource on this node; `path` begins with a slash.
    pub(super) fn join(&self, path: &str, query: &[(String, String)]) -> Url {
        let mut url = self.0.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}{path}"));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

/// The right to ask: a bearer token.
#[derive(Clone)]
pub struct Token(HeaderValue);

impl Token {
    /// Takes a token as it is; space around it is dropped.
    ///
    /// # Errors
    /// When it is empty or holds characters that no header can carry.
    pub fn new(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let mut value =
            plain.then(|| HeaderValue::from_str(&format!("Bearer {text}")).ok()).flatten().ok_or_else(
                || Error::Unusable("the token is empty or holds spaces or control characters".into()),
            )?;
        value.set_sensitive(true);
        Ok(Self(value))
    }

    /// Reads a token from a file, so that it stands neither in the process list nor in a shell's history.
    ///
    /// # Errors
    /// When the file cannot be read or holds no token.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::Unusable(format!("cannot read the token file {}: {error}", path.display()))
        })?;
        Self::new(&text).map_err(|error| Error::Unusable(format!("{}: {error}", path.display())))
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_read_as_people_write_it() {
        for (text, shown) in [
            ("http://node1:7700", "http://node1:7700"),
            ("http://node1:7700/", "http://node1:7700"),
            ("node1:7700", "http://node1:7700"),
            (" https://cron.example/campanile/ ", "https://cron.example/campanile"),
        ] {
            let endpoint = Endpoint::parse(text).expect(text);
            assert_eq!(endpoint.to_string(), shown);
            assert_eq!(endpoint.join("/v1/cluster", &[]).as_str(), format!("{shown}/v1/cluster"));
        }
    }

    #[test]
    fn what_is_no_endpoint_is_refused_and_no_password_is_repeated() {
        for text in ["", "ftp://node1", "http://", "http://node1?x=1", "http://a:hunter2@node1"] {
            let error = Endpoint::parse(text).expect_err(text).to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_token_never_shows_itself() {
        let token = Token::new("  s3cret\n").expect("a token");
        assert!(!format!("{token:?} {:?}", token.header()).contains("s3cret"));
        assert_eq!(token.header().as_bytes(), b"Bearer s3cret");
        for text in ["", "  ", "two words", "new\nline", "käse"] {
            assert!(Token::new(text).is_err(), "{text:?}");
        }
    }
}
