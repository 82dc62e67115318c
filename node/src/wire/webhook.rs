//! A webhook as JSON: an HTTP request for each firing, judged by its text alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use campanile_core::definition::{Webhook as CoreWebhook, check_segment};
use campanile_core::time::Span;
use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::ToSchema;

use super::read::{Fields, Flaws};
use super::text;
use super::time::Length;

/// An HTTP request for each firing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// `http` or `https`, with a host.
    #[schema(format = "uri", examples("https://jobs.internal/invoice"))]
    pub url: String,
    /// The request's method.
    #[serde(default = "post")]
    #[schema(default = "POST", pattern = "^(POST|PUT|PATCH|GET|DELETE)$")]
    pub method: String,
    /// Headers beside those that Campanile sets. Names are kept in lower case.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// How long one attempt may take.
    #[serde(default = "thirty_seconds")]
    #[schema(required = false)]
    pub timeout: Length,
    /// The name of the secret that signs the requests; `null` leaves them unsigned.
    #[serde(default)]
    #[schema(examples("billing-hook"))]
    pub secret_ref: Option<String>,
    /// Whether the headers of CloudEvents (`ce-id`, `ce-source`, …) come with each request.
    #[serde(default)]
    pub cloud_events: bool,
}

fn post() -> String {
    "POST".into()
}
fn thirty_seconds() -> Length {
    Length(DEFAULT_TIMEOUT)
}

const DEFAULT_TIMEOUT: Span = Span::from_secs(30);
const METHODS: [(&str, &str); 5] =
    [("POST", "POST"), ("PUT", "PUT"), ("PATCH", "PATCH"), ("GET", "GET"), ("DELETE", "DELETE")];
/// The longest URL; what servers commonly take.
const MAX_URL: usize = 8 * 1024;
/// The longest value of a header.
const MAX_HEADER: usize = 8 * 1024;

/// Headers that the connection or the delivery owns: a user's value would break the framing, or forge what a receiver
/// trusts.
const RESERVED: [&str; 19] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "idempotency-key",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
];

impl From<&CoreWebhook> for Webhook {
    fn from(webhook: &CoreWebhook) -> Self {
        let CoreWebhook { url, method, headers, timeout, secret, cloud_events } = webhook;
        Self {
            url: url.to_string(),
            method: method.to_string(),
            headers: headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            timeout: Length(*timeout),
            secret_ref: secret.as_ref().map(|name| name.to_string()),
            cloud_events: *cloud_events,
        }
    }
}

/// Reads the object `webhook` of a target.
pub(super) fn read(mut fields: Fields<'_>, flaws: &mut Flaws) -> Option<CoreWebhook> {
    let url = read_url(&mut fields, flaws);
    let method = match fields.get("method") {
        None => Some("POST"),
        Some(_) => fields.word("method", &METHODS, flaws),
    };
    let headers = read_headers(&mut fields, flaws);
    let timeout = fields.span("timeout", flaws).unwrap_or(DEFAULT_TIMEOUT);
    let secret = read_secret(&mut fields, flaws);
    let cloud_events = fields.flag("cloud_events", flaws).unwrap_or(false);
    fields.close(flaws);
    Some(CoreWebhook { url: url?.into(), method: method?.into(), headers, timeout, secret, cloud_events })
}

/// A name that nothing can have is told here; whether there is such a secret is judged by whoever knows them.
fn read_secret(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<Arc<str>> {
    let name = fields.text("secret_ref", flaws)?;
    if let Err(why) = check_segment(name) {
        flaws.add(
            fields.at("secret_ref"),
            format!("the name of a secret {why}"),
            "such as \"billing-hook\", or null for requests without a signature",
        );
    }
    Some(name.into())
}

fn read_url<'a>(fields: &mut Fields<'a>, flaws: &mut Flaws) -> Option<&'a str> {
    const HINT: &str = "such as \"https://jobs.internal/invoice\"";
    let pointer = fields.at("url");
    if fields.get("url").is_none() {
        flaws.add(pointer, "a webhook needs a url", HINT);
        return None;
    }
    let given = fields.text("url", flaws)?;
    match check_url(given) {
        Ok(()) => Some(given),
        Err(why) => {
            flaws.add(pointer, why, HINT);
            None
        }
    }
}

fn check_url(given: &str) -> Result<(), String> {
    text::check_free(given, MAX_URL, false)?;
    // The parser would trim blanks; a text that is not the same after parsing is not what the user sees.
    if given.contains(char::is_whitespace) {
        return Err("a url has no blanks".into());
    }
    let url = Url::parse(given).map_err(|wrong| format!("{given:?} is no url: {wrong}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("the scheme {:?} is not http or https", url.scheme()));
    }
    // The parser takes `http:///a`, `http:a` and `http:\\a` for `http://a`; a reader does not.
    let rest = given[url.scheme().len()..].strip_prefix("://");
    if given.contains('\\') || rest.is_none_or(|rest| rest.starts_with('/')) {
        return Err("the scheme is not followed by // and a host".into());
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("the url has no host".into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "the url holds a user name or password, which every reader of the schedule would see".into()
        );
    }
    Ok(())
}

fn read_headers(fields: &mut Fields<'_>, flaws: &mut Flaws) -> BTreeMap<Box<str>, Box<str>> {
    let mut headers = BTreeMap::new();
    for (name, value) in fields.texts("headers", flaws) {
        let pointer = format!("{}/{}", fields.at("headers"), name.replace('~', "~0").replace('/', "~1"));
        let lower = name.to_ascii_lowercase();
        if let Err((detail, hint)) = check_header(&lower, value) {
            flaws.add(pointer, detail, hint);
        } else if headers.insert(lower.clone().into_boxed_str(), value.into()).is_some() {
            flaws.add(
                pointer,
                format!("the header {lower:?} stands here twice"),
                "names differ by more than their case",
            );
        }
    }
    headers
}

fn check_header(name: &str, value: &str) -> Result<(), (String, &'static str)> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || name.len() > 200 || !name.bytes().all(token) {
        return Err((format!("{name:?} is no header name"), "letters, digits and '-'"));
    }
    if RESERVED.contains(&name) || name.starts_with("campanile-") {
        return Err((format!("the header {name:?} is set by Campanile"), "leave it out"));
    }
    if value.len() > MAX_HEADER {
        return Err((format!("{} bytes; at most {MAX_HEADER}", value.len()), "send it in the payload"));
    }
    if !value.bytes().all(|byte| byte == b'\t' || (0x20..0x7f).contains(&byte)) || value.trim() != value {
        return Err((
            "a header value is printable ASCII without blanks at its ends".into(),
            "send it in the payload",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_http_with_a_host() {
        for good in ["http://a", "https://a.b/c?d=e#f", "http://127.0.0.1:80/x", "http://[::1]:9/"] {
            assert_eq!(check_url(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "a",
            "ftp://a",
            "http://",
            "http:///x",
            "http:a",
            "http:\\\\a",
            "https://u:p@h/",
            " http://a",
            "http://a\n",
            "file:///etc",
            "http://a b",
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn headers_that_the_delivery_owns_are_refused() {
        for (name, value) in [
            ("host", "a"),
            ("webhook-signature", "v1,x"),
            ("campanile-attempt", "1"),
            ("a b", "1"),
            ("x", "a\r\nb: c"),
            ("x", " a"),
        ] {
            assert!(check_header(name, value).is_err(), "{name}");
        }
        for (name, value) in [("authorization", "Bearer x"), ("content-type", "text/plain"), ("x-env", "")] {
            assert_eq!(check_header(name, value), Ok(()), "{name}");
        }
    }
}
