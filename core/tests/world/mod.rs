//! A world in which a history of users' wishes is lived through: leaders, ticks, restarts and clocks by dice.

mod again;
mod decided;
mod dice;

use std::sync::Arc;

use campanile_core::attempt::{Holder, Report, Verdict};
use campanile_core::command::{BeginItem, Body, Command, Condition, LeaderEpoch, Request, SettleItem, Work};
use campanile_core::cron::{DayMatch, DstGap, DstOverlap};
use campanile_core::definition::{
    CatchUp, Definition, Overlap, Policy, ScheduleName, Target, Webhook,
};
use campanile_core::event::Row;
use campanile_core::id::{AttemptNumber, Epoch, LogIndex, NodeId, Term};
use campanile_core::invariant;
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, PauseUntil, Planner, ResumeFrom, Wanted};
use campanile_core::query;
use campanile_core::reply::{Rejection, Reply};
use campanile_core::spec::{CronSpec, Spec};
use campanile_core::time::{Span, Timestamp};

use again::{Again, Fired};
pub use decided::Decided;
use decided::decided;
pub use dice::Dice;

/// What a user wants at an instant.
pub struct Wish {
    at: Timestamp,
    name: ScheduleName,
    want: Want,
}

enum Want {
    Put(Arc<Definition>),
    Delete,
    Pause { until: Option<Timestamp> },
    Resume,
    Again(Again),
}

/// Twenty minutes over a change of daylight saving in Berlin, a few schedules, forty wishes.
pub fn history(dice: &mut Dice) -> Vec<Wish> {
    let start = 1_774_745_400_000; // 2026-03-29T00:50:00Z, ten minutes before the gap
    let mut at = start;
    let mut wishes = Vec::new();
    for _ in 0..60 {
        at += dice.below(60_000) as i64;
        let name = ScheduleName::parse(&format!("job-{}", dice.below(5))).unwrap();
        let want = match dice.below(16) {
            0 => Want::Delete,
            1 => Want::Pause { until: dice.one_in(2).then(|| Timestamp::from_millis(at + 45_000)) },
            2 | 3 => Want::Resume,
            4..=8 => Want::Again(Again::by(dice)),
            _ => Want::Put(definition(dice)),
        };
        wishes.push(Wish { at: Timestamp::from_millis(at), name, want });
    }
    wishes
}

fn definition(dice: &mut Dice) -> Arc<Definition> {
    let every = |secs| Spec::Every { every: Span::from_secs(secs), anchor: Timestamp::EPOCH };
    let specs = match dice.below(4) {
        0 => vec![every(1 + dice.below(20))],
        1 => vec![cron("*/7 * * * * *")],
        2 => vec![cron("*/1 2,3 * * *")],
        _ => vec![every(13), cron("30 * * * * *")],
    };
    let webhook = Webhook { timeout: Span::from_secs(1), ..Webhook::new("http://receiver") };
    let target = Target::Webhook(Box::new(webhook));
    Arc::new(Definition {
        policy: Arc::new(Policy {
            overlap: if dice.one_in(3) { Overlap::Skip } else { Overlap::Allow },
            catch_up: CatchUp::default(),
            ..Policy::default()
        }),
        ..Definition::new(specs, target)
    })
}

fn cron(text: &str) -> Spec {
    Spec::Cron(Box::new(CronSpec {
        text: text.into(),
        time_zone: "Europe/Berlin".into(),
        day_match: DayMatch::Any,
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    }))
}

/// A machine, its log and ledger, and how rough life is.
pub struct World {
    pub machine: Machine,
    pub log: Vec<(LogIndex, Command)>,
    pub rows: Vec<Row>,
    dice: Dice,
    rough: bool,
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
}

impl World {
    pub fn calm(seed: u64) -> Self {
        Self::new(Dice::of(seed ^ 1), false)
    }

    pub fn rough(seed: u64) -> Self {
        Self::new(Dice::of(seed ^ 2), true)
    }

    fn new(dice: Dice, rough: bool) -> Self {
        Self {
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
        }
    }

    /// Lives through all wishes and a minute more; answers every instant that was decided.
    pub fn live_through(&mut self, history: &[Wish]) -> Vec<Decided> {
        self.now = history[0].at - Span::from_secs(1);
        self.take_office();
        for wish in history {
            self.wait_until(wish.at);
            self.grant(wish);
        }
        self.wait_until(history[history.len() - 1].at + Span::from_secs(60));
        self.tick();
        decided(&self.rows)
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
        let office =
            LeaderEpoch { node: NodeId(1 + self.dice.below(3)), incarnation: 1, term: Term(self.term) };
        let command = self.command(Body::LeaderEpoch(office));
        self.commit(command);
        self.epoch = Epoch(self.machine.applied().0);
        self.planner = Planner::new(Options::default());
    }

    fn plan_tick(&mut self) -> Option<Command> {
        let tick = self.planner.tick(&self.machine, self.log_time())?;
        Some(self.command(Body::Tick(tick)))
    }

    fn tick(&mut self) {
        while let Some(command) = self.plan_tick() {
            self.commit(command);
        }
    }

    /// Begins and settles some of the work, in calm life all of it.
    fn work(&mut self) {
        let at = self.log_time();
        let ttl = Span::from_secs(2);
        let items: Vec<BeginItem> = query::work_now(&self.machine, at)
            .into_iter()
            .take(if self.rough { self.dice.below(4) as usize } else { 100 })
            .map(|firing| BeginItem { firing: firing.id, attempt: AttemptNumber(firing.attempt.0 + 1), ttl })
            .collect();
        if items.is_empty() {
            return;
        }
        let begin = self.command(Body::Work(Work::begin(Holder::Node(NodeId(1)), items.clone())));
        self.commit(begin);
        let lost = self.rough && self.dice.one_in(4);
        if !lost {
            let item = |item: BeginItem| SettleItem {
                firing: item.firing,
                attempt: item.attempt,
                report: Report {
                    verdict: Verdict::Succeeded,
                    sent_at: at,
                    status: Some(200),
                    error: "".into(),
                    output: "".into(),
                },
            };
            let settle = self.command(Body::Work(Work::settle(items.into_iter().map(item).collect())));
            self.commit(settle);
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
        self.rows.extend(rows);
        self.log.push((index, command));
        reply
    }
}
