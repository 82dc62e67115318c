//! Making a fault happen, and putting it right.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use campanile_core::id::NodeId;

use super::fault::{Fault, Kind, Whom};
use super::host::{Host, can_miss_disk};
use super::net::{Net, Weather};
use super::trace::Trace;
use crate::seed::Dice;

/// Who makes faults happen.
#[derive(Clone)]
pub struct Hand {
    /// The machines; the first few found the cluster, the others may join.
    pub hosts: Arc<Vec<Host>>,
    /// How many found it.
    pub founders: usize,
    /// The network.
    pub net: Net,
    /// The trace.
    pub trace: Trace,
    /// Dice for what a fault leaves open.
    pub dice: Arc<Mutex<Dice>>,
    /// How often each kind has happened.
    pub happened: Arc<Mutex<std::collections::BTreeMap<Kind, u64>>>,
}

impl Hand {
    /// One fault from its beginning to its end.
    pub async fn strike(self, fault: Fault) {
        let Some(host) = self.resolve(fault.whom) else { return };
        if fault.kind == Kind::Replace && !can_miss_disk(&self.hosts, &host) {
            return;
        }
        self.trace.note("fault", &[host.place() as u64, fault.lasts], || format!("{fault}"));
        *self.happened.lock().unwrap_or_else(PoisonError::into_inner).entry(fault.kind).or_default() += 1;
        let lasts = Duration::from_millis(fault.lasts);
        match fault.kind {
            Kind::Kill => {
                host.kill();
                tokio::time::sleep(lasts).await;
                host.start();
            }
            Kind::PowerCut => {
                host.cut_power().await;
                tokio::time::sleep(lasts).await;
                host.start();
            }
            Kind::KillAll => {
                self.hosts.iter().for_each(Host::kill);
                tokio::time::sleep(lasts).await;
                self.start_all();
            }
            Kind::PowerCutAll => {
                // At one moment: nobody goes on while another is dead.
                self.hosts.iter().for_each(Host::freeze);
                for host in self.hosts.iter() {
                    host.cut_power().await;
                }
                tokio::time::sleep(lasts).await;
                self.start_all();
            }
            Kind::Replace => {
                host.replace().await;
                tokio::time::sleep(lasts).await;
                host.start();
            }
            Kind::Freeze => {
                host.freeze();
                tokio::time::sleep(lasts).await;
                host.thaw();
            }
            Kind::Restart => self.restart(&host, lasts).await,
            Kind::Transfer => self.transfer(&host).await,
            Kind::Image => {
                if let Some(running) = host.running() {
                    running.process.spawn(async move { running.consensus.make_image().await });
                }
            }
            Kind::Join => self.join(),
            Kind::Leave => self.leave(&host).await,
            Kind::HalfChange => self.half_change(&host, lasts).await,
            Kind::Older => older(&host, lasts).await,
            Kind::Flapping => self.flap(&host, lasts).await,
            Kind::ClockAhead | Kind::ClockBack | Kind::ClockDrift => {
                self.clock(fault.kind, &host, lasts).await
            }
            Kind::DiskSlow | Kind::DiskHang | Kind::DiskFull => disk(fault.kind, &host, lasts).await,
            _ => self.weather(fault.kind, &host, lasts).await,
        }
        self.trace.note("over", &[host.place() as u64], || fault.kind.name().to_owned());
    }

    /// Who leads, as most of those who know it say.
    #[must_use]
    pub fn leader(&self) -> Option<Host> {
        let in_office = |host: &&Host| {
            host.running().is_some_and(|running| running.consensus.offices().borrow().is_some())
        };
        self.hosts.iter().find(in_office).cloned()
    }

    fn resolve(&self, whom: Whom) -> Option<Host> {
        match whom {
            Whom::Leader => self.leader(),
            Whom::Place(place) => self.hosts.get(place).cloned(),
        }
    }

    fn start_all(&self) {
        // Those that have never been started wait for their time to join.
        let known = self.hosts.iter().enumerate();
        known
            .filter(|(place, host)| *place < self.founders || host.starts() > 0)
            .for_each(|(_, host)| host.start());
    }

    fn roll(&self, bound: u64) -> u64 {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner).below(bound)
    }

    async fn restart(&self, host: &Host, lasts: Duration) {
        if let Some(running) = host.running() {
            let stopping = running.clone();
            let stopped = running.process.spawn(async move { stopping.consensus.stop().await });
            // A disk that hangs keeps it, and the supervisor's patience ends.
            let _ = tokio::time::timeout(Duration::from_secs(10), stopped).await;
        }
        host.kill();
        tokio::time::sleep(lasts).await;
        host.start();
    }

    async fn transfer(&self, host: &Host) {
        let Some(running) = host.running() else { return };
        let members = running.consensus.status().members;
        let others: Vec<NodeId> = members
            .iter()
            .filter(|member| member.voter && member.node != running.consensus.node())
            .map(|member| member.node)
            .collect();
        if others.is_empty() {
            return;
        }
        let to = others[self.roll(others.len() as u64) as usize];
        // Who does not lead refuses, and so it may be.
        running.process.spawn(async move { running.consensus.transfer(to).await });
    }

    /// Starts the first machine that was never started: it joins by itself.
    fn join(&self) {
        if let Some(host) = self.hosts.iter().find(|host| host.starts() == 0) {
            host.start();
        }
    }

    /// Has a machine removed that is not needed for three.
    async fn leave(&self, host: &Host) {
        let Some(leader) = self.leader() else { return };
        let (Some(running), Some(gone)) = (leader.running(), host.running()) else { return };
        let members = running.consensus.status().members;
        if members.iter().filter(|member| member.voter).count() <= 3 {
            return;
        }
        let node = gone.consensus.node();
        let asked = running.process.spawn(async move { running.consensus.remove_node(node).await });
        let removed = tokio::time::timeout(Duration::from_secs(10), asked).await;
        if matches!(removed, Ok(Ok(Ok(())))) {
            // An operator takes the machine away; it may come back with an empty disk.
            host.replace().await;
        }
    }

    async fn clock(&self, kind: Kind, host: &Host, lasts: Duration) {
        let amount = self.roll(12_000) as i64 + 50;
        match kind {
            Kind::ClockAhead => host.clock().set(amount, 0),
            Kind::ClockBack => host.clock().set(-amount, 0),
            _ => host.clock().set(0, if amount % 2 == 0 { 40_000 } else { -40_000 }),
        }
        tokio::time::sleep(lasts).await;
        host.clock().set(0, 0);
    }

    /// Has members change, and kills the leader when it has the change in its log: committed, or not.
    async fn half_change(&self, host: &Host, lasts: Duration) {
        let Some(leader) = self.leader() else { return };
        match self.hosts.iter().find(|host| host.starts() == 0) {
            Some(newcomer) => newcomer.start(),
            None if host.place() == leader.place() || !can_miss_disk(&self.hosts, host) => return,
            None => {
                host.replace().await;
                host.start();
            }
        }
        // A learner, then a voter, then those who were before: one change of them each.
        let mut changes = 1 + self.roll(3);
        let mut before = None;
        for _ in 0..8_000 {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let Some(running) = leader.running() else { return };
            let members = running.consensus.status().members;
            let now: Vec<_> = members.iter().map(|member| (member.node, member.voter)).collect();
            let is_new = before.as_ref().is_some_and(|before| *before != now);
            before = Some(now);
            changes -= u64::from(is_new);
            if changes == 0 {
                self.trace.reach("leader killed with a change of members");
                leader.kill();
                tokio::time::sleep(lasts).await;
                return leader.start();
            }
        }
    }

    async fn flap(&self, host: &Host, lasts: Duration) {
        let ends = tokio::time::Instant::now() + lasts;
        while tokio::time::Instant::now() < ends {
            let moment = Duration::from_millis(50 + self.roll(1_200));
            self.weather(Kind::Isolate, host, moment).await;
            tokio::time::sleep(Duration::from_millis(50 + self.roll(900))).await;
        }
    }

    async fn weather(&self, kind: Kind, host: &Host, lasts: Duration) {
        let fair = Weather::default();
        let cut = Weather { cut: true, ..fair };
        let addresses: Vec<&str> = self.hosts.iter().map(Host::address).collect();
        let count = addresses.len() as u64;
        let other = addresses[((host.place() as u64 + 1 + self.roll(count - 1)) % count) as usize];
        let (own, size) = (host.place(), addresses.len());
        let mut changed = Vec::new();
        for (from, sender) in addresses.iter().enumerate() {
            for (to, receiver) in addresses.iter().enumerate().filter(|(to, _)| *to != from) {
                let half = |place: usize| (place + own) % size < size / 2;
                let weather = match kind {
                    Kind::Isolate if from == own || to == own => cut,
                    Kind::Mute if from == own => cut,
                    Kind::Deaf if to == own => cut,
                    Kind::Link if from == own && *receiver == other || *sender == other && to == own => cut,
                    Kind::LinkOneWay if from == own && *receiver == other => cut,
                    Kind::Split if half(from) != half(to) => cut,
                    Kind::Bridge if from != own && to != own && half(from) != half(to) => cut,
                    Kind::Ring if (from + 1) % size != to && (to + 1) % size != from => cut,
                    Kind::Lossy => Weather { loss: 150, ..fair },
                    Kind::Twice => Weather { twice: 300, most: Duration::from_millis(30), ..fair },
                    Kind::SlowNetwork => {
                        Weather { least: Duration::from_millis(20), most: Duration::from_millis(120), ..fair }
                    }
                    _ => continue,
                };
                self.net.set(sender, receiver, weather);
                changed.push((*sender, *receiver));
            }
        }
        tokio::time::sleep(lasts).await;
        changed.into_iter().for_each(|(from, to)| self.net.set(from, to, fair));
    }
}

/// A node of the version before in its place, and then this one again.
async fn older(host: &Host, lasts: Duration) {
    host.kill();
    host.be_older(true);
    host.start();
    tokio::time::sleep(lasts).await;
    host.kill();
    host.be_older(false);
    host.start();
}

async fn disk(kind: Kind, host: &Host, lasts: Duration) {
    let fair = host.disk().manner();
    let mut manner = super::disk::Manner::default();
    match kind {
        Kind::DiskSlow => {
            (manner.least, manner.most) = (Duration::from_millis(20), Duration::from_millis(250));
        }
        Kind::DiskHang => manner.hangs = true,
        _ => manner.full = true,
    }
    host.disk().behave(manner);
    tokio::time::sleep(lasts).await;
    host.disk().behave(super::disk::Manner { hangs: false, full: false, ..fair });
}
