//! What an answer, or the lack of one, means for a firing (`SEMANTICS` §6). Pure, so that the table below is the whole rule.

use std::time::UNIX_EPOCH;

use campanile_core::attempt::Verdict;
use campanile_core::time::{Span, Timestamp};

/// How a request failed to get an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// No connection: the request certainly did not leave.
    NotConnected,
    /// It could not even be built: a target that no retry will mend.
    Impossible,
    /// No answer in time; it may have had its effect.
    TimedOut,
    /// The connection broke; it may have had its effect.
    Broken,
}

/// What a status means. Only 429 and 503 may say when to come again (RFC 9110 §10.2.3, RFC 6585 §4).
#[must_use]
pub fn answered(status: u16, retry_after: Option<&str>, now: Timestamp) -> Verdict {
    match status {
        200..=299 => Verdict::Succeeded,
        429 | 503 => Verdict::Retry { not_before: retry_after.and_then(|text| not_before(text, now)) },
        408 | 425 | 500..=599 => Verdict::Retry { not_before: None },
        410 => Verdict::Gone,
        // A redirect is never followed: it would take the payload to an address that nobody configured.
        _ => Verdict::Refused,
    }
}

/// What a failure means.
#[must_use]
pub fn failed(failure: Failure) -> Verdict {
    match failure {
        Failure::NotConnected => Verdict::NotSent,
        Failure::Impossible => Verdict::Refused,
        Failure::TimedOut => Verdict::TimedOut,
        Failure::Broken => Verdict::Broken,
    }
}

/// `Retry-After`: seconds, or a date of HTTP. What cannot be read counts as not said.
fn not_before(text: &str, now: Timestamp) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(secs) = text.parse::<u64>() {
        return Some(now + Span::from_secs(secs));
    }
    let date = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(date.as_millis()).ok().map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-12-01T00:00:00Z.
    const NOW: Timestamp = Timestamp::from_millis(1_796_083_200_000);
    const AGAIN: Verdict = Verdict::Retry { not_before: None };

    fn after(secs: u64) -> Verdict {
        Verdict::Retry { not_before: Some(NOW + Span::from_secs(secs)) }
    }

    #[test]
    fn every_answer_has_one_meaning() {
        for (status, retry_after, verdict) in [
            (200, None, Verdict::Succeeded),
            (202, Some("5"), Verdict::Succeeded),
            (204, None, Verdict::Succeeded),
            (299, None, Verdict::Succeeded),
            (101, None, Verdict::Refused),
            (301, None, Verdict::Refused),
            (302, None, Verdict::Refused),
            (307, None, Verdict::Refused),
            (308, None, Verdict::Refused),
            (400, None, Verdict::Refused),
            (401, None, Verdict::Refused),
            (403, None, Verdict::Refused),
            (404, None, Verdict::Refused),
            (408, None, AGAIN),
            (408, Some("5"), AGAIN),
            (409, None, Verdict::Refused),
            (410, None, Verdict::Gone),
            (422, None, Verdict::Refused),
            (425, None, AGAIN),
            (429, None, AGAIN),
            (429, Some("7"), after(7)),
            (429, Some(" 7 "), after(7)),
            (429, Some("soon"), AGAIN),
            (429, Some("-1"), AGAIN),
            (500, None, AGAIN),
            (500, Some("7"), AGAIN),
            (502, None, AGAIN),
            (503, None, AGAIN),
            (503, Some("0"), after(0)),
            (503, Some("Tue, 01 Dec 2026 00:02:00 GMT"), after(120)),
            (503, Some("Tue, 31 Feb 2026 00:02:00 GMT"), AGAIN),
            (504, None, AGAIN),
            (599, None, AGAIN),
        ] {
            assert_eq!(answered(status, retry_after, NOW), verdict, "{status} {retry_after:?}");
        }
    }

    #[test]
    fn a_failure_says_whether_the_request_may_have_had_its_effect() {
        for (failure, verdict) in [
            (Failure::NotConnected, Verdict::NotSent),
            (Failure::Impossible, Verdict::Refused),
            (Failure::TimedOut, Verdict::TimedOut),
            (Failure::Broken, Verdict::Broken),
        ] {
            assert_eq!(failed(failure), verdict, "{failure:?}");
        }
    }
}
