//! Everything has a bound: ticks, takes, leases of an entry, payloads, outputs, outcomes, letters, remembered answers, those
//! that wait (DESIGN §2, rule 11; SEMANTICS §8).

use campanile_core::attempt::MAX_OUTPUT;
use campanile_core::command::{Body, Tick, Work};
use campanile_core::definition::{MAX_DEFINITION, MAX_PAYLOAD, MAX_QUEUE};
use campanile_core::event::Event;
use campanile_core::id::PLACES_PER_ENTRY;
use campanile_core::letter::MAX_LETTERS;
use campanile_core::machine::Machine;
use campanile_core::queue::{MAX_LEASES, MAX_QUEUES};
use campanile_core::reply::Reply;
use campanile_core::request::MAX_REMEMBERED;
use campanile_core::schedule::KEPT_OUTCOMES;
use campanile_core::secret::MAX_SECRETS;

use super::{Bounds, Findings, Invariant, SAMPLE};
use crate::sim::story::{End, Step};

/// The settings of the cluster.
#[derive(Debug)]
pub(super) struct Bounded {
    bounds: Bounds,
}

impl Bounded {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self { bounds }
    }

    /// What a tick may hold: a plan is taken whole once there is room for its beginning, and a plan fires what catches up
    /// and what is fresh.
    fn of_tick(&self) -> usize {
        let Bounds { max_catch_up, instants_per_tick, .. } = self.bounds;
        instants_per_tick + max_catch_up + max_catch_up.max(instants_per_tick) + 16
    }

    fn check(&self, what: &'static str, is: usize, most: usize, index: u64, found: &mut Findings) {
        if is > most {
            found.add(self.name(), || format!("at entry {index}: {is} {what}, at most {most}"));
        }
    }

    fn judge_machine(&self, machine: &Machine, found: &mut Findings) {
        let index = machine.applied().0;
        // Each command forgets some of those that are too many.
        self.check("remembered answers", machine.requests().len(), MAX_REMEMBERED + 64, index, found);
        self.check("letters", machine.letters().len(), MAX_LETTERS, index, found);
        self.check("queues", machine.queues().count(), MAX_QUEUES, index, found);
        self.check("secrets", machine.secrets_after(None).count(), MAX_SECRETS, index, found);
        for schedule in machine.schedules_after(None) {
            let outcomes = schedule.newest_outcomes().count();
            self.check("kept outcomes", outcomes, KEPT_OUTCOMES, index, found);
            self.check("held of one schedule", schedule.held as usize, MAX_QUEUE as usize, index, found);
        }
    }
}

impl Invariant for Bounded {
    fn name(&self) -> &'static str {
        "everything has a bound"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        let index = step.index;
        match &step.command.body {
            Body::Tick(tick) => {
                self.check("instants in a tick", instants(tick), self.of_tick(), index, found)
            }
            Body::Work(work) => {
                self.check("begins", begins(work), PLACES_PER_ENTRY, index, found);
                self.check("leases of one take", most_taken(step.reply), MAX_LEASES as usize, index, found);
            }
            _ => {}
        }
        for row in step.rows {
            match &row.event {
                Event::Settled { report: Some(report), .. } => {
                    self.check("bytes of output", report.output.len(), MAX_OUTPUT, index, found);
                    self.check("bytes of an error", report.error.len(), MAX_OUTPUT, index, found);
                }
                Event::Defined { definition, .. } => {
                    self.check("bytes of payload", definition.payload.len(), MAX_PAYLOAD, index, found);
                    self.check("bytes of a definition", definition.weight(), MAX_DEFINITION, index, found);
                }
                _ => {}
            }
        }
        if index.is_multiple_of(SAMPLE) {
            self.judge_machine(step.after, found);
        }
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        self.judge_machine(end.machine, found);
    }
}

fn instants(tick: &Tick) -> usize {
    let decisions = tick.decisions.iter().chain(tick.pause_ends.iter().map(|end| &end.decision));
    tick.on_time.len() + decisions.map(|decision| decision.fire.len()).sum::<usize>()
}

fn begins(work: &Work) -> usize {
    work.begins.iter().map(|begin| begin.items.len()).sum()
}

fn most_taken(reply: &Reply) -> usize {
    let Reply::Worked(worked) = reply else { return 0 };
    worked.taken.iter().flatten().map(Vec::len).max().unwrap_or(0)
}
