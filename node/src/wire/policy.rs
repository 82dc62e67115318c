//! How instants are decided and firings delivered, as JSON.
//!
//! Each default is core's; nothing here has a default of its own.

use campanile_core::definition::{
    AfterCompletion, CatchUp, CatchUpMode, Delivery, Jitter, Overlap, Policy, RetryPolicy,
};
use campanile_core::time::Span;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::read::{Fields, Flaws};
use super::spec::word_of;
use super::text;
use super::time::Length;

/// What becomes of instants that were missed for longer than the failover grace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CatchUpFields {
    /// `all` fires each in order, `latest` the newest, `none` skips them.
    #[schema(default = "all", pattern = "^(all|latest|none)$")]
    pub mode: String,
    /// A duration, or `unlimited`; older instants are skipped as `too_late`.
    #[schema(default = "1m")]
    pub window: String,
}

/// When a failed attempt is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RetryFields {
    /// Attempts in all, the first included.
    #[schema(default = 5, minimum = 1, maximum = 1000)]
    pub max_attempts: u32,
    /// The wait after the first failure; each is drawn between nothing and this.
    #[schema(required = false)]
    pub initial: Length,
    /// The longest wait.
    #[schema(required = false)]
    pub max: Length,
    /// Each wait may be this many times the one before.
    #[schema(default = 2, minimum = 1, maximum = 100)]
    pub factor: u32,
    /// Give a live tick up once the next would overtake it.
    #[schema(default = false)]
    pub until_next: bool,
}

const OVERLAPS: [(&str, Overlap); 6] = [
    ("allow", Overlap::Allow),
    ("skip", Overlap::Skip),
    ("queue_one", Overlap::QueueOne),
    ("queue_all", Overlap::QueueAll),
    ("replace", Overlap::Replace),
    ("terminate", Overlap::Terminate),
];
const COMPLETIONS: [(&str, AfterCompletion); 2] =
    [("keep", AfterCompletion::Keep), ("delete", AfterCompletion::Delete)];
const AUTO: &str = "auto";
const MODES: [(&str, CatchUpMode); 3] =
    [("all", CatchUpMode::All), ("latest", CatchUpMode::Latest), ("none", CatchUpMode::None)];
const DELIVERIES: [(&str, Delivery); 2] =
    [("at_least_once", Delivery::AtLeastOnce), ("at_most_once", Delivery::AtMostOnce)];
const UNLIMITED: &str = "unlimited";

/// The word for what becomes of a finished schedule.
#[must_use]
pub fn completion_word(after: AfterCompletion) -> &'static str {
    word_of(&COMPLETIONS, &after)
}

/// A spread as a text: a duration, or `auto`.
#[must_use]
pub fn jitter_text(jitter: Jitter) -> String {
    match jitter {
        Jitter::Fixed(most) => most.to_string(),
        Jitter::Auto => AUTO.to_owned(),
    }
}

/// The word for a delivery promise.
#[must_use]
pub fn delivery_word(delivery: Delivery) -> &'static str {
    word_of(&DELIVERIES, &delivery)
}

impl From<&CatchUp> for CatchUpFields {
    fn from(catch_up: &CatchUp) -> Self {
        Self {
            mode: word_of(&MODES, &catch_up.mode).into(),
            window: catch_up.window.map_or_else(|| UNLIMITED.into(), |window| window.to_string()),
        }
    }
}

impl From<&RetryPolicy> for RetryFields {
    fn from(retry: &RetryPolicy) -> Self {
        Self {
            max_attempts: retry.max_attempts,
            initial: Length(retry.initial),
            max: Length(retry.max),
            factor: retry.factor,
            until_next: retry.until_next,
        }
    }
}

/// Reads the fields of a policy, which stand beside the others of a schedule.
pub fn read_policy(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Policy {
    let defaults = Policy::default();
    Policy {
        overlap: read_overlap(fields, flaws).unwrap_or(defaults.overlap),
        queue_limit: small(fields, "queue_limit", flaws).unwrap_or(defaults.queue_limit),
        jitter: read_jitter(fields, flaws).unwrap_or(defaults.jitter),
        after_completion: fields
            .word("after_completion", &COMPLETIONS, flaws)
            .unwrap_or(defaults.after_completion),
        catch_up: read_catch_up(fields, flaws),
        delivery: fields.word("delivery", &DELIVERIES, flaws).unwrap_or(defaults.delivery),
        retry: read_retry(fields, flaws),
        pause_after_failures: small(fields, "pause_after_failures", flaws),
        deadline: fields.span("deadline", flaws),
    }
}

/// Reads the field `overlap`, of a schedule or of a trigger.
pub fn read_overlap(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<Overlap> {
    fields.word("overlap", &OVERLAPS, flaws)
}

fn read_jitter(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<Jitter> {
    if fields.get("jitter").and_then(serde_json::Value::as_str) == Some(AUTO) {
        return Some(Jitter::Auto);
    }
    let most = fields.text("jitter", flaws)?.parse().ok();
    if most.is_none() {
        flaws.add(fields.at("jitter"), "is no duration", "a text such as \"30s\", or \"auto\"");
    }
    most.map(Jitter::Fixed)
}

fn read_catch_up(fields: &mut Fields<'_>, flaws: &mut Flaws) -> CatchUp {
    let backfill = fields.flag("automatic_backfill", flaws).unwrap_or(false);
    let given = fields.get("catch_up").is_some();
    let mut catch_up = CatchUp::default();
    if let Some(mut inner) = fields.inner("catch_up", flaws) {
        catch_up.mode = inner.word("mode", &MODES, flaws).unwrap_or(catch_up.mode);
        catch_up.window = read_window(&mut inner, flaws).unwrap_or(catch_up.window);
        inner.close(flaws);
    }
    if !backfill {
        return catch_up;
    }
    // The spelling of the scheduler that this one descends from.
    let all = CatchUp { mode: CatchUpMode::All, window: None };
    if given && catch_up != all {
        flaws.add(
            fields.at("automatic_backfill"),
            "says {\"mode\": \"all\", \"window\": \"unlimited\"}, and catch_up says something else",
            "keep one of the two",
        );
    }
    all
}

/// `Some(None)` is "unlimited".
fn read_window(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<Option<Span>> {
    let given = fields.text("window", flaws)?;
    if given == UNLIMITED {
        return Some(None);
    }
    match given.parse() {
        Ok(window) => Some(Some(window)),
        Err(_) => {
            let hint = match text::nearest(given, [UNLIMITED]) {
                Some(word) => format!("did you mean \"{word}\"?"),
                None => "a duration such as \"1h30m\", or \"unlimited\"".into(),
            };
            flaws.add(fields.at("window"), format!("{given:?} is no duration"), hint);
            None
        }
    }
}

fn read_retry(fields: &mut Fields<'_>, flaws: &mut Flaws) -> RetryPolicy {
    let defaults = RetryPolicy::default();
    let Some(mut inner) = fields.inner("retry", flaws) else { return defaults };
    let initial = inner.span("initial", flaws).unwrap_or(defaults.initial);
    let retry = RetryPolicy {
        max_attempts: small(&mut inner, "max_attempts", flaws).unwrap_or(defaults.max_attempts),
        initial,
        // A first wait above the default ceiling, and no ceiling of its own, asks for waits that do not grow.
        max: inner.span("max", flaws).unwrap_or(defaults.max.max(initial)),
        factor: small(&mut inner, "factor", flaws).unwrap_or(defaults.factor),
        until_next: inner.flag("until_next", flaws).unwrap_or(defaults.until_next),
    };
    inner.close(flaws);
    retry
}

fn small(fields: &mut Fields<'_>, name: &'static str, flaws: &mut Flaws) -> Option<u32> {
    fields.number(name, u64::from(u32::MAX), flaws).and_then(|number| u32::try_from(number).ok())
}
