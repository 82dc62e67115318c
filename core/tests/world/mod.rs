//! A world in which a history of users' wishes is lived through: leaders, ticks, restarts and clocks by dice.

mod again;
mod decided;
mod dice;
mod history;
mod work;

use std::collections::BTreeMap;

use campanile_core::attempt::Holder;
use campanile_core::command::{Body, Command, Condition, LeaderEpoch, Request};
use campanile_core::event::{Event, Outcome, Row};
use campanile_core::firing::EndState;
use campanile_core::id::{Epoch, LogIndex, NodeId, Term};
use campanile_core::invariant;
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, PauseUntil, Planner, ResumeFrom, Wanted};
use campanile_core::reply::{Rejection, Reply};
use campanile_core::time::{Span, Timestamp};

use again::Fired;
pub use decided::Decided;
use decided::decided;
pub use dice::Dice;
pub use history::Want;
pub use history::{Wish, history};
use work::Leases;

/// A machine, its log and ledger, and how rough life is.
pub struct World {
    pub machine: Machine,
    pub log: Vec<(LogIndex, Command)>,
    pub rows: Vec<Row>,
    dice: Dice,
    rough: bool,
    options: Options,
    planner: Planner,
    now: Timestamp,
    epoch: Epoch,
    term: u64,
    /// A tick that an earlier leader, or this one, proposed and that is still on its way.
    late: Option<Command>,
    fired: Fired,
    late_steps: Vec<campanile_core::command::StepBackfill>,
    /// How many steps of backfills did something.
    pub steps: usize,
    /// What nodes and workers hold.
    leases: Leases,
    /// How much of each kind the ledger tells of.
    pub told: BTreeMap<&'static str, usize>,
}

impl World {
    pub fn calm(seed: u64) -> Self {
        Self::new(Dice::of(seed ^ 1), false)
    }

    pub fn rough(seed: u64) -> Self {
        Self::new(Dice::of(seed ^ 2), true)
    }

    /// A rough one whose cluster has these settings.
    pub fn rough_with(seed: u64, options: Options) -> Self {
        Self { options, ..Self::rough(seed) }
    }

    fn new(dice: Dice, rough: bool) -> Self {
        Self {
            options: Options::default(),
            machine: Machine::default(),
            log: Vec::new(),
            rows: Vec::new(),
            dice,
            rough,
            planner: Planner::new(Options::default()),
            now: Timestamp::EPOCH,
            epoch: Epoch(0),
            term: 0,
            late: None,
            fired: Fired::default(),
            late_steps: Vec::new(),
            steps: 0,
            leases: Leases::default(),
            told: BTreeMap::new(),
        }
    }

    /// Lives through all wishes and a minute more; answers every instant that was decided.
    pub fn live_through(&mut self, history: &[Wish]) -> Vec<Decided> {
        self.live(history);
        decided(&self.rows)
    }

    /// Lives through all wishes and a minute more.
    pub fn live(&mut self, history: &[Wish]) {
        self.now = history[0].at - Span::from_secs(1);
        self.take_office();
        for wish in history {
            self.wait_until(wish.at);
            self.grant(wish);
        }
        self.wait_until(history[history.len() - 1].at + Span::from_secs(60));
        self.tick();
    }

    /// Time passes: calm life ticks when something is due, rough life at odd moments and with everything that happens.
    fn wait_until(&mut self, at: Timestamp) {
        while self.now < at {
            let step = if self.rough { 1 + self.dice.below(9_000) } else { 1 + self.dice.below(1_000) };
            self.now = (self.now + Span::from_millis(step)).min(at);
            if self.rough {
                self.suffer();
            }
            self.tick();
            self.go_on();
            self.work();
        }
    }

    fn suffer(&mut self) {
        match self.dice.below(12) {
            0 => self.take_office(),
            1 => {
                let image = campanile_core::image::Image::of(&self.machine);
                self.machine = image.into_machine().unwrap();
            }
            2 => self.late = self.plan_tick(),
            3 => {
                if let Some(late) = self.late.take() {
                    self.commit(late);
                }
            }
            // The clock of the next leader is behind; its proposals still are not.
            4 => self.now = self.now - Span::from_millis(self.dice.below(2_000)),
            _ => {}
        }
    }

    fn take_office(&mut self) {
        self.term += 1;
        let office = LeaderEpoch {
            node: NodeId(1 + self.dice.below(3)),
            incarnation: 1,
            term: Term(self.term),
            ledger: None,
            leaderless_since: None,
        };
        let command = self.command(Body::LeaderEpoch(office));
        self.commit(command);
        self.epoch = Epoch(self.machine.applied().0);
        self.planner = Planner::new(self.options);
    }

    fn plan_tick(&mut self) -> Option<Command> {
        let tick = self.planner.tick(&self.machine, self.log_time())?;
        Some(self.command(Body::Tick(tick)))
    }

    fn tick(&mut self) {
        while let Some(look) = self.planner.refresh(&self.machine) {
            let command = self.command(look);
            self.commit(command);
        }
        while let Some(command) = self.plan_tick() {
            self.commit(command);
        }
    }

    /// Does what a user wants at exactly that instant, planning again when it raced.
    fn grant(&mut self, wish: &Wish) {
        self.now = wish.at;
        loop {
            let at = self.log_time();
            let wanted = Wanted {
                name: wish.name.clone(),
                condition: Condition::None,
                request: Request { by: "ann".into(), key: None },
            };
            let body = match &wish.want {
                Want::Put(definition) => {
                    self.planner.put(&self.machine, at, wanted, definition.clone()).unwrap()
                }
                Want::Delete => self.planner.delete(&self.machine, at, wanted),
                Want::Pause { until } => self.planner.pause(
                    &self.machine,
                    at,
                    wanted,
                    PauseUntil { note: "".into(), until: *until },
                ),
                Want::Resume => self.planner.resume(&self.machine, at, wanted, ResumeFrom::Now),
                Want::Queue(body) => Body::clone(body),
                Want::Again(again) => match self.plan_again(wanted, again) {
                    Ok(body) => body,
                    Err(_) => return,
                },
            };
            let command = self.command(body);
            if self.commit(command) != Reply::Rejected(Rejection::Raced) {
                return;
            }
        }
    }

    fn log_time(&self) -> Timestamp {
        self.now.max(self.machine.clock())
    }

    fn command(&self, body: Body) -> Command {
        Command { at: self.log_time(), epoch: self.epoch, body }
    }

    fn commit(&mut self, command: Command) -> Reply {
        let index = LogIndex(self.machine.applied().0 + 1);
        let (reply, rows) = self.machine.apply(index, &command);
        invariant::check(&self.machine).unwrap();
        self.fired.read(&rows);
        self.leases.read(&rows);
        self.count(&rows);
        self.rows.extend(rows);
        self.log.push((index, command));
        reply
    }

    fn count(&mut self, rows: &[Row]) {
        for row in rows {
            let kind = match &row.event {
                Event::Fired { kind, .. } => kind.as_str(),
                Event::Begun { lease, .. } if matches!(lease.holder, Holder::Worker(_)) => "leased",
                Event::Settled { outcome: Outcome::End { state: EndState::TimedOut, .. }, .. } => "timed_out",
                Event::ChainDropped { .. } => "chain_dropped",
                _ => continue,
            };
            *self.told.entry(kind).or_default() += 1;
        }
    }
}
