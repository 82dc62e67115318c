//! One machine of a world: an address, a disk, a clock, and the process on it, if one runs.
//!
//! ```text
//!   start ─> Process ─> Consensus::start ─> Life          the same parts as `campanile serve` without ports and signals
//!   kill, power cut, freeze: the process, at once         fatal: the process ends by itself, and is started again
//! ```

mod around;
mod known;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use campanile::clock::Clock;
use campanile::clock::guard::Guard;
use campanile::dispatch::egress::{Egress, Rules};
use campanile::dispatch::{Limits, webhook};
use campanile::http::Front;
use campanile::run::life::{self, Life, Setting};
use campanile::service::records::{Asked, Records, history_keys};
use campanile_core::format::FormatLevel;
use campanile_core::id::LogIndex;
use campanile_core::plan;
use campanile_raft::runtime::{Process, watch};
use campanile_raft::{Consensus, Options};
use campanile_storage::ledger::{Options as LedgerOptions, Upkeep};

pub use self::around::Around;
use self::known::Known;
pub(super) use self::known::can_miss_disk;
use super::clock::MachineClock;
use super::disk::Disk;
use super::tuning::NEW_ZONE;
use crate::seed::Dice;

/// A machine. Clones are the same one.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    place: usize,
    address: String,
    disk: Disk,
    clock: &'static MachineClock,
    around: Around,
    dice: Mutex<Dice>,
    stand: Mutex<Stand>,
}

/// The process on it.
#[derive(Default)]
struct Stand {
    process: Option<Process>,
    frozen: bool,
    running: Option<Running>,
    /// Why the last process ended by itself.
    ended: Option<String>,
    starts: u64,
    /// What its disk is known to hold.
    known: Option<Known>,
    /// What the last process had applied when it ended.
    applied: Option<u64>,
    /// Nothing starts here any more.
    given_up: bool,
    /// Whether its program is of the version before.
    is_older: bool,
}

/// A node that serves.
#[derive(Clone)]
pub struct Running {
    /// Its process.
    pub process: Process,
    /// Where its users ask.
    pub front: Front,
    /// What it runs over.
    pub consensus: Consensus,
}

impl Host {
    /// A machine that does nothing yet.
    #[must_use]
    pub fn new(
        place: usize,
        address: &str,
        disk: Disk,
        clock: &'static MachineClock,
        around: Around,
        dice: Dice,
    ) -> Self {
        around.net.add_host(address, place as u64);
        let (dice, stand) = (Mutex::new(dice), Mutex::default());
        Self(Arc::new(Inner { place, address: address.to_owned(), disk, clock, around, dice, stand }))
    }

    /// Its place in the world, from 0.
    #[must_use]
    pub fn place(&self) -> usize {
        self.0.place
    }

    /// Its peer address.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// Its disk.
    #[must_use]
    pub fn disk(&self) -> &Disk {
        &self.0.disk
    }

    /// Its clock.
    #[must_use]
    pub fn clock(&self) -> &'static MachineClock {
        self.0.clock
    }

    /// The node on it, while it serves.
    #[must_use]
    pub fn running(&self) -> Option<Running> {
        self.stand().running.clone()
    }

    /// What its disk holds, as its node says or last said; nothing once it was wiped.
    fn known(&self) -> Option<Known> {
        let now = self.running().as_ref().map(Known::of);
        now.or_else(|| self.stand().known.clone())
    }

    /// Whether a process is on it, serving or not.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.stand().process.is_some()
    }

    /// Whether its process stands still.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.stand().frozen
    }

    /// How often a process was started on it.
    #[must_use]
    pub fn starts(&self) -> u64 {
        self.stand().starts
    }

    /// Why its process ended by itself, if it did; told once.
    #[must_use]
    pub fn take_end(&self) -> Option<String> {
        self.stand().ended.take()
    }

    /// What the last process had applied when it ended; told once.
    #[must_use]
    pub fn take_applied(&self) -> Option<u64> {
        self.stand().applied.take()
    }

    /// Starts a process, unless one runs.
    pub fn start(&self) {
        let mut stand = self.stand();
        if stand.process.is_some() || stand.given_up {
            return;
        }
        let seed = self.0.dice.lock().unwrap_or_else(PoisonError::into_inner).roll();
        let process = Process::seeded(seed).at_leisure(self.0.around.tuning.leisure);
        stand.starts += 1;
        stand.process = Some(process.clone());
        drop(stand);
        self.0.around.trace.note("start", &[self.0.place as u64], || format!("machine {}", self.0.place));
        let (host, own) = (self.clone(), process.clone());
        process.spawn(async move { host.live(own).await });
    }

    /// The process is gone at once, as by `kill -9`.
    pub fn kill(&self) {
        if let Some(process) = self.bury("kill") {
            process.kill();
            self.0.disk.killed();
        }
    }

    /// The power is gone: what was not synced may be lost.
    pub async fn cut_power(&self) {
        let Some(process) = self.bury("power") else { return };
        process.kill();
        // What the tasks held is let go before the disk is looked at.
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.0.disk.power_lost();
    }

    /// The machine is replaced by one with an empty disk.
    pub async fn replace(&self) {
        self.kill();
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.0.around.trace.note("wipe", &[self.0.place as u64], || format!("machine {}", self.0.place));
        self.stand().known = None;
        self.0.disk.wipe().expect("the files of a world can be removed");
    }

    /// It is dead from now on, and nobody starts anything on it.
    pub fn give_up(&self) {
        self.kill();
        self.stand().given_up = true;
    }

    /// The program on it is of the version before or not, from the next start on: it reads the oldest format level alone, and
    /// its tz data lack a zone.
    pub fn be_older(&self, is_older: bool) {
        self.stand().is_older = is_older;
    }

    /// The process stands still.
    pub fn freeze(&self) {
        let mut stand = self.stand();
        if let Some(process) = &stand.process {
            process.freeze();
            stand.frozen = true;
        }
    }

    /// It goes on.
    pub fn thaw(&self) {
        let mut stand = self.stand();
        stand.frozen = false;
        if let Some(process) = &stand.process {
            process.thaw();
        }
    }

    /// What its process said when a task of it panicked: a defect.
    #[must_use]
    pub fn panicked(&self) -> Option<String> {
        self.stand().process.as_ref().and_then(Process::panicked)
    }

    fn bury(&self, how: &'static str) -> Option<Process> {
        let mut stand = self.stand();
        let process = stand.process.take()?;
        stand.frozen = false;
        let running = stand.running.take();
        let applied = running.as_ref().map(|running| running.consensus.applied().0);
        stand.applied = stand.applied.max(applied);
        stand.known = running.as_ref().map(Known::of).or_else(|| stand.known.take());
        drop(stand);
        self.0.around.net.hang_up(&self.0.address);
        self.0.around.trace.note(how, &[self.0.place as u64], || format!("machine {}", self.0.place));
        if let Some(running) = running {
            running.consensus.answer_nothing_forwarded();
        }
        Some(process)
    }

    /// What the process does: start, serve, and end when it must.
    async fn live(self, process: Process) {
        let end = match self.begin(&process).await {
            Ok(life) => {
                let mut fatal = life.consensus().fatal();
                let running = Running {
                    process: process.clone(),
                    front: life.front(),
                    consensus: life.consensus().clone(),
                };
                self.stand().running = Some(running);
                process.spawn(self.clone().stir(life.consensus().changes()));
                let reason = fatal.wait_for(Option::is_some).await;
                reason.map_or_else(|ended| ended.to_string(), |reason| reason.clone().unwrap_or_default())
            }
            Err(error) => format!("it does not start: {error}"),
        };
        // From outside of the process: one that ends cannot wait for its own end.
        let host = self.clone();
        let over = async move {
            if let Some(process) = host.bury("end") {
                process.kill();
                host.0.disk.killed();
                host.0.around.trace.note("ended", &[host.0.place as u64], || end.clone());
                host.stand().ended = Some(end);
            }
        };
        tokio::spawn(over);
        std::future::pending::<()>().await;
    }

    async fn stir(self, mut changes: watch::Receiver<LogIndex>) {
        while changes.changed().await.is_ok() {
            self.0.around.stir.notify_one();
        }
    }

    async fn begin(&self, process: &Process) -> Result<Life, campanile_raft::StartError> {
        let clock = Clock::given(self.0.clock);
        let guard = Guard { max_ahead: self.0.around.tuning.max_ahead };
        let ear = self.0.around.net.listener(&self.0.address, process);
        let consensus = Consensus::start(self.options(clock, guard), ear).await?;
        let ledger = consensus.ledger();
        let records = Records::new(ledger.clone(), Arc::new(Asked::new(ledger, history_keys)));
        let nobody = Arc::new(Vec::new);
        let setting = Setting {
            cluster: "simulated".into(),
            clock,
            guard,
            plan: plan::Options {
                lacks_zone: self.stand().is_older.then_some(NEW_ZONE),
                ..plan::Options::default()
            },
            retention: self.0.around.tuning.retention,
            limits: Limits { in_flight: 256, per_host: 64 },
            egress: Arc::new(Egress::new(Rules::default(), nobody)),
            sender: webhook::Sender::by(Arc::clone(&self.0.around.exit)),
            records,
            knock: self.0.around.net.knock(&self.0.address),
            gate: None,
            keeping: None,
        };
        Ok(Life::start(consensus, setting))
    }

    fn options(&self, clock: Clock, guard: Guard) -> Options {
        let around = &self.0.around;
        let wall = Arc::new(move || clock.now());
        let defaults = Options::new("simulated", self.0.disk.folder(), &self.0.address, wall);
        Options {
            api_address: format!("http://{}", self.0.address),
            peers: around.peers.to_vec(),
            stamp_bound: life::stamp_bound(guard),
            tz_data: campanile_core::cron::tzdb_version(),
            image_every_entries: around.tuning.image_every,
            keep_entries: around.tuning.keep_entries,
            heartbeat: around.tuning.heartbeat,
            election_min: around.tuning.election_min,
            election_max: around.tuning.election_max,
            ledger: LedgerOptions { segment_bytes: around.tuning.segment_bytes, upkeep: Upkeep::Inline },
            open_log: self.0.disk.opener(),
            start_log: self.0.disk.starter(),
            network: around.net.from(&self.0.address),
            speaks: if self.stand().is_older { FormatLevel::OLDEST } else { FormatLevel::NEWEST },
            ..defaults
        }
    }

    fn stand(&self) -> MutexGuard<'_, Stand> {
        self.0.stand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
