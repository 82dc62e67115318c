//! When what stands is told again, and what goes: over a ledger of given size and age, without a cluster.

#![allow(clippy::unwrap_used)]
use campanile_raft::runtime;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::time::Instant;

use campanile_core::command::{AdmitNode, Command, LeaderEpoch, Request};
use campanile_core::event::LedgerEnd;
use campanile_core::id::{NodeId, Term};
use campanile_core::machine::Machine;
use campanile_core::reply::Reply;
use campanile_raft::level;
use campanile_storage::Kind;
use campanile_storage::ledger::{Ledger, Options, Upkeep};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::leader::office::NoReply;

/// A log in this process whose rows go into a real ledger, and one office over it.
#[derive(Clone)]
struct Desk {
    machine: Arc<Mutex<Machine>>,
    ledger: Arc<Mutex<Ledger>>,
    asked: Arc<AtomicU64>,
    odd: Arc<AtomicBool>,
    _dir: Arc<tempfile::TempDir>,
}

impl Desk {
    fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { segment_bytes: 4 << 10, upkeep: Upkeep::Inline };
        let ledger = Ledger::open(&dir.path().join("ledger"), options).unwrap();
        let desk = Self {
            machine: Arc::default(),
            ledger: Arc::new(Mutex::new(ledger)),
            asked: Arc::default(),
            odd: Arc::default(),
            _dir: Arc::new(dir),
        };
        let (node, term) = (NodeId(1), Term(1));
        let epoch = LeaderEpoch { node, incarnation: 1, term, ledger: None, leaderless_since: None };
        desk.commit(Clock::system().now(), Body::LeaderEpoch(epoch));
        desk
    }

    fn commit(&self, now: Timestamp, body: Body) -> Reply {
        let mut machine = self.machine.lock().unwrap();
        let index = LogIndex(machine.applied().0 + 1);
        let command = Command { at: now.max(machine.clock()), epoch: machine.epoch(), body };
        let (reply, rows) = machine.apply(index, &command);
        let rows: Vec<_> =
            rows.iter().map(|row| level::write(Kind::Event, machine.format_level(), row).unwrap()).collect();
        let mut ledger = self.ledger.lock().unwrap();
        ledger.append(index.0, &rows).unwrap();
        ledger.drop_prefix(machine.keeping().floor.0);
        reply
    }

    /// So many rows.
    fn rows(&self, count: usize) {
        for _ in 0..count {
            let request = Request { by: "test".into(), key: None };
            let admit = AdmitNode { peer_address: "nowhere:1".into(), api_address: "".into(), request };
            self.commit(Clock::system().now(), Body::AdmitNode(admit));
        }
    }

    fn keeping(&self) -> Keeping {
        self.machine.lock().unwrap().keeping().clone()
    }

    fn reader(&self) -> LedgerReader {
        self.ledger.lock().unwrap().reader()
    }
}

impl Office for Desk {
    fn node(&self) -> NodeId {
        NodeId(1)
    }

    fn view(&self) -> Arc<Machine> {
        Arc::new(self.machine.lock().unwrap().clone())
    }

    async fn applied_beyond(&self, _: LogIndex) {
        std::future::pending::<()>().await;
    }

    fn allows(&self, _: Timestamp) -> bool {
        true
    }

    async fn compared_end(&self) -> Option<LedgerEnd> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let head = self.reader().head();
        let position = head.position.filter(|_| !self.odd.load(Ordering::Relaxed))?;
        Some(LedgerEnd { index: LogIndex(position.index), n: position.n, hash: head.hash })
    }

    async fn propose(
        &self,
        now: Timestamp,
        plan: impl FnOnce(Timestamp, &Machine) -> Option<Body> + Send,
    ) -> Result<Option<Reply>, NoReply> {
        let body = plan(now, &self.view());
        Ok(body.map(|body| self.commit(now, body)))
    }
}

fn quick() -> Retention {
    Retention {
        age: Span::from_secs(3_600),
        max_bytes: 1 << 30,
        least_gap: Span::from_millis(0),
        check_rows: 100,
        look_every: Duration::from_millis(1),
        pause: Duration::from_millis(1),
    }
}

/// Lets the duty go on until this is true.
async fn until(desk: &Desk, retention: Retention, done: impl Fn(&Desk) -> bool) {
    let stop = CancellationToken::new();
    let keeper = Keeper::new(desk.clone(), Clock::system(), desk.reader(), retention);
    let keeper = runtime::spawn(keeper.run(stop.clone()));
    let started = Instant::now();
    while !done(desk) {
        assert!(started.elapsed() < Duration::from_secs(60), "it took too long: {:?}", desk.keeping());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    stop.cancel();
    keeper.await.unwrap();
}

#[tokio::test]
async fn the_end_is_stated_after_so_many_rows_and_peers_are_asked_first() {
    let desk = Desk::open();
    until(&desk, quick(), |desk| desk.asked.load(Ordering::Relaxed) == 1).await;
    assert_eq!(desk.keeping().checked, None, "taking office has stated it");
    let more = desk.clone();
    until(&desk, quick(), |desk| {
        if desk.asked.load(Ordering::Relaxed) == 2 && desk.reader().head().rows < 100 {
            more.rows(150);
        }
        desk.keeping().checked.is_some()
    })
    .await;
    assert!(desk.asked.load(Ordering::Relaxed) >= 3);
}

#[tokio::test]
async fn an_end_that_most_nodes_do_not_have_is_not_stated() {
    let desk = Desk::open();
    desk.odd.store(true, Ordering::Relaxed);
    let retention = Retention { check_rows: 0, ..quick() };
    until(&desk, retention, |desk| desk.asked.load(Ordering::Relaxed) > 3).await;
    assert_eq!(desk.keeping().checked, None);
}

#[tokio::test]
async fn what_grew_large_is_told_again_and_the_oldest_rows_go_until_it_fits() {
    let desk = Desk::open();
    desk.rows(300);
    let before = desk.reader().head().bytes;
    let retention = Retention { max_bytes: before / 4, check_rows: u64::MAX, ..quick() };
    until(&desk, retention, |desk| desk.keeping().floor > LogIndex(0)).await;
    let first = desk.reader().first().unwrap().unwrap();
    assert_eq!(LogIndex(first.index), desk.keeping().floor);
    assert!(first.index > 300, "nothing was told again before {first}");
    desk.rows(300);
    let floor = desk.keeping().floor;
    until(&desk, retention, |desk| desk.keeping().floor > floor).await;
}

#[test]
fn only_what_is_older_than_the_retention_goes_by_age() {
    let at = |hours: u64| Timestamp::EPOCH + Span::from_secs(hours * 3_600);
    let place = |from, hours| Restated { from: LogIndex(from), at: at(hours) };
    let keeping = Keeping {
        floor: LogIndex(10),
        restated: vec![place(10, 1), place(20, 2), place(30, 3), place(40, 4)],
        ..Keeping::default()
    };
    let retention = Retention { age: Span::from_secs(24 * 3_600), max_bytes: 1_000, ..Retention::default() };
    let goes = |hours, kept| {
        let size = Size { kept, untold: 0, began: None };
        droppable(&keeping, size, at(hours), &retention).map(|before| before.0)
    };
    assert_eq!(goes(25, 1_000), None, "it begins there already");
    assert_eq!(goes(26, 1_000), Some(20));
    assert_eq!(goes(27, 1_000), Some(30), "the newest place that is old enough");
    assert_eq!(goes(5, 1_001), Some(20), "one place at a time when there is too much");
}
