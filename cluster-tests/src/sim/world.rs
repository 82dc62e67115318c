//! One world from its seed to its verdict.
//!
//! ```text
//!   founding ── 8 s ── faults, clients, workers ── healed ── only what is broken for good ── quiet ── judged
//! ```
//! Everything happens on one thread, in an order that the seed decides; time is virtual and passes when nobody has anything to
//! do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use campanile_core::id::{LogIndex, NodeId};
use campanile_core::mutant::Mutant;
use campanile_core::time::Timestamp;

use tokio::sync::Notify;

use super::clock::{MachineClock, TrueTime};
use super::disk::Disk;
use super::door::Doors;
use super::fault::Kind;
use super::host::{Around, Host};
use super::invariants::{self, Findings};
use super::judge::Judge;
use super::lasting::Lasting;
use super::net::Net;
use super::plan::{FOUNDERS, MACHINES, Plan, healed_at};
use super::receivers::Receivers;
use super::story::Story;
use super::strike::Hand;
use super::trace::Trace;
use super::tuning::Tuning;
use super::witness;
use super::workload;
use crate::seed::Seed;

mod alive;
mod verdict;

/// What is asked of a world.
#[derive(Debug, Clone)]
pub struct Order {
    /// Its seed.
    pub seed: u64,
    /// How long it lasts, in virtual minutes.
    pub minutes: u64,
    /// Whether its events are written down.
    pub loud: bool,
    /// Only these kinds of faults.
    pub kinds: Vec<Kind>,
    /// These faults instead of those that the seed would draw.
    pub plan: Option<Plan>,
    /// A bug that is put back, in a build that has them.
    pub mutant: Option<Mutant>,
}

impl Order {
    /// The faults of its world.
    #[must_use]
    pub fn faults(&self) -> Plan {
        self.plan.clone().unwrap_or_else(|| Plan::drawn(self.seed, self.minutes, &self.kinds))
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Verdict {
    /// What was found.
    pub found: Findings,
    /// The faults that were planned.
    pub plan: Plan,
    /// The hash of all that happened, and of how many events.
    pub hash: (u64, u64),
    /// The last events, if it was loud.
    pub lines: Vec<String>,
    /// The last events before the first finding, if it was loud.
    pub before: Vec<String>,
    /// How often each kind of fault has happened.
    pub faults: BTreeMap<Kind, u64>,
    /// What was reached: branches by name.
    pub reached: BTreeMap<&'static str, u64>,
    /// Committed commands, calls, webhooks.
    pub counts: [u64; 3],
}

/// How often the judge looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often machines are compared.
const COMPARE_EVERY: u64 = 80;
/// How long a healed cluster is given to become whole before it is judged.
const QUIET: u64 = 40_000;
/// How long after the healing something breaks for good, in milliseconds: what is put right again is over then.
const LASTING_AFTER: u64 = 3_000;
/// Plays a world.
///
/// # Panics
/// When this machine gives no directory for its files, or no runtime.
#[must_use]
pub fn play(order: &Order) -> Verdict {
    super::mutants::plant(order.mutant);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime on one thread");
    let verdict = runtime.block_on(async { World::begin(order).live().await });
    drop(runtime);
    verdict
}

struct World {
    order: Order,
    trace: Trace,
    time: TrueTime,
    hosts: Arc<Vec<Host>>,
    story: Arc<Mutex<Story>>,
    hand: Hand,
    doors: Doors,
    plan: Plan,
    /// What is still to be broken for good.
    lasting: Option<Lasting>,
    /// The highest term that any machine has had.
    term: u64,
    /// The image and the purged index of each machine, as last seen.
    logs: BTreeMap<(usize, &'static str), Option<LogIndex>>,
    /// Who has been a member at some time.
    members: BTreeSet<NodeId>,
    judge: Judge,
    stir: Arc<Notify>,
    // Last, so that it goes when nobody uses its files any more.
    _folder: tempfile::TempDir,
}

impl World {
    fn begin(order: &Order) -> Self {
        let seed = Seed(order.seed);
        let trace = Trace::begin(order.loud);
        // Some day of 2031, at a time of the seed, so that worlds meet different minutes, hours and days.
        let base = 1_924_992_000_000 + (seed.dice("base").below(365 * 86_400) * 1_000) as i64;
        let time = TrueTime::begin(Timestamp::from_millis(base));
        let folder = folder();
        let story = Arc::new(Mutex::new(Story::default()));
        let net = Net::new(seed.dice("net"), trace.clone());
        let receivers = Receivers::new(seed.dice("receivers"), Arc::clone(&story), trace.clone());
        let addresses: Vec<String> = (1..=MACHINES).map(|n| format!("machine-{n}:7400")).collect();
        let stir = Arc::new(Notify::new());
        let hosts = addresses.iter().enumerate().map(|(place, address)| {
            // A founder knows the founders; who may join knows them and itself.
            let mut peers = addresses[..FOUNDERS].to_vec();
            if place >= FOUNDERS {
                peers.push(address.clone());
            }
            let around = Around {
                net: net.clone(),
                exit: receivers.exit(),
                trace: trace.clone(),
                peers: Arc::new(peers),
                tuning: Tuning::default(),
                stir: Arc::clone(&stir),
            };
            let data = folder.path().join(format!("machine-{place}"));
            let disk = Disk::new(place as u64, &data, seed.dice(&format!("disk {place}")), trace.clone());
            let clock = MachineClock::right(time);
            Host::new(place, address, disk, clock, around, seed.dice(&format!("machine {place}")))
        });
        let hosts: Arc<Vec<Host>> = Arc::new(hosts.collect());
        let hand = Hand {
            hosts: Arc::clone(&hosts),
            founders: FOUNDERS,
            net,
            trace: trace.clone(),
            dice: Arc::new(Mutex::new(seed.dice("strike"))),
            happened: Arc::default(),
        };
        let doors = Doors::of(Arc::clone(&hosts), Arc::clone(&story), trace.clone(), seed.dice("doors"));
        let plan = order.faults();
        let lasting = plan.lasting;
        let judge = Judge::new(MACHINES, time, trace.clone(), invariants::all());
        Self {
            order: order.clone(),
            trace,
            time,
            hosts,
            story,
            hand,
            doors,
            plan,
            lasting,
            term: 0,
            logs: BTreeMap::new(),
            members: BTreeSet::new(),
            judge,
            stir,
            _folder: folder,
        }
    }

    async fn live(mut self) -> Verdict {
        let seed = Seed(self.order.seed);
        self.hosts[..FOUNDERS].iter().for_each(Host::start);
        let ends = self.order.minutes * 60_000;
        let quiet_from = ends.saturating_sub(QUIET);
        let parties = workload::start(seed, &self.doors, self.time, quiet_from);
        let healed = healed_at(self.order.minutes);
        let _listening = witness::listen(self.trace.clone());
        let mut plan = self.plan.faults.clone().into_iter().peekable();
        let (mut looks, mut is_healed) = (0, false);
        while self.time.moment() < ends {
            let moment = self.time.moment();
            while let Some(fault) = plan.next_if(|fault| fault.at <= moment) {
                tokio::spawn(self.hand.clone().strike(fault));
            }
            if !is_healed && moment >= healed {
                is_healed = true;
                self.heal();
            }
            self.supervise();
            self.watch_quorum(moment);
            self.judge.look(&self.hosts);
            looks += 1;
            if looks % COMPARE_EVERY == 0 {
                self.judge.compare_machines(&self.hosts);
                self.watch_logs();
            }
            if is_healed && moment > healed + LASTING_AFTER {
                self.lasting = self.lasting.take().filter(|lasting| !lasting.strike(&self.hand));
            }
            if !self.judge.found.is_clean() {
                self.trace.mark();
            }
            // The judge sees an entry in the millisecond in which the first node has applied it.
            let until = moment + LOOK_EVERY.as_millis() as u64;
            while self.time.moment() < until {
                let left = Duration::from_millis(until - self.time.moment());
                if tokio::time::timeout(left, self.stir.notified()).await.is_ok() {
                    self.judge.look(&self.hosts);
                }
            }
        }
        let mut ending = std::pin::pin!(parties.end());
        loop {
            tokio::select! {
                biased;
                () = &mut ending => break,
                () = self.stir.notified() => self.judge.look(&self.hosts),
            }
        }
        self.verdict()
    }

    /// Everything that was broken is put right; what was begun and lasts longer finds it so.
    fn heal(&mut self) {
        self.trace.note("healed", &[], String::new);
        self.hand.net.clear();
        for (place, host) in self.hosts.iter().enumerate() {
            host.disk().behave(super::disk::Manner::default());
            host.clock().set(0, 0);
            host.thaw();
            if place < FOUNDERS || host.starts() > 0 {
                host.start();
            }
        }
        self.story().healed = self.time.moment();
    }

    /// A process that ended by itself is started again, as systemd does.
    fn supervise(&self) {
        for host in self.hosts.iter() {
            if let Some(why) = host.take_end() {
                let host = host.clone();
                self.trace.note("supervise", &[host.place() as u64], || why);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    host.start();
                });
            }
        }
    }

    /// Which branches the logs show.
    fn watch_logs(&mut self) {
        for host in self.hosts.iter() {
            let Some(running) = host.running() else { continue };
            let status = running.consensus.status();
            self.term = self.term.max(status.term.0);
            if running.consensus.offices().borrow().is_some() {
                self.members.extend(status.members.iter().map(|member| member.node));
            }
            let seen = [("image made", status.log.image), ("log purged", status.log.purged)];
            for (name, index) in seen {
                if index.is_some() && self.logs.insert((host.place(), name), index) != Some(index) {
                    self.trace.reach(name);
                }
            }
        }
    }

    fn story(&self) -> MutexGuard<'_, Story> {
        self.story.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In memory where the machine has a directory that is.
pub(super) fn folder() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => tempfile::Builder::new().prefix("campanile-sim").tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    made.expect("a directory for the files of a world")
}
