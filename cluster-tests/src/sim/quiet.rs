//! Months of a quiet cluster: nothing is broken, nobody edits anything, and every schedule is due when its clock says so,
//! while clocks are put forward and back.
//!
//! ```text
//!   founding ─ schedules put ─ hour by hour: ledgers read, logs looked at ─ each tenth day a node started again ─ judged
//! ```
//! The same nodes as in every other world, without faults and for so long that whatever grows with time is seen to grow. So
//! the judge keeps nothing for a firing: it counts, and knows of each schedule what is next.

mod account;
mod habit;
mod memory;
mod pace;
mod punctual;
mod report;
mod restart;
mod team;
mod upkeep;
mod zones;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use campanile_core::time::Timestamp;
use campanile_storage::ledger::Head;
use tokio::sync::Notify;

use super::clock::{MachineClock, TrueTime};
use super::disk::Disk;
use super::host::{Around, Host};
use super::invariants::Findings;
use super::net::Net;
use super::trace::Trace;
use super::world::folder;
use crate::seed::Seed;

use account::Account;
pub use account::Counted;
use habit::Habit;
use memory::Memory;
pub use pace::HEARTBEAT;
use punctual::Punctual;
pub use report::Report;
pub use upkeep::Kept;
use upkeep::Upkeep;

/// What is found here.
const EQUAL: &str = "equal ledgers";
const SERVES: &str = "every node serves";
const PUT: &str = "every schedule is put";
const SENT: &str = "every firing is sent once, and not before its time";

/// Nodes.
const NODES: usize = 3;
/// Milliseconds of an hour.
const HOUR: u64 = 3_600_000;
/// Hours of a day.
const DAY: u64 = 24;
/// Days between two restarts.
const RESTARTS: u64 = 10;
/// Three days before the hands are put forward in New York, the first of the season.
pub const BEGINS: u64 = 5;
/// Behind it the hands are put back, which the table of zones does not tell.
pub const SEASON: u64 = 180;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Where chance begins: what the schedules are, and how long everything takes.
    pub seed: u64,
    /// How many days behind 2031-03-01 it begins.
    pub begins: u64,
    /// Virtual days; it ends within [`SEASON`] days behind 2031-03-01.
    pub days: u64,
    /// Schedules.
    pub schedules: usize,
    /// How often a leader says that it is there; everything else that repeats itself at rest follows from it (see [`HEARTBEAT`]).
    pub heartbeat: Duration,
}

/// Plays it; `hear` is given a line for each day.
///
/// # Panics
/// When it would end behind the [`SEASON`]; when this machine gives no directory for files, or no runtime.
#[must_use]
pub fn play(order: &Order, hear: impl FnMut(&str)) -> Report {
    assert!(order.begins + order.days <= SEASON, "a quiet run ends within {SEASON} days");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime on one thread");
    runtime.block_on(async { Quiet::begin(order).live(hear).await })
}

struct Quiet {
    order: Order,
    time: TrueTime,
    hosts: Vec<Host>,
    team: Vec<Habit>,
    accounts: Vec<Account>,
    upkeep: Vec<Upkeep>,
    receivers: Punctual,
    memory: Memory,
    found: Findings,
    // Last, so that it goes when nobody uses its files any more.
    _folder: tempfile::TempDir,
}

impl Quiet {
    fn begin(order: &Order) -> Self {
        let seed = Seed(order.seed);
        let trace = Trace::begin(false);
        let time = TrueTime::begin(Timestamp::from_millis(zones::FROM + (order.begins * DAY * HOUR) as i64));
        let folder = folder();
        let net = Net::new(seed.dice("net"), trace.clone());
        let receivers = Punctual::new(time);
        let addresses: Vec<String> = (1..=NODES).map(|n| format!("machine-{n}:7400")).collect();
        let peers = Arc::new(addresses.clone());
        let hosts = addresses.iter().enumerate().map(|(place, address)| {
            let around = Around {
                net: net.clone(),
                exit: Arc::new(receivers.clone()),
                trace: trace.clone(),
                peers: Arc::clone(&peers),
                tuning: pace::tuning(order.heartbeat),
                stir: Arc::new(Notify::new()),
            };
            let data = folder.path().join(format!("machine-{place}"));
            let disk = Disk::new(place as u64, &data, seed.dice(&format!("disk {place}")), trace.clone());
            let dice = seed.dice(&format!("machine {place}"));
            Host::new(place, address, disk, MachineClock::right(time), around, dice)
        });
        let hosts = hosts.collect();
        let team = team::of(order.schedules, &mut seed.dice("team"));
        let names = || (0..order.schedules).map(name);
        let accounts = (0..NODES).map(|node| Account::new(node, team.clone(), names())).collect();
        Self {
            order: *order,
            time,
            hosts,
            team,
            accounts,
            upkeep: (0..NODES).map(|_| Upkeep::default()).collect(),
            receivers,
            memory: Memory::default(),
            found: Findings::default(),
            _folder: folder,
        }
    }

    async fn live(mut self, mut hear: impl FnMut(&str)) -> Report {
        self.hosts.iter().for_each(Host::start);
        self.wait_for_all().await;
        self.put_all().await;
        let began = self.time.moment();
        for day in 1..=self.order.days {
            for hour in 1..=DAY {
                let until = began + ((day - 1) * DAY + hour) * HOUR;
                self.pass(until).await;
                if hour == 3 && day % RESTARTS == 0 {
                    let place = (day / RESTARTS) as usize % NODES;
                    self.restart(place).await;
                }
                self.look();
            }
            self.memory.sample(day, memory::resident());
            hear(&self.line(day));
        }
        // What is under way ends.
        tokio::time::sleep(Duration::from_secs(90)).await;
        self.verdict()
    }

    /// Time goes by. Nobody hears what the disks tell, so it is let go of.
    async fn pass(&self, until: u64) {
        while self.time.moment() < until {
            let left = Duration::from_millis(until - self.time.moment());
            tokio::time::sleep(left.min(Duration::from_secs(600))).await;
            self.hosts.iter().for_each(|host| drop(host.disk().take_changes()));
        }
    }

    async fn wait_for_all(&self) {
        let serves = |host: &Host| host.running().is_some();
        while !(self.hosts.iter().all(serves) && self.hosts.iter().any(holds_office)) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Each of the nodes is asked for a third of them.
    async fn put_all(&mut self) {
        for place in 0..self.team.len() {
            let path = format!("/v1/schedules/{}", name(place));
            let body = self.team[place].definition(place % 7).to_string();
            let Some(running) = self.hosts[place % NODES].running() else { continue };
            let request =
                Request::put(path).header("content-type", "application/json").body(Body::from(body));
            let (front, request) = (running.front.clone(), request.expect("a schedule is put by a request"));
            let answered = running.process.spawn(async move {
                let response = front.answer(request).await;
                let status = response.status();
                (status, to_bytes(response.into_body(), 1 << 20).await.unwrap_or_default())
            });
            match answered.await {
                Ok((status, _)) if status.is_success() => {}
                other => self.found.add(PUT, || format!("{}: {other:?}", name(place))),
            }
        }
    }

    /// An hour is over.
    fn look(&mut self) {
        let now = self.time.now();
        for (place, host) in self.hosts.iter().enumerate() {
            let Some(running) = host.running() else {
                let why = host.take_end();
                self.found.add(SERVES, || format!("node {place} does not: {why:?}"));
                continue;
            };
            if let Some(why) = host.panicked() {
                self.found.add(SERVES, || format!("node {place}: {why}"));
            }
            let (account, ledger) = (&mut self.accounts[place], running.consensus.ledger());
            account.read(&ledger, now, &mut self.found);
            account.is_whole(now, &mut self.found);
            self.upkeep[place].look(&running.consensus.status(), &ledger);
        }
    }

    fn verdict(mut self) -> Report {
        self.look();
        let (now, days, tuning) = (self.time.now(), self.order.days, pace::tuning(self.order.heartbeat));
        let heads: Vec<Option<Head>> = self.hosts.iter().map(head).collect();
        if heads.iter().any(|head| head.is_none() || *head != heads[0]) {
            self.found.add(EQUAL, || format!("{heads:?}"));
        }
        for (node, upkeep) in self.upkeep.iter().enumerate() {
            upkeep.judge(node, days, &tuning, &mut self.found);
        }
        self.memory.judge(&mut self.found);
        let written = heads.iter().map(|head| head.map_or(0, |head| head.rows));
        let counted: Vec<Counted> = self.accounts.iter().map(Account::counted).collect();
        for ((account, counts), written) in self.accounts.into_iter().zip(&counted).zip(written) {
            if counts.rows != written {
                self.found.add(account::READS, || format!("{} of {written} rows", counts.rows));
            }
            judge_ends(&account, counts, self.order.schedules, &mut self.found);
            account.verdict(&mut self.found);
        }
        let (seen, begun) = (self.receivers.seen(), counted[0].begun);
        if seen.had != begun || seen.early > 0 {
            self.found.add(SENT, || format!("{begun} attempts began, and the receivers: {seen:?}"));
        }
        self.hosts.iter().for_each(Host::kill);
        let put = zones::ZONES.iter().filter(|zone| zone.changes_between(self.time.base, now));
        Report {
            found: self.found,
            counted,
            kept: self.upkeep.iter().map(Upkeep::kept).collect(),
            sent: seen.had,
            latest: seen.latest,
            changes: put.map(|zone| zone.name).collect(),
            memory: self.memory.counted(),
        }
    }

    fn line(&self, day: u64) -> String {
        let (counted, kept) = (self.accounts[0].counted(), self.upkeep[0].kept());
        format!(
            "day {day:>3}: {} fired, {} rows, entry {} (purged to {}), {} files of the ledger, {} MiB resident",
            counted.fired,
            counted.rows,
            kept.last,
            kept.purged,
            kept.files,
            memory::resident() >> 20,
        )
    }
}

/// Every schedule was met, and what fired has ended well, at the first try.
fn judge_ends(account: &Account, counts: &Counted, schedules: usize, found: &mut Findings) {
    if account.schedules() != schedules {
        found.add(PUT, || format!("a ledger tells of {} of {schedules}", account.schedules()));
    }
    if counts.fired == 0 || counts.begun != counts.fired || counts.ended != counts.fired {
        found.add(SENT, || format!("{counts:?}"));
    }
}

/// `namespace/name` of a schedule of the team.
fn name(place: usize) -> String {
    format!("quiet/job-{place:04}")
}

fn holds_office(host: &Host) -> bool {
    host.running().is_some_and(|running| running.consensus.offices().borrow().is_some())
}

fn head(host: &Host) -> Option<Head> {
    Some(host.running()?.consensus.ledger().head())
}

#[cfg(test)]
mod tests;
