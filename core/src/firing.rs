//! One decided nominal instant that runs, and its identity.
//!
//! Two leaders can propose the same firing; since the identity is made from what it means, it exists once.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptEnd, Lease};
use crate::definition::{Definition, ScheduleName};
use crate::id::{AttemptNumber, BackfillId, Epoch, LogIndex, Revision, Run, Uid};
use crate::time::{Span, Timestamp};

/// Which firing: the same in every retry and on every node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FiringId {
    /// The incarnation of the schedule.
    pub uid: Uid,
    /// When it should have happened.
    pub nominal: Timestamp,
    /// Zero, or the number of the re-run.
    pub run: Run,
}

/// Crockford's alphabet in lower case: no letter that reads like a digit.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 20 bytes in groups of five bits.
const DIGITS: usize = 32;

impl fmt::Display for FiringId {
    /// `frg_` and 32 characters: uid, nominal and run in base 32, so that texts sort as firings do.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Flipping the sign bit makes the order of the text the order of the instants.
        let nominal = (self.nominal.as_millis() as u64) ^ (1 << 63);
        let high = (u128::from(self.uid.0) << 64) | u128::from(nominal);
        out.write_str("frg_")?;
        for place in 0..DIGITS {
            // 160 bits: 128 of `high`, then 32 of the run.
            let bit = |n: usize| {
                if n < 128 { (high >> (127 - n)) & 1 } else { u128::from(self.run.0 >> (159 - n)) & 1 }
            };
            let digit = (0..5).fold(0, |digit, n| digit << 1 | bit(place * 5 + n) as usize);
            fmt::Write::write_char(out, ALPHABET[digit] as char)?;
        }
        Ok(())
    }
}

impl fmt::Debug for FiringId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{:?}", self.uid, self.nominal)?;
        if self.run.0 > 0 { write!(out, "#{}", self.run) } else { Ok(()) }
    }
}

/// A text that is no firing id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadFiringId;

impl FromStr for FiringId {
    type Err = BadFiringId;

    fn from_str(text: &str) -> Result<Self, BadFiringId> {
        let digits = text.strip_prefix("frg_").filter(|digits| digits.len() == DIGITS).ok_or(BadFiringId)?;
        let (mut high, mut run) = (0u128, 0u32);
        for (place, letter) in digits.bytes().enumerate() {
            let digit = ALPHABET.iter().position(|known| *known == letter).ok_or(BadFiringId)?;
            for n in 0..5 {
                let bit = (digit >> (4 - n)) & 1;
                if place * 5 + n < 128 {
                    high = high << 1 | bit as u128;
                } else {
                    run = run << 1 | bit as u32;
                }
            }
        }
        let nominal = Timestamp::from_millis((high as u64 ^ (1 << 63)) as i64);
        Ok(Self { uid: Uid((high >> 64) as u64), nominal, run: Run(run) })
    }
}

/// Why a firing exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// Its instant came.
    Scheduled,
    /// Its instant was missed and the catch-up rule fired it.
    CatchUp,
    /// A user triggered it.
    Manual,
    /// A backfill fired it.
    Backfill(BackfillId),
    /// A user asked for it again.
    Rerun,
    /// Another schedule's firing ended, and its definition asks for this one (`on_failure`, `on_success`).
    Chained(FiringId),
    /// It tells another target how a firing of the schedule ended.
    Notice(FiringId),
}

impl Kind {
    /// Its name in API, CLI and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::CatchUp => "catch_up",
            Self::Manual => "manual",
            Self::Backfill(_) => "backfill",
            Self::Rerun => "rerun",
            Self::Chained(_) => "chained",
            Self::Notice(_) => "notice",
        }
    }

    /// The firing whose end made it.
    #[must_use]
    pub const fn cause(self) -> Option<FiringId> {
        match self {
            Self::Chained(cause) | Self::Notice(cause) => Some(cause),
            Self::Scheduled | Self::CatchUp | Self::Manual | Self::Backfill(_) | Self::Rerun => None,
        }
    }
}

/// How the firing ended that made another one: what a notice tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// Which firing.
    pub firing: FiringId,
    /// Of which schedule.
    pub schedule: ScheduleName,
    /// How it ended.
    pub state: EndState,
    /// How many attempts it took.
    pub attempts: AttemptNumber,
    /// The receiver's last status, if it answered.
    pub status: Option<u16>,
    /// What went wrong last, shortened to [`MAX_CAUSE`] bytes; empty for nothing.
    pub error: Box<str>,
}

/// The longest error that is kept with a [`Cause`] or a dead letter, in bytes.
pub const MAX_CAUSE: usize = 512;

/// A firing that is not settled yet. Settled ones leave the machine; their story is in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firing {
    /// Its identity.
    pub id: FiringId,
    /// Why it exists.
    pub kind: Kind,
    /// The revision that decided it.
    pub revision: Revision,
    /// The definition of that revision: an edit does not change what is under way.
    pub definition: Arc<Definition>,
    /// The log's decision.
    pub decided: Decided,
    /// A payload given by the trigger, instead of the definition's.
    pub payload: Option<Box<str>>,
    /// How the firing ended that made this one.
    pub cause: Option<Arc<Cause>>,
    /// The next nominal instant of the schedule when it was decided, for `until_next`; `None` for one that nothing
    /// overtakes.
    pub overtaken_at: Option<Timestamp>,
    /// The number of the last attempt that has begun.
    pub attempt: AttemptNumber,
    /// How its last attempt ended, if one has.
    pub last_end: Option<AttemptEnd>,
    /// Since when its holder is asked to stop, so that a newer one can start (`overlap: replace`).
    pub stop_asked: Option<Timestamp>,
    /// What it waits for.
    pub phase: Phase,
}

/// When and where the log decided something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The log's time.
    pub at: Timestamp,
    /// The log's place.
    pub index: LogIndex,
    /// The leader's right under which it was proposed; names term and node.
    pub epoch: Epoch,
}

/// What a live firing waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// For somebody to begin it.
    Queued,
    /// For an instant: the spread of its dispatch, or the wait after a failed attempt.
    Waiting {
        /// It may begin from here on.
        until: Timestamp,
    },
    /// For its holder to settle it.
    Running(Lease),
    /// For the firings before it to settle (`overlap`).
    Held,
}

/// How a firing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EndState {
    /// Its receiver accepted it.
    Succeeded,
    /// Its attempts are used up, or the receiver refused it for good.
    Failed,
    /// Its last attempt took too long.
    TimedOut,
    /// Somebody stopped it.
    Cancelled,
    /// Sent once, at most once, and no answer came.
    Unknown,
}

/// What is one to `overlap`: a schedule alone, or all schedules with the same concurrency key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// One schedule.
    Own(Uid),
    /// All with that key.
    Key(Arc<str>),
}

impl Lane {
    /// The lane of the firings of a definition.
    #[must_use]
    pub fn of(uid: Uid, definition: &Definition) -> Self {
        definition.concurrency_key.as_ref().map_or(Self::Own(uid), |key| Self::Key(key.clone()))
    }
}

impl Firing {
    /// What is one with it to `overlap`.
    #[must_use]
    pub fn lane(&self) -> Lane {
        Lane::of(self.id.uid, &self.definition)
    }

    /// Whether it tells of another firing's end: then it stands beside the firings of its schedule, and nothing of theirs
    /// (overlap, failures in a row, chains) is about it.
    #[must_use]
    pub const fn is_notice(&self) -> bool {
        matches!(self.kind, Kind::Notice(_))
    }

    /// The lease of its running attempt.
    #[must_use]
    pub const fn lease(&self) -> Option<&Lease> {
        match &self.phase {
            Phase::Running(lease) => Some(lease),
            Phase::Queued | Phase::Waiting { .. } | Phase::Held => None,
        }
    }

    /// It is given up then, whatever it waits for (`deadline`); [`Timestamp::NEVER`] for never.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.definition.policy.deadline.map_or(Timestamp::NEVER, |deadline| self.decided.at + deadline)
    }

    /// From its nominal instant to its decision.
    #[must_use]
    pub fn lateness(&self) -> Span {
        self.decided.at.since(self.id.nominal)
    }

    /// The payload to send: the trigger's, or the definition's.
    #[must_use]
    pub fn payload(&self) -> &str {
        self.payload.as_deref().unwrap_or(&self.definition.payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_firing_id_is_read_back_from_its_text_and_sorts_like_it(
            a in any::<(u64, i64, u32)>(), b in any::<(u64, i64, u32)>()
        ) {
            let id = |(uid, nominal, run)| FiringId { uid: Uid(uid), nominal: Timestamp::from_millis(nominal), run: Run(run) };
            let (a, b) = (id(a), id(b));
            prop_assert_eq!(a.to_string().parse(), Ok(a));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }
    }

    #[test]
    fn a_damaged_id_is_refused() {
        for text in ["", "frg_", "frg_u0000000000000000000000000000000", "abc", "frg_0000"] {
            assert_eq!(text.parse::<FiringId>(), Err(BadFiringId), "{text}");
        }
    }
}
