//! What is sent: the payload, or of a notice how the firing ended that it tells of.

use campanile_core::cron::instant_text;
use campanile_core::firing::{Cause, Firing};
use serde_json::json;

use crate::wire::schedule::end_word;

/// The body of a firing, JSON text; empty for none.
pub(crate) fn of(firing: &Firing) -> String {
    match &firing.cause {
        Some(cause) if firing.is_notice() => notice(firing, cause),
        _ => firing.payload().to_owned(),
    }
}

fn notice(firing: &Firing, cause: &Cause) -> String {
    json!({
        "firing": cause.firing.to_string(),
        "schedule": cause.schedule.to_string(),
        "uid": cause.firing.uid.to_string(),
        "nominal": instant_text(cause.firing.nominal),
        "run": cause.firing.run.0,
        "state": end_word(cause.state),
        "attempts": cause.attempts.0,
        "status": cause.status,
        "error": (!cause.error.is_empty()).then_some(&*cause.error),
        "decided_at": instant_text(firing.decided.at),
    })
    .to_string()
}
