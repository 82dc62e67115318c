//! What another scheduler has, turned into drafts and remarks: every line or field becomes one or the other.
//!
//! ```text
//! crontab ── crontab ─────────────────────────────┐
//! YAML ── tree ── k8s ────┬── robfig: when ───────┼──▶ drafts and remarks
//! JSON ── tree ── dkron ──┘                       ┘
//! ```
//!
//! Pure: text in, data out. Nothing here reads a file, a clock or a network; the command line does.

pub mod crontab;

pub mod k8s;

pub mod dkron;

mod robfig;

mod hash;

mod labels;

mod names;

mod tree;

use std::collections::BTreeMap;

use campanile_core::definition::{MAX_PAYLOAD, ScheduleName};
use campanile_core::time::{Span, Timestamp};

use crate::client::draft::Draft;

pub use tree::Unreadable;

/// What the schedules of one import have in common.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The namespace of the schedules, a checked segment; when left out, the one that the file names, or `default`.
    pub namespace: Option<String>,
    /// The webhook that runs what is no webhook itself.
    pub url: Option<String>,
    /// The zone of what names none: a known one. UTC with advice when left out.
    pub time_zone: Option<String>,
    /// Labels for each schedule; they win over those of the file.
    pub labels: BTreeMap<String, String>,
    /// For the warnings about the year ahead.
    pub now: Timestamp,
}

/// The longest that an attempt may take; core refuses more.
const LONGEST_ATTEMPT: Span = Span::from_secs(3600);

/// What to do about a schedule that did not run where it comes from.
fn pause_hint(name: &ScheduleName) -> String {
    format!("--apply pauses it as soon as it is put; else do that: campanile schedule pause {name}")
}

/// What came of reading a file of another scheduler.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Import {
    /// What was understood, in the order of the file.
    pub schedules: Vec<Found>,
    /// What could not be carried over, and what to know of the rest; in the order of the file.
    pub remarks: Vec<Remark>,
}

/// A schedule, and where it stood.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The line, counted from 1.
    pub line: usize,
    /// The line as it stood.
    pub source: String,
    /// What it became.
    pub draft: Draft,
    /// Whether it did not run where it comes from: a definition cannot say so, `schedule pause` does.
    pub paused: bool,
}

/// Where something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line, counted from 1.
    pub line: usize,
    /// Where in it, in characters counted from 1.
    pub column: Option<usize>,
}

/// Something to tell the user about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The line, counted from 1.
    pub line: usize,
    /// Where in it, in characters counted from 1.
    pub column: Option<usize>,
    /// How much it matters.
    pub weight: Weight,
    /// What happened, lower case, without a full stop.
    pub detail: String,
    /// What to do about it; empty for nothing.
    pub hint: String,
}

/// How much a remark matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Something to check; nothing is missing.
    Advice,
    /// A setting beside the commands is not carried over.
    Dropped,
    /// A command has no schedule.
    Lost,
}

impl Settings {
    /// The webhook that runs something; without one that thing is lost, and `why` says that it needs one.
    fn url_for(&self, place: Place, why: &str, import: &mut Import) -> Option<&str> {
        if self.url.is_none() {
            let hint = "name the webhook that runs it with --url";
            import.remark(place, Weight::Lost, format!("{why}, and there is nothing that runs it"), hint);
        }
        self.url.as_deref()
    }
}

impl Import {
    /// How many commands have no schedule.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.remarks.iter().filter(|remark| remark.weight == Weight::Lost).count()
    }

    /// The remarks in the order of the file; those of one line stay as they were found.
    fn in_order(mut self) -> Self {
        self.remarks.sort_by_key(|remark| remark.line);
        self
    }

    fn remark(&mut self, place: Place, weight: Weight, detail: impl Into<String>, hint: impl Into<String>) {
        let Place { line, column } = place;
        self.remarks.push(Remark { line, column, weight, detail: detail.into(), hint: hint.into() });
    }

    /// Adds a schedule, unless no node would take what it carries.
    fn found(&mut self, found: Found) {
        let size = found.draft.payload.as_ref().map_or(0, |payload| payload.to_string().len());
        if size > MAX_PAYLOAD {
            let place = Place { line: found.line, column: None };
            let detail = format!("its payload would have {size} bytes; at most {MAX_PAYLOAD}");
            self.remark(place, Weight::Lost, detail, "keep what it runs in a file, and run that");
            return;
        }
        self.schedules.push(found);
    }
}
