//! The hosts of a desk for people: which requests are under way, and which circuits are not closed.

use std::collections::BTreeMap;
use tokio::time::Instant;

use campanile_core::time::{Span, Timestamp};

use super::breaker::{BreakerState, Circuit};
use super::desk::Desk;
use crate::wire::host::Host;
use crate::wire::time;

/// Every host that requests are under way to or that has not answered lately, by name. `now` is the wall clock, in which the
/// end of a pause is told.
#[must_use]
pub fn hosts(desk: &Desk, now: Timestamp) -> Vec<Host> {
    let failing = |breaker: BreakerState| {
        let open_until = breaker.open_until.map(|until| wall(until, now));
        let host = Host {
            in_flight: 0,
            state: breaker.state.as_str().to_owned(),
            failures: breaker.failures,
            open_until: time::Instant::known(open_until),
            host: breaker.host.clone(),
        };
        (breaker.host, host)
    };
    let mut hosts: BTreeMap<String, Host> = desk.breakers().into_iter().map(failing).collect();
    for (name, in_flight) in desk.hosts() {
        let well = || Host {
            host: name.to_string(),
            in_flight: 0,
            state: Circuit::Closed.as_str().to_owned(),
            failures: 0,
            open_until: None,
        };
        hosts.entry(name.to_string()).or_insert_with(well).in_flight = in_flight as u64;
    }
    hosts.into_values().collect()
}

/// A later instant of the monotonic clock, on the wall clock.
fn wall(until: Instant, now: Timestamp) -> Timestamp {
    let left = until.saturating_duration_since(Instant::now());
    now + Span::from_millis(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
}
