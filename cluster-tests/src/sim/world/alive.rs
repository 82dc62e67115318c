//! Liveness: when somebody can lead, and that somebody does once everything is healed.

use std::time::Duration;

use super::super::host::Host;
use super::super::net::Weather;
use super::{LOOK_EVERY, World};

/// Longer on a way or in a sync keeps a leader away now and then: elections take 150 ms at least.
const BEARABLE: Duration = Duration::from_millis(60);
/// The name of what is found here.
const ALIVE: &str = "a healed cluster works again";

impl World {
    /// Notes stretches in which no leader can have a majority.
    pub(super) fn watch_quorum(&self, moment: u64) {
        let works = self.hosts.iter().any(|host| self.can_lead(host));
        let mut story = self.story();
        let last = story.outages.last().copied();
        match last {
            Some((from, to)) if !works && moment - to <= 2 * LOOK_EVERY.as_millis() as u64 => {
                *story.outages.last_mut().expect("there is one") = (from, moment);
            }
            _ if !works => story.outages.push((moment, moment)),
            _ => {}
        }
    }

    /// Whether a majority of voters, itself among them, hears this machine and is heard by it, and their disks work.
    fn can_lead(&self, host: &Host) -> bool {
        let works = |host: &Host| {
            let manner = host.disk().manner();
            let swift = !manner.hangs && !manner.full && manner.most <= BEARABLE;
            host.running().is_some() && !host.is_frozen() && swift
        };
        let Some(running) = host.running().filter(|_| works(host)) else { return false };
        let members = running.consensus.status().members;
        let voters: Vec<&str> = members
            .iter()
            .filter(|member| member.voter)
            .map(|member| member.peer.peer_address.as_str())
            .collect();
        let talks = |other: &&Host| {
            let there = self.hand.net.weather(host.address(), other.address());
            let back = self.hand.net.weather(other.address(), host.address());
            other.address() == host.address() || (carries(there) && carries(back))
        };
        let able = self.hosts.iter().filter(|other| works(other)).filter(talks);
        let able = able.filter(|other| voters.contains(&other.address())).count();
        voters.contains(&host.address()) && 2 * able > voters.len()
    }

    /// Liveness: after the healing, and some time, there is a leader in office, everybody who lives is a member and has applied
    /// what it has, and nobody votes who is no more.
    pub(super) fn is_alive(&mut self) {
        let running = self.hand.leader().and_then(|leader| Some((leader.running()?, leader)));
        let Some((leads, leader)) = running else {
            return self.judge.found.add(ALIVE, || "nobody is in office at the end".into());
        };
        let (leads, members) = (leads.consensus.applied().0, leads.consensus.status().members);
        let hears = |host: &&Host| {
            let weather = |from: &Host, to: &Host| self.hand.net.weather(from.address(), to.address());
            !(weather(&leader, host).cut || weather(host, &leader).cut)
        };
        // Who is cut off from the leader for good waits for another one.
        for host in self.hosts.iter().filter(|host| host.is_up()).filter(hears) {
            let (running, place) = (host.running(), host.place());
            let node = running.as_ref().map(|running| running.consensus.node());
            let gone = members.iter().find(|member| {
                member.voter && member.peer.peer_address == host.address() && Some(member.node) != node
            });
            if let Some(gone) = gone {
                self.judge
                    .found
                    .add(ALIVE, || format!("node {} votes, and machine {place} is {node:?}", gone.node));
            }
            let is_member = members.iter().any(|member| Some(member.node) == node);
            // It was removed, whether or not the one who asked for that has heard of it: nobody tells it anything.
            if !is_member && node.is_some_and(|node| self.members.contains(&node)) {
                continue;
            }
            let applied = running.map(|running| running.consensus.applied().0);
            if !is_member || applied.is_none_or(|applied| applied + 50 < leads) {
                self.judge.found.add(ALIVE, || {
                    format!("machine {place}, node {node:?}, is at {applied:?}, its leader at {leads}")
                });
            }
        }
    }
}

/// Whether heartbeats get through well enough to keep a leader.
fn carries(weather: Weather) -> bool {
    !weather.cut && weather.loss < 50 && weather.most <= BEARABLE
}
