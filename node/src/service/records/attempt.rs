//! What the ledger says of one attempt: the lease as it was given, and how it ended.

use std::sync::Arc;

use campanile_core::attempt::{Lease, Report};
use campanile_core::event::{Event, Outcome};
use campanile_core::firing::FiringId;
use campanile_core::id::AttemptNumber;
use campanile_core::machine::Machine;

use super::{Records, Telling, read_row};
use crate::problem::Problem;

/// What is known of an attempt; nothing of one that never was, or that retention has passed.
#[derive(Debug, Clone, Default)]
pub struct AttemptTold {
    /// The lease as it was given.
    pub begun: Option<Lease>,
    /// What was reported (nothing when its lease ended, or its firing was cancelled), and what that made of the firing.
    pub settled: Option<(Option<Report>, Outcome)>,
}

impl Records {
    /// What the ledger says of an attempt.
    ///
    /// # Errors
    /// As [`Records::firing`].
    pub async fn attempt(
        &self,
        machine: Arc<Machine>,
        id: FiringId,
        number: AttemptNumber,
    ) -> Result<AttemptTold, Problem> {
        self.on_thread(move |records| {
            records.caught_up()?;
            let telling = Telling::new(records, &machine);
            let mut told = AttemptTold::default();
            for entry in telling.rows_of(id, id.run.0)? {
                let Some(row) = records.row(&entry)? else { continue };
                match read_row(&row)?.event {
                    Event::Begun { lease, .. } if lease.attempt == number => told.begun = Some(lease),
                    Event::Settled { attempt, report, outcome, .. } if attempt == number => {
                        // A firing that is cancelled while it waits names an attempt that has ended before.
                        told.settled.get_or_insert((report, outcome));
                    }
                    _ => {}
                }
            }
            Ok(told)
        })
        .await
    }
}
