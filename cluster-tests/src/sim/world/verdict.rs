//! The end of a world: what was found, and what was met.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use campanile::service::records::read_row;
use campanile_core::event::Row;

use super::super::host::Host;
use super::super::story::End;
use super::{Verdict, World};

/// The name of what is found here.
const DEFECT: &str = "no answer is a defect";

impl World {
    pub(super) fn verdict(mut self) -> Verdict {
        self.judge.look(&self.hosts);
        self.judge.compare_machines(&self.hosts);
        self.is_alive();
        let ledgers = self.ledgers();
        let rows = std::mem::take(&mut self.judge.rows);
        let machine = self.judge.machine().clone();
        let story = std::mem::take(&mut *self.story());
        for (place, defect) in &story.defects {
            let call = &story.calls[*place];
            self.judge.found.add(DEFECT, || format!("{} {}: {defect}", call.method, call.path));
        }
        let end = End {
            story: &story,
            machine: &machine,
            rows: &rows,
            ledgers: &ledgers,
            now: self.time.now(),
            moment: self.time.moment(),
        };
        self.judge.end(&end);
        if !self.judge.found.is_clean() {
            self.trace.mark();
        }
        let faults = self.hand.happened.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut reached = super::super::coverage::reached(&rows, &story, self.judge.met());
        reached.extend(self.trace.reached());
        // Each term has one leader at most, and who leads writes.
        let lost = self.term.saturating_sub(self.judge.terms());
        *reached.entry("election lost").or_default() += lost;
        let counts = [self.judge.steps(), story.calls.len() as u64, story.sends.len() as u64];
        self.hosts.iter().for_each(Host::kill);
        Verdict {
            found: self.judge.found,
            plan: self.plan,
            hash: self.trace.hash(),
            lines: self.trace.lines(),
            before: self.trace.marked(),
            faults,
            reached,
            counts,
        }
    }

    fn ledgers(&mut self) -> BTreeMap<u64, Vec<(u64, Row)>> {
        let mut ledgers = BTreeMap::new();
        for host in self.hosts.iter() {
            let Some(running) = host.running() else { continue };
            let (ledger, mut rows, mut after) = (running.consensus.ledger(), Vec::new(), None);
            loop {
                let page = match ledger.read(after, 1_000, 4 << 20) {
                    Ok(page) => page,
                    Err(trouble) => {
                        self.judge
                            .found
                            .add("a ledger reads", || format!("machine {}: {trouble}", host.place()));
                        break;
                    }
                };
                let Some(last) = page.last() else { break };
                after = Some(last.position);
                for row in &page {
                    match read_row(row) {
                        Ok(told) => rows.push((row.position.index, told)),
                        Err(error) => self.judge.found.add("a ledger reads", || {
                            format!("machine {}: row {:?}: {error:?}", host.place(), row.position)
                        }),
                    }
                }
            }
            ledgers.insert(running.consensus.node().0, rows);
        }
        ledgers
    }
}
