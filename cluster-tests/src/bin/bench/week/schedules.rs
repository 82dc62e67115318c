//! The schedules of the week: mixed specs in zones whose clocks change in it, about a thousand firings each.

use std::sync::Arc;

use campanile_core::definition::{Definition, Overlap, Policy, Target, Webhook};
use campanile_core::spec::{Exclusion, Spec};
use campanile_core::time::{Span, Timestamp};

use crate::office::{cron, pattern};

const ZONES: [&str; 6] =
    ["Europe/Berlin", "UTC", "America/New_York", "Asia/Kolkata", "Australia/Sydney", "Europe/London"];

/// Its name.
pub(super) fn name(n: usize) -> String {
    format!("week/n{n}")
}

/// Its definition; each edit `by` another number of minutes.
pub(super) fn definition(n: usize, by: u64) -> Arc<Definition> {
    let minute = (n as u64 + by) % 60;
    let zone = ZONES[n % ZONES.len()];
    let specs = match n % 100 {
        0..60 => vec![cron(&format!("{}-59/10 * * * *", minute % 10), zone)],
        60..80 => vec![every(600, n as u64 + by)],
        80..88 => vec![cron(&format!("{}-59/5 * * * *", minute % 5), zone)],
        88 => vec![cron("* * * * *", zone)],
        89..96 => vec![cron(&format!("{minute} * * * *"), zone)],
        96..98 => vec![cron("0 9 * * 1-5", zone), cron("30 17 * * 1-5", zone)],
        _ => vec![cron("30 2 * * *", "Europe/Berlin"), every(1_800, by)],
    };
    let noon = Exclusion::Cron(Box::new(pattern("* 12 * * *", zone)));
    let exclude = if n % 10 == 7 { vec![noon] } else { vec![] };
    let overlap = if n % 10 == 3 { Overlap::Skip } else { Overlap::Allow };
    let target = Target::Webhook(Box::new(Webhook::new("http://127.0.0.1:9/")));
    let policy = Policy { overlap, ..Policy::default() };
    Arc::new(Definition {
        exclude: exclude.into(),
        policy: Arc::new(policy),
        ..Definition::new(specs, target)
    })
}

/// The schedule near `n` that leaves noon out, in UTC, and would fire seven minutes past it.
pub(super) fn without_noon(n: usize, schedules: usize) -> usize {
    // Of every 300 (tens, zones and hundreds begin again there) the seventh.
    (n - n % 300 + 7).min(schedules - 1)
}

fn every(secs: u64, after: u64) -> Spec {
    Spec::Every { every: Span::from_secs(secs), anchor: Timestamp::EPOCH + Span::from_secs(after) }
}
