//! The ledger of one node, read page by page over its own API, as anybody could read it.
//!
//! The rows are taken from the JSON by types of this room: the contract is checked by being read, and a judge that shared
//! the product's types would share its mistakes.

use anyhow::{Context, Result, bail, ensure};
use campanile_core::cron::parse_instant;
use campanile_core::time::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::api::Api;

const PAGE: usize = 1000;

/// Where a row stands: the log entry, and the place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The log index.
    pub index: u64,
    /// Counted from 0 in each entry.
    pub n: u64,
}

/// A row.
#[derive(Debug, Clone)]
pub struct Row {
    /// Where it stands.
    pub position: Position,
    /// The log's time.
    pub at: Timestamp,
    /// What it says, as far as it is judged.
    pub fact: Fact,
    /// All of it, to be compared between nodes.
    pub json: Value,
}

/// A firing, by everything that identifies it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct Firing {
    /// Its id.
    pub firing: String,
    /// The incarnation of its schedule.
    pub uid: String,
    /// When it should have happened.
    #[serde(deserialize_with = "instant")]
    pub nominal: Timestamp,
}

/// What a row says.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Fact {
    /// A leader took office.
    LeaderEpoch {
        /// Its right.
        epoch: u64,
        /// Its Raft id.
        node: u64,
    },
    /// An instant fired.
    Fired {
        /// Which.
        #[serde(flatten)]
        firing: Firing,
        /// Why.
        kind: String,
    },
    /// Instants did not fire.
    Skipped {
        /// Of which incarnation.
        uid: String,
        /// Why.
        reason: String,
        /// The first.
        #[serde(deserialize_with = "instant")]
        from: Timestamp,
        /// The last.
        #[serde(deserialize_with = "instant")]
        to: Timestamp,
        /// How many.
        count: u64,
    },
    /// An attempt got its lease.
    Begun {
        /// Of which firing.
        #[serde(flatten)]
        firing: Firing,
        /// Which.
        attempt: u32,
        /// What the receiver compares.
        fencing_token: u64,
    },
    /// An attempt ended.
    Settled {
        /// Of which firing.
        #[serde(flatten)]
        firing: Firing,
        /// Which.
        attempt: u32,
        /// What came of the attempt.
        outcome: String,
        /// How the firing ended; `None` when another attempt follows.
        state: Option<String>,
    },
    /// A firing was stopped, and has ended with that.
    Cancelled {
        /// Which.
        #[serde(flatten)]
        firing: Firing,
    },
    /// A definition came into force.
    Defined {
        /// The incarnation.
        uid: String,
        /// `namespace/name`.
        schedule: String,
        /// The definition.
        definition: Value,
    },
    /// Anything else.
    #[serde(other)]
    Other,
}

/// What was read of one node's ledger so far.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// From the oldest on.
    pub rows: Vec<Row>,
}

impl Ledger {
    /// Reads what has come behind the last row that is known here, up to the end as it is now.
    ///
    /// # Errors
    /// When the node does not answer, or answers something that is no ledger.
    pub async fn read_on(&mut self, api: &Api) -> Result<()> {
        loop {
            let after = self.last().map(|at| format!("&after={}.{}", at.index, at.n)).unwrap_or_default();
            let path = format!("/v1/ledger?consistency=stale&limit={PAGE}{after}");
            let reply = api.get(&path).await?;
            ensure!(reply.status == 200, "{path} of {}: {} {}", api.base(), reply.status, reply.body);
            let items = reply.body["items"].as_array().context("a page has items")?;
            for item in items {
                self.push(Row::of(item)?)?;
            }
            if items.len() < PAGE {
                return Ok(());
            }
        }
    }

    /// The position of the last row.
    #[must_use]
    pub fn last(&self) -> Option<Position> {
        self.rows.last().map(|row| row.position)
    }

    /// The rows up to a position, that one included.
    #[must_use]
    pub fn up_to(&self, position: Position) -> &[Row] {
        &self.rows[..self.rows.partition_point(|row| row.position <= position)]
    }

    fn push(&mut self, row: Row) -> Result<()> {
        if self.last().is_some_and(|last| row.position <= last) {
            bail!("row {:?} does not stand behind {:?}", row.position, self.last());
        }
        self.rows.push(row);
        Ok(())
    }
}

impl Row {
    /// A row from its JSON.
    ///
    /// # Errors
    /// When it is none.
    pub fn of(json: &Value) -> Result<Self> {
        let wrong = || format!("no row of the ledger: {json}");
        let text = |field: &str| json[field].as_str().with_context(wrong);
        let position = text("position")?;
        let (index, n) = position.split_once('.').with_context(wrong)?;
        ensure!(text("hash")?.len() >= 32, "row {position} has a hash that is none: {json}");
        Ok(Self {
            position: Position {
                index: index.parse().with_context(wrong)?,
                n: n.parse().with_context(wrong)?,
            },
            at: parse_instant(text("at")?).with_context(wrong)?,
            fact: Fact::deserialize(json).with_context(wrong)?,
            json: json.clone(),
        })
    }
}

fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_instant(&text).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no instant")))
}
