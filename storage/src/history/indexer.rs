//! The thread that writes the index behind the ledger, off the way of commits.
//!
//! It is woken without being told what for, and always does the same: look whether the index still fits the ledger, forget
//! what retention dropped, index what is new. A lost wake-up costs a quarter of a second.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{Entry, Extract, History, Progress, Standing, Unreadable};
use crate::{
    Trouble,
    ledger::{LedgerReader, Position},
};

/// What is read, or written, before the thread looks whether it is to stop.
const BATCH_ROWS: usize = 2_000;
const BATCH_BYTES: usize = 4 << 20;
/// The most keys that are put in order at once: 56 bytes each, so 28 MB while much is to be done. The more, the more
/// neighbours a key has: in a build from nothing each schedule's rows of hours are written side by side.
const GATHERED: usize = 500_000;
/// Rows between two remembered hashes, by which a ledger that was cut is still known.
const CHECKPOINT_ROWS: usize = 50_000;
/// The longest sleep when nobody wakes the thread.
const IDLE: Duration = Duration::from_millis(250);

/// The handle of the thread; dropping it ends the thread after its batch.
#[derive(Debug)]
pub struct Indexer {
    history: History,
    ledger: LedgerReader,
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Signal {
    state: Mutex<State>,
    wake: Condvar,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct State {
    woken: bool,
    stop: bool,
    /// The last row looked at, as waiters see it.
    through: Option<Position>,
}

impl Indexer {
    /// Starts to keep `history` up with `ledger`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn spawn(history: History, ledger: LedgerReader, extract: Extract) -> Result<Self, Trouble> {
        ledger.want_forgotten();
        let signal = Arc::new(Signal::default());
        let pass =
            Pass { history: history.clone(), ledger: ledger.clone(), extract, generation: None, unmarked: 0 };
        let shared = Arc::clone(&signal);
        let thread = std::thread::Builder::new()
            .name("history-indexer".into())
            .spawn(move || run(pass, &shared))
            .map_err(|source| Trouble::while_doing("starting the history's thread", source))?;
        Ok(Self { history, ledger, signal, thread: Some(thread) })
    }

    /// Says that there may be something new.
    pub fn wake(&self) {
        self.signal.state().woken = true;
        self.signal.wake.notify_one();
    }

    /// Waits until every row is indexed that the ledger now holds of entries up to `index`; false when it takes longer than
    /// `timeout`.
    pub fn wait_for(&self, index: u64, timeout: Duration) -> bool {
        // Entries without rows are passed with the next row, and nothing is behind the head.
        let wanted = self.ledger.head().position.min(Some(Position::end_of(index)));
        let deadline = Instant::now() + timeout;
        let mut state = self.signal.state();
        while state.through < wanted {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state.woken = true;
            self.signal.wake.notify_one();
            state = self.signal.moved.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The index that it keeps.
    pub fn history(&self) -> &History {
        &self.history
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.signal.state().stop = true;
        self.signal.wake.notify_one();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the history's thread ended in a panic");
        }
    }
}

impl Signal {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until there may be something new; false when it is time to stop.
    fn sleep(&self) -> bool {
        let state = self.state();
        let idle = |state: &mut State| !state.woken && !state.stop;
        let (mut state, _) =
            self.wake.wait_timeout_while(state, IDLE, idle).unwrap_or_else(PoisonError::into_inner);
        state.woken = false;
        !state.stop
    }

    fn is_stopping(&self) -> bool {
        self.state().stop
    }

    /// Tells waiters how far it is; false when it is time to stop.
    fn tell(&self, through: Option<Position>) -> bool {
        let mut state = self.state();
        state.through = through;
        self.moved.notify_all();
        !state.stop
    }
}

/// What one round does, and what it remembers for the next.
struct Pass {
    history: History,
    ledger: LedgerReader,
    extract: Extract,
    /// The generation of the ledger that the index was compared with; `None` when it must be compared.
    generation: Option<u64>,
    /// Rows since a hash was remembered.
    unmarked: usize,
}

/// Why a round ended early.
enum Ended {
    /// The index is to be thrown away.
    Index(Unreadable),
    /// The ledger does not read: that is somebody else's to act on.
    Ledger(Trouble),
}

impl From<Unreadable> for Ended {
    fn from(unreadable: Unreadable) -> Self {
        Self::Index(unreadable)
    }
}

impl From<Trouble> for Ended {
    fn from(trouble: Trouble) -> Self {
        Self::Ledger(trouble)
    }
}

fn run(mut pass: Pass, signal: &Signal) {
    loop {
        let round = catch_unwind(AssertUnwindSafe(|| pass.catch_up(signal)));
        let round = round.unwrap_or_else(|_| Err(Unreadable { why: "a panic while indexing".into() }.into()));
        let trouble = match round {
            Ok(()) => None,
            Err(Ended::Ledger(trouble)) => Some(trouble),
            Err(Ended::Index(Unreadable { why })) => {
                tracing::warn!(why, "the history index is built again");
                pass.generation = None;
                pass.history.start_anew().err()
            }
        };
        if let Some(trouble) = trouble {
            tracing::error!(%trouble, "the history index lags behind");
        }
        if !signal.sleep() {
            return;
        }
    }
}

impl Pass {
    /// Batch after batch, until nothing is new.
    fn catch_up(&mut self, signal: &Signal) -> Result<(), Ended> {
        loop {
            self.align()?;
            self.forget()?;
            let more = self.index_batch(signal)?;
            let go_on = signal.tell(self.history.progress().map(|progress| progress.position));
            if !more || !go_on {
                return Ok(());
            }
        }
    }

    /// Makes the index fit the ledger, when that may have changed under it.
    fn align(&mut self) -> Result<(), Ended> {
        let generation = self.ledger.generation();
        if self.generation == Some(generation) {
            return Ok(());
        }
        match self.history.standing(&self.ledger)? {
            Standing::Current => {}
            Standing::Rewound(to) => self.history.with(|store| store.rewind(to))?,
            Standing::Foreign => {
                tracing::info!("the history index is not this ledger's and is built again");
                self.history.start_anew()?;
            }
        }
        self.generation = Some(generation);
        Ok(())
    }

    /// Removes the rows of dropped segments, which are read a last time for their keys.
    fn forget(&self) -> Result<(), Ended> {
        while let Some(rows) = self.ledger.take_forgotten() {
            for batch in rows?.chunks(BATCH_ROWS) {
                let mut keys = Vec::new();
                batch.iter().for_each(|row| (self.extract)(row, &mut keys));
                self.history.with(|store| store.remove(keys))?;
            }
        }
        Ok(())
    }

    /// Indexes the next rows, at most up to where the ledger ended when it began, so that nobody waits for rows that came
    /// later; false when there were none, or it is time to stop.
    fn index_batch(&mut self, signal: &Signal) -> Result<bool, Ended> {
        let Some(mut gathered) = self.gather(signal)? else { return Ok(false) };
        if self.generation != Some(self.ledger.generation()) {
            // Rows of two ledgers would be mixed.
            return Ok(true);
        }
        gathered.entries.sort_unstable_by_key(|entry| entry.key);
        for batch in gathered.entries.chunks(BATCH_ROWS) {
            self.history.with(|store| store.insert(batch))?;
            if signal.is_stopping() {
                return Ok(false);
            }
        }
        self.history.with(|store| store.note(gathered.through, &gathered.on_the_way))?;
        Ok(true)
    }

    fn gather(&mut self, signal: &Signal) -> Result<Option<Gathered>, Ended> {
        let end = self.ledger.head().position;
        let mut after = self.history.progress().map(|progress| progress.position);
        let (mut gathered, mut keys) = (None::<Gathered>, Vec::new());
        while after < end && !signal.is_stopping() {
            let rows = self.ledger.read_placed(after, BATCH_ROWS, BATCH_BYTES)?;
            let Some((last, _)) = rows.last() else { break };
            let through = Progress { position: last.position, hash: last.hash };
            let so_far = gathered.get_or_insert_with(|| Gathered::new(through));
            so_far.through = through;
            self.unmarked += rows.len();
            if self.unmarked >= CHECKPOINT_ROWS {
                so_far.on_the_way.push(through);
                self.unmarked = 0;
            }
            for (row, place) in &rows {
                (self.extract)(row, &mut keys);
                so_far.entries.extend(keys.drain(..).map(|key| Entry { key, place: *place }));
            }
            if so_far.entries.len() >= GATHERED {
                break;
            }
            after = Some(through.position);
        }
        Ok(gathered)
    }
}

/// What is to be added next.
struct Gathered {
    entries: Vec<Entry>,
    through: Progress,
    /// Rows that are to be remembered.
    on_the_way: Vec<Progress>,
}

impl Gathered {
    fn new(through: Progress) -> Self {
        Self { entries: Vec::new(), through, on_the_way: Vec::new() }
    }
}
