//! What users ask of queues, secrets and dead letters.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Condition, Request};
use crate::firing::FiringId;
use crate::queue::QueueSettings;
use crate::secret::SecretText;
use crate::time::Span;

/// Give a queue settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutQueue {
    /// Its name: one segment like those of schedules.
    pub name: Arc<str>,
    /// Its limits.
    pub settings: QueueSettings,
    /// What must be so.
    pub condition: Condition,
    /// Who asks.
    pub request: Request,
}

/// Forget the settings of a queue: it has the default ones again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteQueue {
    /// Its name.
    pub name: Arc<str>,
    /// What must be so.
    pub condition: Condition,
    /// Who asks.
    pub request: Request,
}

/// Lease nothing more of a queue. What is leased goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseQueue {
    /// Its name.
    pub name: Arc<str>,
    /// Why, for people; empty for nothing.
    pub note: Box<str>,
    /// Who asks.
    pub request: Request,
}

/// Lease of a queue again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeQueue {
    /// Its name.
    pub name: Arc<str>,
    /// Who asks.
    pub request: Request,
}

/// Create or replace a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutSecret {
    /// Its name: one segment like those of schedules.
    pub name: Arc<str>,
    /// Its text.
    pub text: SecretText,
    /// How long the one before goes on to sign beside it.
    pub keep_previous: Span,
    /// What must be so.
    pub condition: Condition,
    /// Who asks.
    pub request: Request,
}

/// Remove a secret; refused while a schedule names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteSecret {
    /// Its name.
    pub name: Arc<str>,
    /// What must be so.
    pub condition: Condition,
    /// Who asks.
    pub request: Request,
}

/// Put dead letters aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardLetters {
    /// Which; those that are none any more are passed over.
    pub firings: Vec<FiringId>,
    /// Who asks.
    pub request: Request,
}
