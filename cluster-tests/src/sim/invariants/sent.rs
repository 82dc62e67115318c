//! No delivery without its Begin: a webhook leaves only with the attempt and the token of a lease of that very node, after the
//! lease was committed and before it is over (SEMANTICS §2.2; DESIGN §2, rule 8).
//!
//! A holder counts its lease from before it asked for it, on its own clock, so the end in true time is known without anybody's
//! wall clock: no later than its length after the commit.

use std::collections::BTreeMap;

use campanile_core::attempt::Holder;
use campanile_core::event::Event;
use campanile_core::firing::FiringId;

use super::{Bounds, Findings, Invariant};
use crate::sim::story::{End, Moment, Send, Step};

/// The leases that nodes were given.
#[derive(Debug)]
pub(super) struct Sent {
    bounds: Bounds,
    given: BTreeMap<(FiringId, u32), Given>,
}

#[derive(Debug, Clone, Copy)]
struct Given {
    node: u64,
    token: u64,
    seen: Moment,
    lasts: Moment,
}

impl Sent {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self { bounds, given: BTreeMap::new() }
    }

    fn wrong(&self, send: &Send, stalls: &[(u64, Moment, Moment)]) -> Option<String> {
        let Some(given) = self.given.get(&(send.firing, send.attempt)) else {
            return Some("has no lease".into());
        };
        let watch = self.bounds.watch.as_millis();
        if (given.node, given.token) != (send.node, send.token) {
            return Some(format!("has the lease of node {} with token {}", given.node, given.token));
        }
        if send.sent + watch < given.seen {
            return Some(format!("was begun at {}", given.seen));
        }
        let over = given.seen + given.lasts;
        let stood_still = |(node, from, to): &(u64, Moment, Moment)| {
            *node == send.node && *from <= send.sent && *to >= given.seen
        };
        (send.sent > over + watch && !stalls.iter().any(stood_still))
            .then(|| format!("had a lease from {} to {over}", given.seen))
    }
}

impl Invariant for Sent {
    fn name(&self) -> &'static str {
        "no delivery without its begin"
    }

    fn step(&mut self, step: &Step<'_>, _: &mut Findings) {
        for row in step.rows {
            let Event::Begun { firing, lease } = &row.event else { continue };
            if let Holder::Node(node) = lease.holder {
                let lasts = lease.until.since(lease.begun_at).as_millis();
                let given = Given { node: node.0, token: lease.fencing_token.0, seen: step.seen, lasts };
                self.given.insert((*firing, lease.attempt.0), given);
            }
        }
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        for send in &end.story.sends {
            if let Some(wrong) = self.wrong(send, &end.story.stalls) {
                found.add(self.name(), || {
                    let Send { firing, attempt, node, token, sent, .. } = send;
                    format!("{firing:?} attempt {attempt} left node {node} at {sent} with token {token}, and {wrong}")
                });
            }
        }
    }
}
