//! The headers of a firing: what a receiver needs to do it once, in order, and to find it again.

use campanile_core::cron::instant_text;
use campanile_core::definition::Webhook;
use campanile_core::firing::FiringId;
use campanile_core::id::AttemptNumber;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

use super::super::sign::{self, SigningKey};
use super::{Order, cloud_events};

/// The user's headers and ours; ours win.
pub(super) fn of(
    order: Order<'_>,
    webhook: &Webhook,
    keys: &[SigningKey],
    unix_secs: i64,
    body: &str,
) -> Result<HeaderMap, String> {
    let firing = order.firing;
    let id = firing.id.to_string();
    let mut headers = HeaderMap::new();
    if !body.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    for (name, value) in &webhook.headers {
        let name =
            HeaderName::from_bytes(name.as_bytes()).map_err(|error| format!("header {name:?}: {error}"))?;
        headers.insert(name, value_of(value)?);
    }
    let ours = ours(order, &id, unix_secs);
    let signature = sign::signatures(keys, &id, unix_secs, body.as_bytes());
    let signature = (!signature.is_empty()).then_some(("webhook-signature", signature));
    let cause = firing.cause.as_ref().map(|cause| ("campanile-cause", cause.firing.to_string()));
    let nominal = instant_text(firing.id.nominal);
    let event = webhook.cloud_events.then(|| cloud_events::headers(&id, order.name.as_str(), &nominal));
    for (name, value) in ours.into_iter().chain(signature).chain(cause).chain(event.into_iter().flatten()) {
        headers.insert(HeaderName::from_static(name), value_of(&value)?);
    }
    Ok(headers)
}

fn ours(order: Order<'_>, id: &str, unix_secs: i64) -> [(&'static str, String); 12] {
    let firing = order.firing;
    [
        ("idempotency-key", id.to_owned()),
        ("campanile-firing", id.to_owned()),
        ("campanile-schedule", order.name.to_string()),
        ("campanile-nominal", instant_text(firing.id.nominal)),
        ("campanile-attempt", order.lease.attempt.to_string()),
        ("campanile-kind", firing.kind.as_str().to_owned()),
        ("campanile-run", firing.id.run.to_string()),
        ("campanile-fencing-token", order.lease.fencing_token.to_string()),
        ("campanile-node", order.node.to_string()),
        ("traceparent", traceparent(firing.id, order.lease.attempt)),
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", unix_secs.to_string()),
    ]
}

fn value_of(text: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_str(text).map_err(|error| format!("header value {text:?}: {error}"))
}

/// W3C trace context: one trace a firing, one span an attempt, both derived, so that every node and every retry names the
/// same trace. A hash is all zeros, which would be invalid, in one of 2^64 cases; the last bit is set against that.
pub(crate) fn traceparent(firing: FiringId, attempt: AttemptNumber) -> String {
    let trace = Sha256::digest(firing.to_string());
    let span = Sha256::digest(format!("{firing}/{attempt}"));
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("00-{}{:02x}-{}{:02x}-01", hex(&trace[..15]), trace[15] | 1, hex(&span[..7]), span[7] | 1)
}
