//! Parts that most schedules have in common, kept once: a hundred thousand schedules have a handful of policies.
//!
//! Derived, and without meaning: whether two schedules share a part or hold equal ones is the same to every rule.

use std::sync::Arc;

use imbl::OrdSet;

use crate::definition::{Definition, Policy};
use crate::schedule::Schedule;

/// How many distinct parts of a kind are kept; beyond, a schedule holds its own.
const MOST: usize = 1024;

/// The parts.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    policies: OrdSet<Arc<Policy>>,
    principals: OrdSet<Arc<str>>,
}

/// Sharing is no part of what a machine is.
impl PartialEq for Shared {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Shared {}

impl Shared {
    /// Lets a schedule hold what others hold already.
    pub(crate) fn share(&mut self, schedule: &mut Schedule) {
        let policy = once(&mut self.policies, &schedule.definition.policy);
        if !Arc::ptr_eq(&policy, &schedule.definition.policy) {
            schedule.definition = Arc::new(Definition { policy, ..Definition::clone(&schedule.definition) });
        }
        schedule.updated_by = once(&mut self.principals, &schedule.updated_by);
    }
}

fn once<T: Ord + ?Sized>(kept: &mut OrdSet<Arc<T>>, part: &Arc<T>) -> Arc<T> {
    if let Some(known) = kept.get(part) {
        return known.clone();
    }
    if kept.len() < MOST {
        kept.insert(part.clone());
    }
    part.clone()
}
