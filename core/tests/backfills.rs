//! Backfills, re-runs and marks: bounds, and commands that no planner would make. Their course is in `testscripts/`.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use campanile_core::backfill::{BackfillPlan, FIRES_PER_STEP, INSTANTS_PER_STEP, KEPT_ENDED, MAX_RUNNING};
use campanile_core::command::{
    Body, CancelBackfill, Command, Condition, LeaderEpoch, Request, Rerun, SetMark, Skip, StepBackfill,
};
use campanile_core::definition::{Definition, Overlap, ScheduleName, Target, Webhook};
use campanile_core::event::SkipReason;
use campanile_core::firing::{FiringId, Kind};
use campanile_core::id::{BackfillId, Epoch, LogIndex, NodeId, Revision, Run, Term, Uid};
use campanile_core::machine::Machine;
use campanile_core::plan::{Counts, Options, Past, Planner, Refusal, Wanted};
use campanile_core::reply::{Rejection, Reply};
use campanile_core::spec::Spec;
use campanile_core::time::{Span, Timestamp};

/// Everything up to an instant has fired.
struct FiredUpTo(Timestamp);

impl Past for FiredUpTo {
    fn runs(&self, _: Uid, after: Timestamp, until: Timestamp) -> BTreeMap<Timestamp, Run> {
        let (first, last) = (after.as_millis() / 1000 + 1, until.min(self.0).as_millis() / 1000);
        (first..=last).map(|second| (at(second), Run(0))).collect()
    }
}

const NOTHING: FiredUpTo = FiredUpTo(Timestamp::EPOCH);

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(second * 1000)
}

fn name(text: &str) -> ScheduleName {
    ScheduleName::parse(text).unwrap()
}

fn request() -> Request {
    Request { by: "ann".into(), key: None }
}

fn wanted(text: &str) -> Wanted {
    Wanted { name: name(text), condition: Condition::None, request: request() }
}

fn range(after: i64, until: i64) -> BackfillPlan {
    BackfillPlan {
        after: at(after),
        until: at(until),
        again: false,
        overlap: Overlap::Allow,
        pace: Span::ZERO,
        max_live: 1_000_000,
    }
}

fn every(seconds: u64) -> Spec {
    Spec::Every { every: Span::from_secs(seconds), anchor: Timestamp::EPOCH }
}

/// A machine with a leader, at one instant.
struct World {
    machine: Machine,
    planner: Planner,
    now: Timestamp,
}

impl World {
    fn at(now: Timestamp) -> Self {
        let mut machine = Machine::default();
        let office = LeaderEpoch {
            node: NodeId(1),
            incarnation: 1,
            term: Term(1),
            ledger: None,
            leaderless_since: None,
        };
        machine.apply(LogIndex(1), &Command { at: now, epoch: Epoch(0), body: Body::LeaderEpoch(office) });
        Self { machine, planner: Planner::new(Options::default()), now }
    }

    fn commit(&mut self, body: Body) -> Reply {
        let index = LogIndex(self.machine.applied().0 + 1);
        let (reply, _) = self.machine.apply(index, &Command { at: self.now, epoch: Epoch(1), body });
        reply
    }

    fn put(&mut self, text: &str, specs: Vec<Spec>) -> Uid {
        let target = Target::Webhook(Box::new(Webhook::new("http://receiver")));
        let definition = Arc::new(Definition::new(specs, target));
        let body = self.planner.put(&self.machine, self.now, wanted(text), definition).unwrap();
        self.commit(body);
        self.machine.named(&name(text)).unwrap().uid
    }

    fn backfill(&mut self, text: &str, plan: BackfillPlan) -> Reply {
        let body =
            self.planner.create_backfill(&self.machine, self.now, wanted(text), plan, &NOTHING).unwrap();
        self.commit(body)
    }

    fn plan_step(&mut self, past: &dyn Past) -> StepBackfill {
        self.planner.step_backfills(&self.machine, self.now, past, 1).remove(0)
    }

    fn count(&mut self, text: &str, plan: BackfillPlan, past: &dyn Past) -> Result<Counts, Refusal> {
        self.planner.count_backfill(&self.machine, self.now, &name(text), plan, past)
    }

    /// Nothing but the log's place and time is another after that.
    fn assert_unmoved_by(&mut self, body: &Body, reply: &Reply) {
        let before = self.machine.clone();
        assert_eq!(&self.commit(body.clone()), reply, "{body:?}");
        let mut expected = before;
        expected.pass(self.machine.applied());
        assert_eq!(expected, self.machine, "{body:?}");
    }
}

#[test]
fn a_step_is_a_bounded_batch_of_what_fires_and_of_what_is_passed_over() {
    let mut world = World::at(at(20_000));
    world.put("job", vec![every(1)]);
    world.backfill("job", range(10_000, 20_000));
    let past = FiredUpTo(at(19_000));
    let (mut steps, mut fired, mut passed) = (0, 0, 0);
    while !world.planner.step_backfills(&world.machine, world.now, &past, 9).is_empty() {
        let step = world.plan_step(&past);
        assert!(step.fire.len() <= FIRES_PER_STEP);
        assert!(step.fire.len() as u64 + step.passed <= INSTANTS_PER_STEP as u64);
        (steps, fired, passed) = (steps + 1, fired + step.fire.len(), passed + step.passed);
        assert_eq!(world.commit(Body::StepBackfill(step)), Reply::Stepped(true));
        campanile_core::invariant::check(&world.machine).unwrap();
    }
    assert_eq!((steps, fired, passed), (9_000 / 500 + 1_000 / 100, 1_000, 9_000));
}

#[test]
fn a_dry_run_counts_what_the_steps_do() {
    let mut world = World::at(at(100_000));
    world.put("job", vec![every(3), every(5)]);
    // 30,000 instants and more than one reading of the ledger.
    let counts = world.count("job", range(10_000, 74_285), &FiredUpTo(at(50_000))).unwrap();
    let walked = |from: i64, to: i64| (from + 1..=to).filter(|n| n % 3 == 0 || n % 5 == 0).count() as u64;
    assert_eq!(counts.instants, walked(10_000, 74_285));
    assert_eq!((counts.passed, counts.would_fire), (walked(10_000, 50_000), walked(50_000, 74_285)));
}

#[test]
fn a_range_of_too_many_instants_is_refused_in_no_time() {
    let mut world = World::at(at(1_767_225_600));
    world.put("computed", vec![every(1)]);
    world.put("walked", vec![every(1), every(7)]);
    for text in ["computed", "walked"] {
        let counts = world.count(text, range(0, 1_767_225_600), &NOTHING);
        assert_eq!(counts, Err(Refusal::TooMany(1_000_000)), "{text}");
    }
    let far = world.planner.count_mark(&world.machine, world.now, &name("walked"), at(1 << 40), &NOTHING);
    assert_eq!(far, Err(Refusal::TooMany(1_000_000)));
}

#[test]
fn running_backfills_are_bounded_and_those_that_ended_longest_ago_are_forgotten() {
    let mut world = World::at(at(1_000));
    let mut ids = Vec::new();
    for n in 0..=MAX_RUNNING {
        let text = format!("job-{n}");
        world.put(&text, vec![every(1)]);
        match world.backfill(&text, range(900, 1_000)) {
            Reply::Backfill(id) => ids.push(id),
            refused => {
                assert_eq!(n, MAX_RUNNING);
                let Reply::Rejected(Rejection::Limit(words)) = refused else { panic!("{refused:?}") };
                assert!(words.contains("cancel one"), "{words}");
            }
        }
    }
    let cancel = |id| Body::CancelBackfill(CancelBackfill { id, request: request() });
    for id in &ids {
        world.commit(cancel(*id));
    }
    assert_eq!(world.machine.backfills().count(), KEPT_ENDED);
    let Reply::Backfill(last) = world.backfill("job-0", range(900, 1_000)) else { panic!("there is room") };
    world.commit(cancel(last));
    assert_eq!(world.machine.backfills().count(), KEPT_ENDED);
    assert!(world.machine.backfill(ids[0]).is_none() && world.machine.backfill(last).is_some());
    campanile_core::invariant::check(&world.machine).unwrap();
}

#[test]
fn steps_that_no_planner_would_make_change_nothing() {
    let mut world = World::at(at(1_000));
    let uid = world.put("job", vec![every(10)]);
    world.backfill("job", BackfillPlan { max_live: 3, ..range(900, 990) });
    let good = world.plan_step(&NOTHING);
    assert_eq!(good.fire.len(), 3);
    let fire = |fire: &[(i64, u32)]| fire.iter().map(|(n, run)| (at(*n), Run(*run))).collect::<Vec<_>>();
    let step = |change: &dyn Fn(&mut StepBackfill)| {
        let mut step = good.clone();
        change(&mut step);
        step
    };
    let bad = [
        step(&|step| step.id = BackfillId(99)),
        step(&|step| step.after = at(910)),
        step(&|step| step.after = at(895)),
        step(&|step| step.revision = Revision(2)),
        step(&|step| step.rules_at = LogIndex(7)),
        step(&|step| step.refired = 1),
        step(&|step| step.to = at(1_000)),
        step(&|step| step.to = step.after),
        step(&|step| step.done = true),
        step(&|step| step.fire = fire(&[(910, 0), (910, 0)])),
        step(&|step| step.fire = fire(&[(920, 0), (910, 0)])),
        step(&|step| step.fire = fire(&[(900, 0)])),
        step(&|step| step.fire = fire(&[(940, 0)])),
        step(&|step| step.fire = fire(&[(910, 1)])),
        step(&|step| step.fire = fire(&[(910, 0), (915, 0), (920, 0), (930, 0)])),
    ];
    for step in bad {
        world.assert_unmoved_by(&Body::StepBackfill(step), &Reply::Stepped(false));
    }
    assert_eq!(world.commit(Body::StepBackfill(good.clone())), Reply::Stepped(true));
    world.assert_unmoved_by(&Body::StepBackfill(good), &Reply::Stepped(false));
    assert_eq!(world.machine.live_of(uid).count(), 3);
}

#[test]
fn reruns_and_marks_that_no_planner_would_make_change_nothing() {
    let mut world = World::at(at(1_000));
    let uid = world.put("job", vec![every(10)]);
    let id = |nominal, run| FiringId { uid, nominal: at(nominal), run: Run(run) };
    let raced = Reply::Rejected(Rejection::Raced);
    let rerun = |firing, kind, refired| {
        Body::Rerun(Rerun { firing, kind, refired, payload: None, overlap: None, request: request() })
    };
    world.commit(rerun(id(990, 0), Kind::Manual, 0));
    for (firing, kind, refired) in [
        (id(990, 0), Kind::Manual, 1),
        (id(980, 0), Kind::Manual, 0),
        (id(1_010, 0), Kind::Manual, 1),
        (id(1_010, 1), Kind::Rerun, 1),
    ] {
        world.assert_unmoved_by(&rerun(firing, kind, refired), &raced);
    }
    for kind in [Kind::Scheduled, Kind::CatchUp, Kind::Backfill(BackfillId(1))] {
        let reply = world.commit(rerun(id(980, 0), kind, 1));
        assert!(matches!(reply, Reply::Rejected(Rejection::Invalid(_))), "{reply:?}");
    }
    let mut ahead = |change: &dyn Fn(&mut SetMark)| {
        let planned =
            world.planner.set_mark(&world.machine, at(1_000), wanted("job"), at(1_030), &NOTHING).unwrap();
        let Body::SetMark(mut command) = planned else { panic!("it skips ahead") };
        change(&mut command);
        world.assert_unmoved_by(&Body::SetMark(command), &raced);
    };
    let skip = |from, to| Some(Skip { reason: SkipReason::Superseded, from: at(from), to: at(to), count: 1 });
    ahead(&|command| command.to = at(1_000));
    ahead(&|command| command.next_at = Some(at(1_030)));
    ahead(&|command| command.skip = skip(1_000, 1_010));
    ahead(&|command| command.skip = skip(1_010, 1_040));
    ahead(&|command| command.skip = skip(1_020, 1_010));
    ahead(&|command| command.before = None);
    ahead(&|command| command.seen = None);
}
