//! Each mutant of this room beside the product: the same commands, and what becomes of them.

use std::sync::Arc;

use super::{Mutant, as_replica, with};
use crate::attempt::{Holder, Report, Verdict};
use crate::command::{
    BeginItem, Body, Command, Condition, LeaderEpoch, Request, RequestKey, SettleItem, Tick, Work,
};
use crate::definition::{Definition, ScheduleName, Target, Webhook};
use crate::event::{Event, Row};
use crate::firing::{EndState, Firing, Phase};
use crate::id::{AttemptNumber, Epoch, LogIndex, NodeId, Term};
use crate::image::Image;
use crate::machine::Machine;
use crate::plan::{Options, Planner, Wanted};
use crate::reply::{Fingerprint, Refused, Rejection, Reply, SettledNow, Ticked};
use crate::spec::Spec;
use crate::time::{Span, Timestamp};

const MINUTE: i64 = 60_000;
/// No instant of a schedule, so that what is made then has no mark that is one.
const BEGIN: i64 = 1_000;

/// A machine with a leader, and schedules that are due every minute.
struct World {
    machine: Machine,
    planner: Planner,
    rows: Vec<Row>,
}

impl World {
    fn of(schedules: usize) -> Self {
        let mut world = Self { machine: Machine::default(), planner: planner(), rows: Vec::new() };
        world.take_office();
        for n in 0..schedules {
            let body = world.put(&format!("s{n}"), None);
            world.commit(BEGIN, body);
        }
        world
    }

    /// By another leader: its planner has decided nothing yet.
    fn take_office(&mut self) {
        self.planner = planner();
        let term = Term(self.machine.office().term.0 + 1);
        let take =
            LeaderEpoch { node: NodeId(1), incarnation: 1, term, ledger: None, leaderless_since: None };
        self.commit(self.machine.clock().as_millis().max(BEGIN), Body::LeaderEpoch(take));
    }

    fn put(&mut self, name: &str, key: Option<RequestKey>) -> Body {
        let wanted = Wanted {
            name: ScheduleName::parse(name).expect("a name"),
            condition: Condition::None,
            request: Request { by: "ann".into(), key },
        };
        self.planner.put(&self.machine, self.machine.clock(), wanted, definition()).expect("a good spec")
    }

    fn commit(&mut self, at: i64, body: Body) -> Reply {
        let epoch = self.machine.epoch();
        self.commit_as(epoch, at, body)
    }

    fn commit_as(&mut self, epoch: Epoch, at: i64, body: Body) -> Reply {
        let index = LogIndex(self.machine.applied().0 + 1);
        let command = Command { at: Timestamp::from_millis(at), epoch, body };
        let (reply, rows) = self.machine.apply(index, &command);
        self.rows.extend(rows);
        reply
    }

    fn plan(&mut self, at: i64) -> Option<Tick> {
        self.planner.tick(&self.machine, Timestamp::from_millis(at))
    }

    /// What is due is decided; answers how many fired.
    fn tick(&mut self, at: i64) -> u32 {
        let Some(tick) = self.plan(at) else { return 0 };
        match self.commit(at, Body::Tick(tick)) {
            Reply::Ticked(Ticked { fired, .. }) => fired,
            other => panic!("a tick was answered {other:?}"),
        }
    }

    fn firing(&self) -> Arc<Firing> {
        Arc::clone(self.machine.live().next().expect("one is live"))
    }

    /// The next attempt of the one live firing begins.
    fn begin(&mut self, at: i64) {
        let firing = self.firing();
        let attempt = AttemptNumber(firing.attempt.0 + 1);
        let item = BeginItem { firing: firing.id, attempt, ttl: Span::from_secs(10) };
        self.commit(at, Body::Work(Work::begin(Holder::Node(NodeId(1)), vec![item])));
        assert!(self.firing().lease().is_some(), "it has begun");
    }

    fn settle(&mut self, at: i64, attempt: u32, verdict: Verdict) -> Result<SettledNow, Refused> {
        let report = Report {
            verdict,
            sent_at: Timestamp::from_millis(at),
            status: None,
            error: "".into(),
            output: "".into(),
        };
        let item = SettleItem { firing: self.firing().id, attempt: AttemptNumber(attempt), report };
        match self.commit(at, Body::Work(Work::settle(vec![item]))) {
            Reply::Worked(worked) => worked.settled[0],
            other => panic!("a report was answered {other:?}"),
        }
    }
}

fn planner() -> Planner {
    Planner::new(Options::default())
}

fn definition() -> Arc<Definition> {
    let webhook = Webhook { timeout: Span::from_secs(1), ..Webhook::new("http://receiver") };
    let every = Spec::Every { every: Span::from_secs(60), anchor: Timestamp::EPOCH };
    Arc::new(Definition::new(vec![every], Target::Webhook(Box::new(webhook))))
}

/// What the product does, and what this mutant does.
fn both<T>(mutant: Mutant, run: impl Fn() -> T) -> (T, T) {
    (with(None, &run), with(Some(mutant), &run))
}

#[test]
fn a_mutant_without_duplicate_refusal_fires_twice_after_a_failover() {
    let fired = || {
        let mut world = World::of(1);
        assert_eq!(world.tick(MINUTE), 1);
        world.begin(MINUTE);
        let settled = world.settle(MINUTE, 1, Verdict::Succeeded);
        assert_eq!(settled, Ok(SettledNow::End(EndState::Succeeded)));
        world.take_office();
        world.tick(2 * MINUTE);
        let fired = |row: &Row| match row.event {
            Event::Fired { firing, .. } => Some(firing.nominal.as_millis()),
            _ => None,
        };
        world.rows.iter().filter_map(fired).collect::<Vec<_>>()
    };
    let (right, wrong) = both(Mutant::NoDuplicateRefusal, fired);
    assert_eq!((right, wrong), (vec![MINUTE, 2 * MINUTE], vec![MINUTE, MINUTE]));
}

#[test]
fn a_mutant_without_epoch_check_obeys_a_leader_of_before() {
    let answer = || {
        let mut world = World::of(1);
        let (before, tick) = (world.machine.epoch(), world.plan(MINUTE).expect("it is due"));
        world.take_office();
        world.commit_as(before, MINUTE, Body::Tick(tick))
    };
    let (right, wrong) = both(Mutant::NoEpochCheck, answer);
    assert!(matches!(right, Reply::Rejected(Rejection::StaleEpoch(_))), "{right:?}");
    assert!(matches!(wrong, Reply::Ticked(Ticked { fired: 1, .. })), "{wrong:?}");
}

#[test]
fn a_mutant_that_moves_marks_early_loses_the_tick_of_a_lost_proposal() {
    let fired = || {
        let mut world = World::of(1);
        assert!(world.plan(MINUTE).is_some(), "planned, proposed, and lost");
        world.take_office();
        let again = world.tick(MINUTE + 1_000);
        (again, world.tick(2 * MINUTE), world.rows.iter().filter(|row| is_fired(row)).count())
    };
    let (right, wrong) = both(Mutant::MarkBeforeCommit, fired);
    assert_eq!((right, wrong), ((1, 1, 2), (0, 1, 1)));
}

fn is_fired(row: &Row) -> bool {
    matches!(row.event, Event::Fired { .. })
}

#[test]
fn a_mutant_with_hash_order_tells_the_same_tick_differently_on_another_replica() {
    let told = |replica| {
        let mut world = World::of(8);
        assert_eq!(as_replica(replica, || world.tick(MINUTE)), 8);
        world.rows
    };
    let (right, wrong) = both(Mutant::HashOrderInApply, || told(1) == told(2));
    assert_eq!((right, wrong), (true, false));
    let (right, wrong) = both(Mutant::HashOrderInApply, || told(1) == told(1));
    assert_eq!((right, wrong), (true, true), "a seed tells the same story again");
}

#[test]
fn a_mutant_without_fencing_takes_the_report_of_an_attempt_that_is_over() {
    let settled = || {
        let mut world = World::of(1);
        world.tick(MINUTE);
        world.begin(MINUTE);
        let retry = world.settle(MINUTE, 1, Verdict::Broken);
        assert!(matches!(retry, Ok(SettledNow::Retry(_))), "{retry:?}");
        world.begin(MINUTE + 5_000);
        world.settle(MINUTE + 5_000, 1, Verdict::Succeeded)
    };
    let (right, wrong) = both(Mutant::SettleWithoutFencing, settled);
    assert_eq!((right, wrong), (Err(Refused::OtherAttempt), Ok(SettledNow::End(EndState::Succeeded))));
}

#[test]
fn a_mutant_that_forgets_keys_acts_again_after_a_failover() {
    let key = || RequestKey {
        text: "once".into(),
        fingerprint: Fingerprint::default(),
        keep: Span::from_secs(3_600),
    };
    let remembered = || {
        let mut world = World::of(0);
        let body = world.put("keyed", Some(key()));
        world.commit(BEGIN, body);
        world.take_office();
        world.machine.requests().len()
    };
    assert_eq!(both(Mutant::KeysForgottenAtFailover, remembered), (1, 0));
}

#[test]
fn a_mutant_with_its_retries_in_memory_sends_at_once_when_it_starts_again() {
    let waits = || {
        let mut world = World::of(1);
        world.tick(MINUTE);
        world.begin(MINUTE);
        world.settle(MINUTE, 1, Verdict::Broken).expect("it is the one that runs");
        world.machine = Image::of(&world.machine).into_machine().expect("a good image");
        match world.firing().phase {
            Phase::Waiting { until } => until > world.machine.clock(),
            ref other => panic!("it is {other:?}"),
        }
    };
    assert_eq!(both(Mutant::RetryWaitInMemory, waits), (true, false));
}
