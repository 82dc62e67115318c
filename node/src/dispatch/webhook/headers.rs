//! The headers of a firing: what a receiver needs to do it once, in order, and to find it again.

use campanile_core::cron::instant_text;
use campanile_core::firing::FiringId;
use campanile_core::id::AttemptNumber;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

use super::super::webhook_of;
use super::Order;

/// The user's headers and ours; ours win.
pub(super) fn of(order: Order<'_>, unix_secs: i64) -> Result<HeaderMap, String> {
    let firing = order.firing;
    let id = firing.id.to_string();
    let mut headers = HeaderMap::new();
    if !firing.payload().is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    for (name, value) in &webhook_of(firing).headers {
        let name =
            HeaderName::from_bytes(name.as_bytes()).map_err(|error| format!("header {name:?}: {error}"))?;
        headers.insert(name, value_of(value)?);
    }
    let ours: [(&'static str, String); 12] = [
        ("idempotency-key", id.clone()),
        ("campanile-firing", id.clone()),
        ("campanile-schedule", order.name.to_string()),
        ("campanile-nominal", instant_text(firing.id.nominal)),
        ("campanile-attempt", order.lease.attempt.to_string()),
        ("campanile-kind", firing.kind.as_str().to_owned()),
        ("campanile-run", firing.id.run.to_string()),
        ("campanile-fencing-token", order.lease.fencing_token.to_string()),
        ("campanile-node", order.node.to_string()),
        ("traceparent", traceparent(firing.id, order.lease.attempt)),
        ("webhook-id", id),
        ("webhook-timestamp", unix_secs.to_string()),
    ];
    for (name, value) in ours {
        headers.insert(HeaderName::from_static(name), value_of(&value)?);
    }
    Ok(headers)
}

fn value_of(text: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_str(text).map_err(|error| format!("header value {text:?}: {error}"))
}

/// W3C trace context: one trace a firing, one span an attempt, both derived, so that every node and every retry names the
/// same trace. A hash is all zeros, which would be invalid, in one of 2^64 cases; the last bit is set against that.
fn traceparent(firing: FiringId, attempt: AttemptNumber) -> String {
    let trace = Sha256::digest(firing.to_string());
    let span = Sha256::digest(format!("{firing}/{attempt}"));
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("00-{}{:02x}-{}{:02x}-01", hex(&trace[..15]), trace[15] | 1, hex(&span[..7]), span[7] | 1)
}
