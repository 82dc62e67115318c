//! What a verification came to, as JSON. The judging is in `crate::verify`; here is the shape of its answer.

use std::collections::BTreeMap;

use campanile_core::time::Timestamp;
use campanile_core::verify::{Counts, Offender as CoreOffender, Place, Verdict as CoreVerdict};
use campanile_storage::ledger::{Hash, Position};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ledger::hex;
use super::time::Instant;
use crate::verify::{Break, Chain as FoundChain, Found};

/// Up to where a verifier that has heard no row judges.
const BEFORE_ANY_ROW: Timestamp = Timestamp::from_millis(i64::MIN);

/// Whether a ledger accounts for every nominal instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Verdict {
    /// Whether nothing is wrong: nothing missing, doubled, phantom, early, unbegun or in disorder, and the chain is whole.
    pub clean: bool,
    /// The node whose ledger it is; left out for a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u64>,
    /// How many schedules the ledger tells of, those that are gone too.
    pub schedules: u64,
    /// Nominal instants that were decided.
    pub decided: u64,
    /// Nominal instants that fired.
    pub fired: u64,
    /// Nominal instants that were skipped, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Firings that no instant asked for: triggers, backfills, re-runs, what follows others.
    pub asked: u64,
    /// Instants that were never decided.
    pub missing: u64,
    /// Instants that were decided again, and firings that ended again.
    pub doubled: u64,
    /// What was decided, or begun, and nothing asked for it.
    pub phantom: u64,
    /// What happened before its time.
    pub early: u64,
    /// Attempts that ended and had never begun.
    pub unbegun: u64,
    /// What only grows and ran backwards: places, times, epochs, fencing tokens.
    pub disorder: u64,
    /// Instants that have come and need not be decided yet.
    pub pending: u64,
    /// Firings that had not ended when the ledger did.
    pub undelivered: u64,
    /// Rows that could not be judged: what they rest on was dropped by retention.
    pub unverified: u64,
    /// Every instant up to here had to be decided; `null` when no row tells a time.
    pub until: Option<Instant>,
    /// The hash chain.
    pub chain: Chain,
    /// What is wrong, in the order of the log: the first hundred of each kind.
    pub offenders: Vec<Offender>,
    /// Leaders planned with other time-zone data than this program has, so that instants may differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones_differ: Option<String>,
}

/// The hash chain of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Chain {
    /// Whether it is whole.
    pub ok: bool,
    /// Its last row; `null` for a ledger without rows.
    pub head: Option<ChainHead>,
    /// How many rows it has.
    pub rows: u64,
    /// How many ends of it that leaders have stated were compared with it.
    pub compared: u64,
    /// How many of the heads that were given with the request it reaches, with their hash; one that it does not is a break.
    pub heads: u64,
    /// The first place at which it breaks.
    pub broken: Option<ChainBreak>,
    /// At how many places it breaks.
    pub breaks: u64,
}

/// The end of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainHead {
    /// The row, `index.n`.
    pub position: String,
    /// The running hash over every row up to it, 32 hexadecimal digits: equal on every node.
    pub hash: String,
}

/// A place at which a chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainBreak {
    /// The row; where a file ends or is damaged, the last good one, `null` when there is none.
    pub position: Option<String>,
    /// What is wrong.
    pub why: String,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Offender {
    /// `missing`, `doubled`, `phantom`, `early`, `unbegun` or `disorder`; `chain` for a place at which the chain breaks.
    #[schema(pattern = "^(missing|doubled|phantom|early|unbegun|disorder|chain)$")]
    pub fault: String,
    /// The row that shows it, `index.n`; `null` when the end of the ledger does.
    pub position: Option<String>,
    /// Which schedule, by name.
    pub schedule: Option<String>,
    /// Which incarnation.
    pub uid: Option<String>,
    /// Which instant; the first of several.
    pub nominal: Option<Instant>,
    /// What is so, and what was expected.
    pub detail: String,
}

/// How far a verification is, in an event of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// So many rows are judged.
    pub rows: u64,
    /// Of so many.
    pub of: u64,
}

impl Verdict {
    /// What a pass found; `node` is whose ledger it was.
    #[must_use]
    pub fn of(found: &Found, node: Option<u64>) -> Self {
        let CoreVerdict { counts, offenders, until, zones_differ } = &found.verdict;
        let Counts { schedules, rows: _, decided, fired, skipped, .. } = counts;
        let breaks = found.chain.breaks.iter().map(Offender::of_break);
        Self {
            clean: found.is_clean(),
            node,
            schedules: *schedules,
            decided: *decided,
            fired: *fired,
            skipped: skipped.iter().map(|(reason, count)| (reason.as_str().to_owned(), *count)).collect(),
            asked: counts.asked,
            missing: counts.missing,
            doubled: counts.doubled,
            phantom: counts.phantom,
            early: counts.early,
            unbegun: counts.unbegun,
            disorder: counts.disorder,
            pending: counts.pending,
            undelivered: counts.undelivered,
            unverified: counts.unverified,
            until: Some(*until).filter(|until| *until > BEFORE_ANY_ROW).map(Instant),
            chain: Chain::of(&found.chain),
            offenders: breaks.chain(offenders.iter().map(Offender::of)).collect(),
            zones_differ: zones_differ.clone(),
        }
    }
}

impl Chain {
    fn of(found: &FoundChain) -> Self {
        let head = |(position, hash): (Position, Hash)| ChainHead {
            position: position.to_string(),
            hash: hex(&hash),
        };
        let broken = |broken: &Break| ChainBreak {
            position: broken.position.map(|position| position.to_string()),
            why: broken.why.clone(),
        };
        Self {
            ok: found.is_whole(),
            head: found.head.map(head),
            rows: found.rows,
            compared: found.compared,
            heads: found.met,
            broken: found.breaks.first().map(broken),
            breaks: found.broken,
        }
    }
}

impl Offender {
    fn of(offender: &CoreOffender) -> Self {
        Self {
            fault: offender.fault.as_str().into(),
            position: offender.place.map(|Place { index, n }| Position::new(index.0, n).to_string()),
            schedule: offender.schedule.as_ref().map(ToString::to_string),
            uid: offender.uid.map(|uid| uid.to_string()),
            nominal: offender.nominal.map(Instant),
            detail: offender.detail.clone(),
        }
    }

    fn of_break(broken: &Break) -> Self {
        Self {
            fault: "chain".into(),
            position: broken.position.map(|position| position.to_string()),
            schedule: None,
            uid: None,
            nominal: None,
            detail: broken.why.clone(),
        }
    }
}
