//! What a run of bytes is: the first byte of every frame.

use std::fmt;

use super::{BODY_LIMIT, IMAGE_LIMIT};

/// What a run of bytes is. The numbers are on disks and wires: never reuse one, add new ones at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// The vote of this node.
    Vote = 1,
    /// One entry of the log.
    LogEntry = 2,
    /// What the log stores about itself (format, purge mark).
    LogMeta = 3,
    /// A command inside a log entry.
    Command = 4,
    /// A fact of the ledger.
    Event = 5,
    /// The state of the machine at an index.
    Image = 6,
    /// A message between peers.
    Wire = 7,
    /// A place in the ledger, as the history index keeps it.
    History = 8,
    /// What the holders of leases say, on its way to the leader.
    Work = 9,
    /// The answer to that.
    Worked = 10,
}

impl Kind {
    /// Every kind, in the order of the numbers.
    pub const ALL: [Self; 10] = [
        Self::Vote,
        Self::LogEntry,
        Self::LogMeta,
        Self::Command,
        Self::Event,
        Self::Image,
        Self::Wire,
        Self::History,
        Self::Work,
        Self::Worked,
    ];

    /// The kind with this number, if there is one.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// The largest body of this kind, in bytes.
    #[must_use]
    pub const fn limit(self) -> usize {
        match self {
            Self::Image => IMAGE_LIMIT,
            _ => BODY_LIMIT,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vote => "vote",
            Self::LogEntry => "log entry",
            Self::LogMeta => "log meta",
            Self::Command => "command",
            Self::Event => "event",
            Self::Image => "image",
            Self::Wire => "wire message",
            Self::History => "history place",
            Self::Work => "work",
            Self::Worked => "answer to work",
        })
    }
}
