//! The ledger: what happened, row by row, in append-only segment files. Immutable, checksummed, chained by a running hash.
//!
//! ```text
//!  append ──pwrite──> newest segment (file)      older segments (files)
//!     │                     ▲    ▲                  ▲        │
//!     └─ new head ─> view <─┘    └── LedgerReader ──┘        └─ unlink by retention
//!                                                                 keeper (thread): reserve, sync, unlink
//! ```
//!
//! An append is one `pwrite` and no sync: rows behind the newest image are made again from the log. What is promised is
//! what `sync` answered for, and only that is called damage when it does not read (see `recover`). A node opens the ledger
//! at the head that its image names (`Ledger::open_at`), and the replay of the log appends the same rows again.
//! Must not know what a row means.

pub(crate) mod cursor;
pub(crate) mod cut;
pub(crate) mod ends;
pub(crate) mod found;
pub(crate) mod install;
pub(crate) mod keeper;
pub(crate) mod lock;
pub(crate) mod position;
pub(crate) mod reader;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod run;
pub(crate) mod scan;
pub(crate) mod segment;
pub(crate) mod shared;
pub(crate) mod sparse;
pub(crate) mod synced;
pub(crate) mod verify;

use std::{path::Path, sync::Arc};

pub use self::{
    ends::End,
    install::{Install, Staged},
    keeper::Upkeep,
    position::{Hash, Head, Place, Position, Row, chain_hash},
    reader::{LedgerReader, SegmentInfo},
    record::{Flaw, MAX_BODY},
    recover::Cut,
    scan::{Scan, Scanned},
    verify::{Broken, Why, verify_chain, verify_rows},
};
use self::{
    keeper::{Job, Keeper},
    lock::Lock,
    recover::Recovered,
    run::Run,
    segment::Segment,
    shared::{Shared, View},
};
use crate::Trouble;

/// How a ledger keeps its files.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A segment that has this many bytes is full; the entry that fills it may go beyond.
    pub segment_bytes: u32,
    /// Who reserves, syncs and unlinks files.
    pub upkeep: Upkeep,
}

impl Default for Options {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, upkeep: Upkeep::Thread }
    }
}

/// The one writer. Dropping it waits for its thread; it does not sync.
#[derive(Debug)]
pub struct Ledger {
    // Before the lock, so that the thread has ended when another process may come in.
    keeper: Keeper,
    shared: Arc<Shared>,
    options: Options,
    active: Arc<Segment>,
    head: Head,
    pending: Pending,
    cut: Option<Cut>,
    /// None for a ledger that is only being received: nobody else looks for it.
    _lock: Option<Lock>,
}

/// Records that are not in a file yet.
#[derive(Debug, Default)]
struct Pending {
    bytes: Vec<u8>,
    steps: Vec<(Position, u32)>,
    /// Rows that are not in a record yet.
    run: Run,
}

/// Makes rows durable from another thread than the writer's.
#[derive(Clone, Debug)]
pub struct Syncer {
    shared: Arc<Shared>,
}

impl Syncer {
    /// As `Ledger::sync`.
    ///
    /// # Errors
    /// As `Ledger::sync`.
    pub fn sync(&self) -> Result<Head, Trouble> {
        self.shared.sync()
    }
}

impl Ledger {
    /// Opens the ledger in `dir`, or starts one. Checks the files that were written since the last sync, and cuts a torn
    /// tail; older files are checked when they are first read.
    ///
    /// The end may lie in the middle of an entry: cut to the image before appending, or use `open_at`.
    ///
    /// # Errors
    /// `Locked`, `Unopenable`, `Full`; `Damaged` with file and byte when something that was promised does not read;
    /// `TooNew`.
    pub fn open(dir: &Path, options: Options) -> Result<Self, Trouble> {
        let lock = Lock::take(dir)?;
        install::settle_unfinished(dir, None)?;
        Self::with(dir, options, Some(lock), recover::recover(dir)?)
    }

    /// Opens the ledger as the image that recorded `head` needs it: rows behind are cut, and what is left must end in
    /// exactly that head. An install that was staged for this image is completed; one for another image is removed.
    ///
    /// # Errors
    /// As `open`; `Damaged` when the ledger does not hold what the image was taken with.
    pub fn open_at(dir: &Path, options: Options, head: &Head) -> Result<Self, Trouble> {
        let lock = Lock::take(dir)?;
        install::settle_unfinished(dir, Some(head))?;
        let mut ledger = Self::with(dir, options, Some(lock), recover::recover(dir)?)?;
        ledger.cut_to_head(head)?;
        Ok(ledger)
    }

    /// Starts an empty ledger behind `before`, for an install.
    fn start(dir: &Path, options: Options, before: Head) -> Result<Self, Trouble> {
        Self::with(dir, options, None, recover::start(dir, before)?)
    }

    fn with(dir: &Path, options: Options, lock: Option<Lock>, found: Recovered) -> Result<Self, Trouble> {
        let Recovered { segments, head, synced, file, cut } = found;
        let active = Arc::clone(segments.last().expect("a ledger has at least one segment"));
        let view = View { segments: segments.into(), head, floor: 0, generation: 0 };
        let shared = Arc::new(Shared::new(dir, view, synced, file));
        let keeper = Keeper::start(Arc::clone(&shared), options.segment_bytes, options.upkeep)?;
        keeper.give(Job::Reserve);
        Ok(Self { keeper, shared, options, active, head, pending: Pending::default(), cut, _lock: lock })
    }

    /// Appends the rows of the entry at `index`. Readers see them at once; they are durable after the next `sync`.
    /// Answers the new head. An entry without rows changes nothing.
    ///
    /// # Errors
    /// `Full` and `Io`; nothing was appended then.
    ///
    /// # Panics
    /// When `index` is not above that of the last row: the caller applies an entry twice, and the ledgers would part.
    pub fn append<B: AsRef<[u8]>>(&mut self, index: u64, rows: &[B]) -> Result<Head, Trouble> {
        self.append_entries([(index, rows)])
    }

    /// Appends several entries with one write.
    ///
    /// # Errors
    /// As `append`; when a segment ends between the entries, those before its end may have been appended.
    ///
    /// # Panics
    /// As `append`.
    pub fn append_entries<'a, B: AsRef<[u8]> + 'a>(
        &mut self,
        entries: impl IntoIterator<Item = (u64, &'a [B])>,
    ) -> Result<Head, Trouble> {
        for (index, rows) in entries {
            let next = self.head.next_index();
            assert!(index >= next, "rows of entry {index} behind those of {next}: an entry is applied twice");
            self.make_room()?;
            for (n, body) in (0..).zip(rows) {
                self.stage(Position::new(index, n), body.as_ref());
            }
        }
        self.close_run();
        self.flush()?;
        Ok(self.head)
    }

    /// Makes every row durable that was appended before the call. Answers the head that is durable now.
    ///
    /// # Errors
    /// `Io`, and from then on always: a sync that failed is never tried again, the node must stop.
    pub fn sync(&self) -> Result<Head, Trouble> {
        self.shared.sync()
    }

    /// Drops whole segments that hold nothing but rows of entries before `before_index`, and hides the rest of those
    /// rows from readers, so that every node answers the same. The files go in the background. The floor is not stored:
    /// after a start the caller names it again, from its state. It must not be above the newest durable image, whose
    /// replay would otherwise lack rows. Answers the bytes that were freed.
    pub fn drop_prefix(&mut self, before_index: u64) -> u64 {
        self.hide_prefix(before_index);
        let segments = self.shared.view().segments;
        // A segment ends where the next begins; the newest one stays, whatever it holds.
        let ended = segments.iter().skip(1).take_while(|next| next.before.next_index() <= before_index);
        let gone = ended.count();
        // The common case, asked with every entry: nothing is copied for it.
        if gone == 0 {
            return 0;
        }
        let dropped = segments[..gone].to_vec();
        self.shared.change(|view| view.segments = segments[gone..].into());
        let freed = dropped.iter().map(|segment| u64::from(segment.len())).sum();
        self.shared.forget(&dropped);
        self.keeper.give(Job::Unlink(dropped));
        freed
    }

    /// Hides the rows of entries before `before_index` from readers and keeps their files: for rows that a replay may still
    /// need. Like that of `drop_prefix`, this floor is not stored.
    pub fn hide_prefix(&self, before_index: u64) {
        self.shared.change(|view| view.floor = view.floor.max(before_index));
    }

    /// The end of the ledger.
    pub fn head(&self) -> Head {
        self.head
    }

    /// The torn tail that was cut when this ledger was opened.
    pub fn cut_at_open(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// A handle for reading.
    pub fn reader(&self) -> LedgerReader {
        LedgerReader::new(Arc::clone(&self.shared))
    }

    /// From now on `hear` is told, once, of damage that a reader meets. Older segments are not walked when the ledger is
    /// opened, so this is when damage in them shows. Called on the reader's thread, which waits for it.
    pub fn on_damage(&self, hear: impl Fn(&Trouble) + Send + Sync + 'static) {
        self.shared.found.listen(Box::new(hear));
    }

    /// A handle for syncing off the writer's thread.
    pub fn syncer(&self) -> Syncer {
        Syncer { shared: Arc::clone(&self.shared) }
    }

    /// Adds a row behind what is pending, and answers its running hash.
    fn stage(&mut self, position: Position, body: &[u8]) -> Hash {
        if !self.pending.run.takes(position, body) {
            self.close_run();
        }
        self.head = self.pending.run.add(&self.head, position, body);
        self.head.hash
    }

    /// Makes a record of the rows that wait for one.
    fn close_run(&mut self) {
        if self.pending.run.is_empty() {
            return;
        }
        let offset = self.active.len() as usize + self.pending.bytes.len();
        let first = self.pending.run.take_out(&mut self.pending.bytes);
        self.pending.steps.push((first, u32::try_from(offset).expect("segments stay below 4 GiB")));
    }

    /// Starts the next segment when this one is full. Only between two entries, so that a cut is one of whole entries.
    fn make_room(&mut self) -> Result<(), Trouble> {
        self.close_run();
        if self.active.len() as usize + self.pending.bytes.len() < self.options.segment_bytes as usize {
            return Ok(());
        }
        self.flush()?;
        if self.active.before == self.head {
            return Ok(());
        }
        let path = self.shared.dir.join(segment::name(self.head.next_index()));
        let file = self.keeper.new_file(&path)?;
        let next = Arc::new(Segment::start(path, file, self.head)?);
        self.shared.change(|view| {
            view.segments = view.segments.iter().cloned().chain([Arc::clone(&next)]).collect()
        });
        self.keeper.give(Job::Finish(std::mem::replace(&mut self.active, next)));
        self.keeper.give(Job::Reserve);
        Ok(())
    }

    /// Writes the records that are pending and shows them to readers; takes them back when that fails, with the rows that
    /// wait for a record behind them.
    fn flush(&mut self) -> Result<(), Trouble> {
        if self.pending.bytes.is_empty() {
            return Ok(());
        }
        let written = self.active.append(&self.pending.bytes, &self.pending.steps);
        self.pending.bytes.clear();
        self.pending.steps.clear();
        match written {
            Ok(()) => self.shared.change(|view| view.head = self.head),
            Err(_) => {
                self.pending.run.clear();
                self.head = self.shared.head();
            }
        }
        written
    }
}
