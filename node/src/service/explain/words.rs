//! Small pieces of sentences.

use campanile_core::cron::instant_text;
use campanile_core::time::{Span, Timestamp};

/// Who acts for a rule.
const RULE: &str = "campanile";

/// An instant as it can be asked about again.
pub(super) fn when(at: Timestamp) -> String {
    instant_text(at)
}

/// A length, in words when it is nothing.
pub(super) fn long(span: Span) -> String {
    if span == Span::ZERO { "0ms".to_owned() } else { span.to_string() }
}

/// ` by ann`; nothing when nobody is known.
pub(super) fn by(who: Option<&str>) -> String {
    match who {
        Some(RULE) => " by a rule of its own".to_owned(),
        Some(who) if !who.is_empty() => format!(" by {who}"),
        _ => String::new(),
    }
}

/// ` at 2026-…`; nothing when it is not known.
pub(super) fn since(at: Option<Timestamp>) -> String {
    at.map_or_else(String::new, |at| format!(" at {}", when(at)))
}

/// `1 instant`, `2 instants`.
pub(super) fn many(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
