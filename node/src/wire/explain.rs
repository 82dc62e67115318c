//! Why a schedule ran, or did not, at an instant: a paragraph, and the facts that it is made of.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::firing::{Decided, Firing};
use super::time::Instant;

/// Why it ran or did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// `namespace/name`.
    pub schedule: String,
    /// Which incarnation of it that instant belongs to; `null` when there was none.
    pub uid: Option<String>,
    /// The instant that was asked about.
    pub at: Instant,
    /// The same on the wall clock of the zone of its first spec.
    pub local: Option<String>,
    /// In a word: `fired`, `skipped`, `paused`, `parked`, `not_nominal`, `excluded`, `outside_window`, `finished`,
    /// `not_created`, `deleted`, `planned`, `undecided`, `forgotten`, `unaccounted` or `unknown`.
    pub verdict: String,
    /// In a paragraph.
    pub text: String,
    /// Whether it is a nominal instant of the definition in force; `null` when that cannot be told.
    pub nominal: Option<bool>,
    /// How a nominal instant stands to daylight saving: `normal`, `moved_from_gap`, `first_pass` or `second_pass`.
    pub note: Option<String>,
    /// The definition in force.
    pub definition: Option<InForce>,
    /// How the schedule stood.
    pub state: Option<StateThen>,
    /// Everything up to here had been decided before.
    pub mark: Option<Instant>,
    /// The nominal instants around it.
    pub nearest: Nearest,
    /// What takes the instant out.
    pub excluded_by: Option<ExcludedBy>,
    /// The run of skipped instants that it belongs to.
    pub skipped: Option<Skip>,
    /// Everything that fired with this nominal, re-runs too.
    pub firings: Vec<Firing>,
    /// How the time from the nominal to the end of the first run was spent.
    pub hops: Vec<Hop>,
    /// The gap between leaders into which the instant fell.
    pub outage: Option<Gap>,
}

/// A definition in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InForce {
    /// Its revision.
    pub revision: u32,
    /// When it was committed; `null` when retention has passed that.
    pub since: Option<Instant>,
    /// Who wrote it.
    pub by: String,
    /// Its specs in English.
    pub text: String,
    /// Its search began after this instant.
    pub mark: Instant,
}

/// How a schedule stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StateThen {
    /// `active`, `paused`, `parked`, `finished` or `deleted`.
    pub state: String,
    /// Since when; `null` when retention has passed that.
    pub since: Option<Instant>,
    /// Who brought that about; `campanile` for a rule.
    pub by: Option<String>,
    /// Why, in their words.
    pub note: Option<String>,
    /// When a pause was to end by itself.
    pub until: Option<Instant>,
}

/// The nominal instants around an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Nearest {
    /// The last before it.
    pub before: Option<Instant>,
    /// The first behind it.
    pub after: Option<Instant>,
    /// One in the same minute, when the instant itself is none: ask about this one.
    pub same_minute: Option<Instant>,
}

/// What takes an instant out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExcludedBy {
    /// Which exclusion of the definition, as a JSON pointer.
    pub pointer: String,
    /// In words.
    pub text: String,
}

/// A run of skipped instants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Skip {
    /// `paused_gap`, `overlap`, `too_late`, `coalesced`, `superseded` or `limit`.
    pub reason: String,
    /// The first of them.
    pub from: Instant,
    /// The last of them.
    pub to: Instant,
    /// How many.
    pub count: u64,
    /// When and where the log decided it.
    pub decided: Decided,
    /// From the instant to that decision.
    pub lateness_ms: u64,
    /// The firing that ran then (`overlap`), or that fired in its stead (`coalesced`).
    pub firing: Option<String>,
}

/// One step on the way from the nominal to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Hop {
    /// `decided`, `begun`, `sent` or `settled`: where it ends. It starts where the one before it ended, the first at the
    /// nominal.
    pub to: String,
    /// Of which attempt; `null` for the decision.
    pub attempt: Option<u32>,
    /// When it ended.
    pub at: Instant,
    /// How long it took.
    pub ms: u64,
    /// What explains it, when it took long enough to need a word.
    pub because: Option<String>,
}

/// A gap between leaders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Gap {
    /// Its name among `/v1/outages`.
    pub id: String,
    /// Since when there was no leader.
    pub from: Instant,
    /// When the next one took office.
    pub to: Instant,
}
