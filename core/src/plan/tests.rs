//! What one schedule does to others when it cannot be planned.

use std::sync::Arc;

use super::*;
use crate::command::{Body, Command, Condition, LeaderEpoch, Request};
use crate::cron::{DayMatch, DstGap, DstOverlap};
use crate::definition::{ScheduleName, Target, Webhook};
use crate::id::{Epoch, NodeId, Term};
use crate::machine::Machine;
use crate::spec::{CronSpec, Spec};

fn commit(machine: &mut Machine, at: Timestamp, body: Body) {
    let index = LogIndex(machine.applied().0 + 1);
    machine.apply(index, &Command { at, epoch: machine.epoch(), body });
}

fn definition(spec: Spec) -> Arc<Definition> {
    let webhook = Webhook { timeout: Span::from_secs(1), ..Webhook::new("http://receiver") };
    Arc::new(Definition::new(vec![spec], Target::Webhook(Box::new(webhook))))
}

/// A machine with a leader in office and these schedules, each due every ten seconds.
fn machine_with(names: &[ScheduleName], planner: &mut Planner, specs: &[Spec]) -> Machine {
    let mut machine = Machine::default();
    let take =
        LeaderEpoch { node: NodeId(1), incarnation: 1, term: Term(1), ledger: None, leaderless_since: None };
    commit(&mut machine, Timestamp::EPOCH, Body::LeaderEpoch(take));
    assert_eq!(machine.epoch(), Epoch(1));
    for (name, spec) in names.iter().zip(specs) {
        let request = Request { by: "ann".into(), key: None };
        let wanted = Wanted { name: name.clone(), condition: Condition::None, request };
        let body = planner
            .put(&machine, Timestamp::EPOCH, wanted, definition(spec.clone()))
            .expect("it can be evaluated");
        commit(&mut machine, Timestamp::EPOCH, body);
    }
    machine
}

fn tick_until(machine: &mut Machine, planner: &mut Planner, ends: [i64; 2]) {
    for now in ends.map(Timestamp::from_millis) {
        while let Some(tick) = planner.tick(machine, now) {
            commit(machine, now, Body::Tick(tick));
        }
    }
}

fn every_ten_seconds() -> Spec {
    Spec::Every { every: Span::from_secs(10), anchor: Timestamp::EPOCH }
}

fn cron_in(time_zone: &str) -> Spec {
    Spec::Cron(Box::new(CronSpec {
        text: "*/10 * * * * *".into(),
        time_zone: time_zone.into(),
        day_match: DayMatch::Any,
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    }))
}

#[test]
fn a_panic_while_planning_one_schedule_parks_it_and_no_other() {
    let mut planner = Planner::new(Options::default());
    let names = ["a", "poison", "z"].map(|name| ScheduleName::parse(name).expect("a name"));
    let mut machine = machine_with(&names, &mut planner, &[(); 3].map(|()| every_ten_seconds()));
    planner.poison = machine.named(&names[1]).map(|schedule| schedule.uid);
    tick_until(&mut machine, &mut planner, [10_000, 20_000]);
    let [a, poison, z] = names.map(|name| machine.named(&name).expect("it exists").clone());
    assert_eq!((a.fired, z.fired, poison.fired), (2, 2, 0));
    assert_eq!(poison.state, ScheduleState::Parked { reason: "planning it panicked".into() });
}

#[test]
fn what_is_in_a_zone_that_a_leader_lacks_is_parked_by_it_and_refused() {
    let (mut newer, mut older) = (Planner::new(Options::default()), Options::default());
    older.lacks_zone = Some("America/Coyhaique");
    let mut older = Planner::new(older);
    let names = ["utc", "coyhaique"].map(|name| ScheduleName::parse(name).expect("a name"));
    let specs = ["UTC", "America/Coyhaique"].map(cron_in);
    let mut machine = machine_with(&names, &mut newer, &specs);
    tick_until(&mut machine, &mut newer, [10_000, 20_000]);
    tick_until(&mut machine, &mut older, [30_000, 40_000]);
    let [utc, coyhaique] = names.clone().map(|name| machine.named(&name).expect("it exists").clone());
    assert_eq!((utc.fired, coyhaique.fired), (4, 2));
    let ScheduleState::Parked { reason } = &coyhaique.state else { panic!("{:?}", coyhaique.state) };
    assert!(reason.contains("unknown time zone `America/Coyhaique`"), "{reason}");
    let request = Request { by: "ann".into(), key: None };
    let wanted = Wanted { name: names[1].clone(), condition: Condition::None, request };
    let [_, spec] = specs;
    assert!(older.put(&machine, Timestamp::from_millis(40_000), wanted, definition(spec)).is_err());
}
