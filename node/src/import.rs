//! What another scheduler has, turned into drafts and remarks: every line becomes one or the other.
//!
//! Pure: text in, data out. Nothing here reads a file, a clock or a network; the command line does.

pub mod crontab;

use crate::client::draft::Draft;

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

impl Import {
    /// How many commands have no schedule.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.remarks.iter().filter(|remark| remark.weight == Weight::Lost).count()
    }
}
