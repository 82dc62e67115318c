//! One definition of the history of a schedule.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::definition::Definition;
use super::time::Instant;

/// A definition, and how it came into force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Revision {
    /// Its number; the first of a schedule is 1.
    pub revision: u32,
    /// When it came into force.
    pub at: Instant,
    /// Who put it.
    pub by: String,
    /// Where that stands in the ledger, `index.n`.
    pub position: String,
    /// The definition, whole: it can be put again.
    pub definition: Definition,
}
