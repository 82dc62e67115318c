//! The judge of a world: takes what the disks were given and what the nodes have applied, makes one committed log of it,
//! applies that to a machine of its own, and has every property look at each step.
//!
//! ```text
//!   disks ── entries ──> logs of the machines ─┐
//!   nodes ── applied ──> how far ──────────────┴─> committed log ─> machine ─> Step ─> invariants
//! ```

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use campanile_core::event::{Event, Row};
use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
use campanile_core::reply::{Rejection, Reply};
use campanile_raft::told::{self, What};

use super::clock::TrueTime;
use super::disk::Change;
use super::host::Host;
use super::invariants::{Findings, Invariant};
use super::mutants::rightly;
use super::story::Step;
use super::trace::{Trace, digest};

/// The name of what this file finds by itself.
const ONE_PAYLOAD: &str = "one payload per log id";
const EQUAL_MACHINES: &str = "equal machines at equal index";
const NO_DEFECT: &str = "no defect";

/// See the head of the file.
pub struct Judge {
    time: TrueTime,
    trace: Trace,
    machine: Machine,
    /// The machine after each of the last entries, for nodes that are a little behind.
    recent: VecDeque<Machine>,
    committed: BTreeMap<u64, u64>,
    logs: Vec<BTreeMap<u64, Bytes>>,
    /// Up to where each machine's applied entries were compared.
    compared: Vec<u64>,
    /// What stands at a term and an index, by its digest.
    payloads: BTreeMap<(u64, u64), u64>,
    invariants: Vec<Box<dyn Invariant>>,
    /// Every row of the committed log.
    pub rows: Vec<(u64, Row)>,
    /// What was found.
    pub found: Findings,
    steps: u64,
    met: super::coverage::Reached,
}

/// How many machines are kept for comparing.
const RECENT: usize = 64;
/// Entries that stay in the picture of a machine's log behind what it has applied.
const TAIL: u64 = 2_000;

impl Judge {
    /// Of a world with so many machines.
    #[must_use]
    pub fn new(machines: usize, time: TrueTime, trace: Trace, invariants: Vec<Box<dyn Invariant>>) -> Self {
        Self {
            time,
            trace,
            machine: Machine::default(),
            recent: VecDeque::new(),
            committed: BTreeMap::new(),
            logs: vec![BTreeMap::new(); machines],
            compared: vec![0; machines],
            payloads: BTreeMap::new(),
            invariants,
            rows: Vec::new(),
            found: Findings::default(),
            steps: 0,
            met: super::coverage::Reached::new(),
        }
    }

    /// The machine after the last committed entry that was seen.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// How many commands were judged.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Which branches the log shows by itself.
    #[must_use]
    pub fn met(&self) -> &super::coverage::Reached {
        &self.met
    }

    /// How many terms had a leader: one that wrote something.
    #[must_use]
    pub fn terms(&self) -> u64 {
        let mut terms: Vec<u64> = self.payloads.keys().map(|(term, _)| *term).collect();
        terms.dedup();
        terms.len() as u64
    }

    /// Looks at all machines.
    pub fn look(&mut self, hosts: &[Host]) {
        hosts.iter().for_each(|host| self.hear(host));
        for host in hosts {
            if let Some(why) = host.panicked() {
                self.found.add(NO_DEFECT, || format!("machine {}: {why}", host.place()));
            }
            // What a process had applied when it died is committed, and may have been answered.
            let last = host.take_applied();
            let running = host.running().map(|running| running.consensus.applied().0);
            for applied in last.into_iter().chain(running) {
                self.advance(host.place(), applied);
                self.compare(host.place(), applied);
            }
        }
    }

    /// Compares the machines of those who have applied what this one has seen.
    pub fn compare_machines(&mut self, hosts: &[Host]) {
        for host in hosts {
            let Some(running) = host.running() else { continue };
            let view = running.consensus.view();
            let own = self.recent.iter().find(|own| own.applied() == view.applied());
            if own.is_some_and(|own| *own != *view) {
                self.found.add(EQUAL_MACHINES, || {
                    format!("machine {} differs at entry {}", host.place(), view.applied())
                });
            }
        }
    }

    /// The world has ended.
    pub fn end(&mut self, end: &super::story::End<'_>) {
        rightly(|| self.invariants.iter_mut().for_each(|invariant| invariant.end(end, &mut self.found)));
    }

    /// Takes what the disk was given.
    fn hear(&mut self, host: &Host) {
        let place = host.place();
        for change in host.disk().take_changes() {
            match change {
                Change::Written(index, bytes) => self.written(place, index, bytes),
                Change::CutFrom(index) => drop(self.logs[place].split_off(&index)),
                // What was applied here stays in the picture, for others; what an image has jumped over may never have been
                // committed.
                Change::Purged(upto) => {
                    let compared = self.compared[place];
                    self.logs[place].retain(|index, _| *index <= compared || *index > upto);
                }
            }
        }
    }

    fn written(&mut self, place: usize, index: u64, bytes: Bytes) {
        let log = &mut self.logs[place];
        if log.last_key_value().is_some_and(|(last, _)| *last >= index) {
            log.split_off(&index);
        }
        let Ok(id) = told::place(&bytes) else { return };
        let content = digest(&bytes);
        let known = *self.payloads.entry(id).or_insert(content);
        log.insert(index, bytes);
        if known != content {
            self.found.add(ONE_PAYLOAD, || {
                format!("term {} index {}: machine {place} writes another content", id.0, id.1)
            });
        }
    }

    /// What this machine has applied is committed.
    fn advance(&mut self, place: usize, applied: u64) {
        while self.machine.applied().0 < applied {
            let next = self.machine.applied().0 + 1;
            let Some(bytes) = self.entry(place, next) else { return };
            self.committed.insert(next, digest(&bytes));
            rightly(|| self.apply(next, &bytes));
        }
    }

    /// The entry at `next` that this machine has applied. One that got an image does not have it; then it is that of a log
    /// which meets its own in a later entry: logs that are equal in one entry are equal in all before it (Raft, §5.3). One
    /// that leads over a hung disk has not written it yet; then it is the latest term's, once two have it: alone it may be
    /// what a leader wrote and lost.
    fn entry(&self, place: usize, next: u64) -> Option<Bytes> {
        let own = &self.logs[place];
        if let Some(bytes) = own.get(&next) {
            return Some(bytes.clone());
        }
        let Some((first, met)) = own.range(next..).next() else {
            let others = self.logs.iter().filter_map(|log| log.get(&next));
            let latest = others.clone().max_by_key(|bytes| told::place(bytes).ok())?;
            return (others.filter(|bytes| *bytes == latest).count() > 1).then(|| latest.clone());
        };
        let meets = |log: &&BTreeMap<u64, Bytes>| log.get(first) == Some(met) && log.contains_key(&next);
        self.logs.iter().find(meets).and_then(|log| log.get(&next)).cloned()
    }

    fn apply(&mut self, index: u64, bytes: &Bytes) {
        let told = match told::told(bytes) {
            Ok(told) => told,
            Err(error) => {
                self.machine.pass(LogIndex(index));
                return self.found.add(NO_DEFECT, || format!("entry {index} does not read: {error}"));
            }
        };
        let (seen, before) = (self.time.moment(), self.machine.clone());
        match told.what {
            What::Nothing => self.machine.pass(LogIndex(index)),
            What::Members { voters, learners } => {
                self.machine.pass(LogIndex(index));
                let event = Event::MembersChanged { voters, learners };
                self.rows.push((index, Row { at: self.machine.clock(), event }));
            }
            What::Command(command) => {
                if command.at == before.clock() && command.at > self.time.at(seen) {
                    *self.met.entry("log time held").or_default() += 1;
                }
                let (reply, rows) = self.machine.apply(LogIndex(index), &command);
                self.steps += 1;
                if let Reply::Rejected(rejection) = &reply {
                    let name = match rejection {
                        Rejection::StaleEpoch(_) => "stale epoch refused",
                        Rejection::ClockBehind(_) => "time refused",
                        Rejection::Raced => "plan overtaken",
                        Rejection::KeyReused => "key reused",
                        _ => "refused",
                    };
                    *self.met.entry(name).or_default() += 1;
                }
                let step = Step {
                    index,
                    term: told.term,
                    seen,
                    now: self.time.at(seen),
                    command: &command,
                    before: &before,
                    after: &self.machine,
                    reply: &reply,
                    rows: &rows,
                };
                for invariant in &mut self.invariants {
                    invariant.step(&step, &mut self.found);
                }
                self.rows.extend(rows.into_iter().map(|row| (index, row)));
            }
        }
        self.trace.note("commit", &[index, told.term, digest(bytes)], || format!("entry {index}"));
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(self.machine.clone());
    }

    /// What this machine has applied is what was committed.
    fn compare(&mut self, place: usize, applied: u64) {
        let upto = applied.min(self.machine.applied().0);
        for index in self.compared[place] + 1..=upto {
            let (Some(own), Some(committed)) = (self.logs[place].get(&index), self.committed.get(&index))
            else {
                continue;
            };
            if digest(own) != *committed {
                self.found.add(ONE_PAYLOAD, || {
                    format!("machine {place} has applied another entry at {index} than was committed")
                });
            }
        }
        self.compared[place] = self.compared[place].max(upto);
        let old = upto.saturating_sub(TAIL);
        if self.logs[place].first_key_value().is_some_and(|(first, _)| *first + TAIL < old) {
            self.logs[place] = self.logs[place].split_off(&old);
        }
    }
}
