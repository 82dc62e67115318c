//! What an image takes beside the state, of a machine of 100,000 schedules. A file of its own, since it looks at the whole
//! process; where the system does not say how much that has, nothing is looked at.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::sync::Arc;

use campanile_core::command::{Body, Command, Condition, LeaderEpoch, Request};
use campanile_core::definition::{Definition, ScheduleName, Target, Webhook};
use campanile_core::id::{LogIndex, NodeId, Term};
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, Planner, Wanted};
use campanile_core::spec::Spec;
use campanile_core::time::{Span, Timestamp};
use campanile_raft::image::machine_bytes;

const SCHEDULES: usize = 100_000;

fn commit(machine: &mut Machine, body: Body) {
    let index = LogIndex(machine.applied().0 + 1);
    machine.apply(index, &Command { at: Timestamp::EPOCH, epoch: machine.epoch(), body });
}

fn machine() -> Machine {
    let (mut machine, mut planner) = (Machine::default(), Planner::new(Options::default()));
    let take =
        LeaderEpoch { node: NodeId(1), incarnation: 1, term: Term(1), ledger: None, leaderless_since: None };
    commit(&mut machine, Body::LeaderEpoch(take));
    for n in 0..SCHEDULES {
        let every = Spec::Every { every: Span::from_secs(3_600), anchor: Timestamp::EPOCH };
        let webhook = Webhook::new(&format!("http://receiver-{}.example/hook", n % 100));
        let definition = Arc::new(Definition::new(vec![every], Target::Webhook(Box::new(webhook))));
        let name = ScheduleName::parse(&format!("job-{n}")).unwrap();
        let request = Request { by: "ann".into(), key: None };
        let wanted = Wanted { name, condition: Condition::None, request };
        let put = planner.put(&machine, Timestamp::EPOCH, wanted, definition).unwrap();
        commit(&mut machine, put);
    }
    machine
}

/// A line of this process's status, in bytes.
fn status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[test]
fn an_image_of_a_hundred_thousand_schedules_takes_less_than_twice_the_state_beside_it() {
    let Some(empty) = status("VmRSS:") else { return };
    let machine = machine();
    let state = status("VmRSS:").unwrap() - empty;
    // Writing 5 lets the system count the most of all from here on (proc(5), clear_refs).
    if fs::write("/proc/self/clear_refs", "5").is_err() {
        return;
    }
    let before = status("VmRSS:").unwrap();
    let bytes = machine_bytes(&machine).unwrap();
    let beside = status("VmHWM:").unwrap() - before;
    println!("state {state}, image {}, beside the state {beside}", bytes.len());
    let last = ScheduleName::parse(&format!("job-{}", SCHEDULES - 1)).unwrap();
    assert!(machine.named(&last).is_some());
    assert!(state > SCHEDULES as u64 * 100, "{state} bytes of {SCHEDULES} schedules");
    assert!(beside < 2 * state, "{beside} bytes beside a state of {state}");
}
