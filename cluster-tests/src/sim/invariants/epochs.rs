//! An epoch is the index of the entry with which it began; epochs and terms only grow, a term has one leader (Raft §5.1, §5.2),
//! and what another than the leader in office proposes is refused (DESIGN §4).

use std::collections::BTreeMap;

use campanile_core::command::{Body, LeaderEpoch};
use campanile_core::event::Event;
use campanile_core::id::{Epoch, NodeId, Term};
use campanile_core::reply::Reply;

use super::{Findings, Invariant, is_admitted};
use crate::sim::story::Step;

/// Who led when.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    epoch: Epoch,
    term: Term,
    leaders: BTreeMap<Term, NodeId>,
}

impl Invariant for Epochs {
    fn name(&self) -> &'static str {
        "epochs are monotone"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        let index = step.index;
        if !is_admitted(step) {
            return;
        }
        if let Body::LeaderEpoch(office) = &step.command.body {
            return self.take_office(step, office, found);
        }
        let (said, current) = (step.command.epoch, self.epoch);
        if said != current {
            found.add(self.name(), || format!("entry {index} of epoch {said} was taken in epoch {current}"));
        }
        if step.after.epoch() != current {
            let after = step.after.epoch();
            found.add(self.name(), || format!("entry {index} changed the epoch {current} to {after}"));
        }
    }
}

impl Epochs {
    fn take_office(&mut self, step: &Step<'_>, office: &LeaderEpoch, found: &mut Findings) {
        let (index, epoch) = (step.index, Epoch(step.index));
        let told = step.rows.iter().find_map(|row| match row.event {
            Event::LeaderEpoch { epoch, .. } => Some(epoch),
            _ => None,
        });
        if *step.reply != Reply::InOffice(epoch) || told != Some(epoch) || step.after.epoch() != epoch {
            found.add(self.name(), || {
                format!(
                    "entry {index} made epoch {:?}, and told {told:?} and {:?}",
                    step.after.epoch(),
                    step.reply
                )
            });
        }
        if epoch <= self.epoch || office.term < self.term || office.term.0 > step.term {
            let (before, term) = (self.epoch, self.term);
            found.add(self.name(), || {
                let (said, of) = (office.term, step.term);
                format!("entry {index} of term {of} took office in term {said} after epoch {before} of term {term}")
            });
        }
        let leader = *self.leaders.entry(office.term).or_insert(office.node);
        if leader != office.node {
            found.add(self.name(), || format!("{leader} and {} led in term {}", office.node, office.term));
        }
        (self.epoch, self.term) = (epoch, office.term.max(self.term));
    }
}
