//! iCalendar (RFC 5545) as people export it, read into a calendar of exclusions.
//!
//! ```text
//! text ── lines (unfolded) ── component ──▶ events ── expand (rrule, cron::zone) ──▶ Calendar, and a remark for the rest
//! ```
//!
//! - An all-day event excludes its local dates; a timed event that is neither cancelled nor marked as free (`TRANSPARENT`)
//!   excludes its span of time. All-day events are taken even when marked as free: holiday calendars mark them so.
//! - A rule is expanded from the year before `now` to the end of the tenth year after it, and remarks say so.
//! - What is not understood becomes a remark with its line. A text that is cut off or does not nest is refused as a whole:
//!   half a list of holidays is worse than none.
//!
//! The line reader is ours: what is needed is unfolding and `NAME;PARAM=x:value`. The crates that read iCalendar (ical,
//! icalendar, calcard) bring every property of the standard, drop the line numbers that a remark needs, or bring chrono-tz.
//!
//! Only the proposer calls it, since it asks the tz data. Bytes that are not UTF-8 are the caller's to refuse.

use std::fmt;

use crate::calendar::{BadCalendar, Calendar, MAX_DESCRIPTION};
use crate::time::Timestamp;

mod lines;

mod value;

mod zones;

mod component;

mod series;

mod expand;

use component::Components;
use expand::Expansion;

/// The longest text, in bytes.
pub const MAX_TEXT: usize = 1024 * 1024;
/// How many remarks are kept; one more says how many there were.
pub const MAX_REMARKS: usize = 200;
/// How far beyond `now` rules are expanded, in years.
pub const YEARS_AHEAD: i32 = 10;

/// Something in the text that was not taken as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The line of the text, from 1, at which it stands; 0 where it speaks of the whole.
    pub line: u32,
    /// What was left out or changed, lower case, without a full stop.
    pub message: String,
}

/// Why a text was refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadIcal {
    /// The line at fault, from 1, where there is one.
    pub line: Option<u32>,
    /// What is wrong, lower case, without a full stop.
    pub detail: String,
    /// What to do instead.
    pub hint: String,
}

impl fmt::Display for BadIcal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.detail)
    }
}

impl std::error::Error for BadIcal {}

/// Reads a text into a calendar and says what it could not take.
///
/// The calendar names no zone: its dates hold in the zone of each schedule that uses it.
///
/// # Errors
/// No iCalendar text, one that is cut off or does not nest, and one that makes more than a calendar may hold.
pub fn read(text: &str, now: Timestamp) -> Result<(Calendar, Vec<Remark>), BadIcal> {
    if text.len() > MAX_TEXT {
        return Err(bad(
            None,
            format!("the text is longer than {MAX_TEXT} bytes"),
            "split it into several calendars",
        ));
    }
    let mut remarks = Remarks::default();
    let components = Components::read(text, &mut remarks)?;
    let mut expansion = Expansion::new(&components, now);
    for event in &components.events {
        expansion.add(event, &mut remarks)?;
    }
    let (dates, spans) = expansion.finish(&mut remarks);
    let description = shortened(&components.name).into();
    let calendar = Calendar { description, time_zone: None, dates, spans }.normalised();
    if calendar.dates.is_empty() && calendar.spans.is_empty() {
        remarks.add(0, "nothing is excluded: no event was taken");
    }
    calendar.check().map_err(too_much)?;
    Ok((calendar, remarks.finish()))
}

fn too_much(wrong: BadCalendar) -> BadIcal {
    bad(None, format!("the calendar would have {wrong}"), "leave out events that are long past, or split it")
}

fn bad(line: Option<u32>, detail: impl Into<String>, hint: &str) -> BadIcal {
    BadIcal { line, detail: detail.into(), hint: hint.to_owned() }
}

/// As much of a name as a calendar may have.
fn shortened(name: &str) -> &str {
    let end = (0..=MAX_DESCRIPTION.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    &name[..end.unwrap_or(0)]
}

/// The remarks so far, of which the first are kept and all are counted.
#[derive(Debug, Default)]
struct Remarks {
    kept: Vec<Remark>,
    more: usize,
}

impl Remarks {
    fn add(&mut self, line: u32, message: impl Into<String>) {
        if self.kept.len() < MAX_REMARKS {
            self.kept.push(Remark { line, message: message.into() });
        } else {
            self.more += 1;
        }
    }

    fn finish(mut self) -> Vec<Remark> {
        self.kept.sort_by_key(|remark| remark.line);
        if self.more > 0 {
            self.kept.push(Remark { line: 0, message: format!("and {} more remarks", self.more) });
        }
        self.kept
    }
}
