//! Plans against machines: what a transcript would be too long or too short for.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use campanile_core::command::{Body, Command, Condition, LeaderEpoch, PutSchedule, Request, Tick};
use campanile_core::cron::{DayMatch, DstGap, DstOverlap, parse_instant};
use campanile_core::definition::{CatchUp, CatchUpMode, Definition, Policy, ScheduleName, Target, Webhook};
use campanile_core::event::SkipReason;
use campanile_core::firing::Kind;
use campanile_core::id::{Epoch, LogIndex, NodeId, Term};
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, Planner, Wanted};
use campanile_core::schedule::State;
use campanile_core::spec::{CronSpec, Spec};
use campanile_core::time::{Span, Timestamp};

fn definition(spec: Spec, catch_up: CatchUp) -> Arc<Definition> {
    let target = Target::Webhook(Box::new(Webhook::new("http://receiver")));
    let policy = Arc::new(Policy { catch_up, ..Policy::default() });
    Arc::new(Definition { policy, ..Definition::new(vec![spec], target) })
}

fn cron(text: &str, time_zone: &str) -> Spec {
    Spec::Cron(Box::new(CronSpec {
        text: text.into(),
        time_zone: time_zone.into(),
        day_match: DayMatch::Any,
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    }))
}

fn unlimited(mode: CatchUpMode) -> CatchUp {
    CatchUp { mode, window: None }
}

fn request() -> Request {
    Request { by: "ann".into(), key: None }
}

/// A machine with a leader, and what one needs to go on with it.
struct World {
    machine: Machine,
    planner: Planner,
    epoch: Epoch,
}

impl World {
    fn at(at: Timestamp) -> Self {
        let mut machine = Machine::default();
        let office = LeaderEpoch {
            node: NodeId(1),
            incarnation: 1,
            term: Term(1),
            ledger: None,
            leaderless_since: None,
        };
        machine.apply(LogIndex(1), &Command { at, epoch: Epoch(0), body: Body::LeaderEpoch(office) });
        Self { machine, planner: Planner::new(Options::default()), epoch: Epoch(1) }
    }

    fn commit(&mut self, at: Timestamp, body: Body) {
        let index = LogIndex(self.machine.applied().0 + 1);
        self.machine.apply(index, &Command { at, epoch: self.epoch, body });
    }

    fn put(&mut self, at: Timestamp, name: &str, definition: Arc<Definition>) {
        let name = ScheduleName::parse(name).unwrap();
        let wanted = Wanted { name, condition: Condition::None, request: request() };
        let body = self.planner.put(&self.machine, at, wanted, definition).unwrap();
        self.commit(at, body);
    }

    /// A definition that no edge would let through, as a damaged or foreign image might hold it.
    fn smuggle(&mut self, at: Timestamp, name: &str, definition: Arc<Definition>, next_at: Timestamp) {
        self.commit(
            at,
            Body::PutSchedule(PutSchedule {
                name: ScheduleName::parse(name).unwrap(),
                definition,
                condition: Condition::None,
                seen: None,
                before: None,
                since: at,
                next_at: Some(next_at),
                rules_at: LogIndex(0),
                request: request(),
            }),
        );
    }

    fn tick(&mut self, now: Timestamp) -> Option<Tick> {
        let tick = self.planner.tick(&self.machine, now)?;
        self.commit(now, Body::Tick(tick.clone()));
        campanile_core::invariant::check(&self.machine).unwrap();
        Some(tick)
    }

    fn state(&self, name: &str) -> State {
        self.machine.named(&ScheduleName::parse(name).unwrap()).unwrap().state.clone()
    }
}

fn instant(text: &str) -> Timestamp {
    parse_instant(text).unwrap()
}

#[test]
fn a_year_of_missed_seconds_is_counted_and_only_a_bounded_number_fires() {
    let (start, now) = (instant("2025-01-01T00:00:00Z"), instant("2026-01-01T00:00:00Z"));
    for spec in
        [cron("* * * * * *", "UTC"), Spec::Every { every: Span::from_secs(1), anchor: Timestamp::EPOCH }]
    {
        let mut world = World::at(start);
        world.put(start, "job", definition(spec, unlimited(CatchUpMode::All)));
        let tick = world.tick(now).unwrap();
        let decision = &tick.decisions[0];
        let limit = &decision.skips[0];
        assert_eq!((decision.skips.len(), limit.reason), (1, SkipReason::Limit));
        let caught_up = decision.fire.iter().filter(|fire| fire.kind == Kind::CatchUp).count();
        assert_eq!(caught_up, 1_000);
        assert_eq!(limit.count + decision.fire.len() as u64, 365 * 86_400, "every instant is accounted for");
        assert_eq!(decision.mark, now);
    }
}

#[test]
fn a_spec_that_cannot_be_evaluated_parks_its_schedule_and_no_other() {
    let start = instant("2026-01-01T00:00:00Z");
    let mut world = World::at(start);
    world.put(start, "good", definition(cron("* * * * *", "UTC"), CatchUp::default()));
    let bad = [
        ("no-cron", cron("bogus", "UTC")),
        ("no-zone", cron("* * * * *", "Mars/Olympus")),
        ("never", cron("0 0 30 2 *", "UTC")),
    ];
    for (name, spec) in bad.clone() {
        world.smuggle(start, name, definition(spec, CatchUp::default()), start + Span::from_secs(60));
    }
    let tick = world.tick(start + Span::from_secs(60)).unwrap();
    assert_eq!((tick.on_time.len(), tick.decisions.len()), (1, 3));
    assert_eq!(world.state("good"), State::Active);
    for (name, _) in bad {
        assert!(matches!(world.state(name), State::Parked { .. }), "{name}");
        world.put(
            start + Span::from_secs(61),
            name,
            definition(cron("* * * * *", "UTC"), CatchUp::default()),
        );
        assert_eq!(world.state(name), State::Active, "an edit releases {name}");
    }
}

#[test]
fn a_tick_is_a_bounded_batch_and_the_rest_follows_at_once() {
    let start = instant("2026-01-01T00:00:00Z");
    let mut world = World::at(start);
    let every = Spec::Every { every: Span::from_secs(10), anchor: Timestamp::EPOCH };
    for n in 0..4_000 {
        world.put(start, &format!("job-{n}"), definition(every.clone(), CatchUp::default()));
    }
    let now = start + Span::from_secs(10);
    let sizes: Vec<usize> = std::iter::from_fn(|| world.tick(now)).map(|tick| tick.on_time.len()).collect();
    assert_eq!(sizes, [3_000, 1_000]);
}
