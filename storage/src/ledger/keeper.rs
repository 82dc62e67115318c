//! Work on files that must not delay an append: the next segment is reserved, full ones are synced, dropped ones unlinked.
//!
//! Done inline, reserving and syncing stalled commits for 700 ms. Nothing here is needed for an append to go on: when the
//! next segment is not ready, the writer makes one itself.

use std::{
    fs::{File, OpenOptions},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
};

use rustix::fs::{FallocateFlags, fallocate};

use super::{
    segment::Segment,
    shared::{Shared, sync_dir},
};
use crate::Trouble;

/// The file that waits to become the next segment.
pub(crate) const RESERVED: &str = "reserved";
/// Jobs that may wait. The writer does one itself when the queue is full.
const QUEUE: usize = 64;

/// Who does the work on files beside the appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// A thread of its own.
    Thread,
    /// The caller, on the way. For simulations, where nothing may happen by itself, and for one-time work.
    Inline,
}

#[derive(Debug)]
pub(crate) enum Job {
    /// Reserve space for the next segment.
    Reserve,
    /// A segment is full: make it durable and give back what it did not use.
    Finish(Arc<Segment>),
    /// Remove these files, oldest first, so that a crash in between leaves no hole.
    Unlink(Vec<Arc<Segment>>),
    /// Answer when everything before is done.
    Barrier(SyncSender<()>),
}

/// The handle of the worker; dropping it waits for the jobs that were given.
#[derive(Debug)]
pub(crate) struct Keeper {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    work: Work,
}

#[derive(Clone, Debug)]
struct Work {
    shared: Arc<Shared>,
    segment_bytes: u32,
    reserved: Arc<Mutex<Option<File>>>,
}

impl Keeper {
    pub(crate) fn start(shared: Arc<Shared>, segment_bytes: u32, upkeep: Upkeep) -> Result<Self, Trouble> {
        let work = Work { shared, segment_bytes, reserved: Arc::default() };
        if upkeep == Upkeep::Inline {
            return Ok(Self { jobs: None, thread: None, work });
        }
        let (jobs, queue) = sync_channel(QUEUE);
        let worker = work.clone();
        let thread = std::thread::Builder::new()
            .name("ledger-keeper".into())
            .spawn(move || worker.run(&queue))
            .map_err(|source| Trouble::while_doing("starting the ledger's thread", source))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), work })
    }

    /// Hands over a job. Reserving is left out when nobody is there to do it ahead.
    pub(crate) fn give(&self, job: Job) {
        let left = match &self.jobs {
            // A barrier must stand behind what it waits for, so it waits for a place in the queue.
            Some(jobs) if matches!(job, Job::Barrier(_)) => jobs.send(job).err().map(|refused| refused.0),
            Some(jobs) => jobs.try_send(job).err().map(|refused| match refused {
                TrySendError::Full(job) | TrySendError::Disconnected(job) => job,
            }),
            None => Some(job),
        };
        match left {
            None | Some(Job::Reserve) => {}
            Some(job) => self.work.perform(job),
        }
    }

    /// Waits for the jobs given so far: after it nothing touches a file until the next job.
    pub(crate) fn quiesce(&self) {
        let (done, wait) = sync_channel(1);
        self.give(Job::Barrier(done));
        // The other end is only dropped unanswered when the worker died, and then nothing touches files either.
        let _answered = wait.recv();
    }

    /// Lets go of the reserved file, because its directory is about to be replaced.
    pub(crate) fn discard_reserved(&self) {
        if self.work.reserved.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            remove(&self.work.reserved_path());
        }
    }

    /// An empty file at `path`: the reserved one if it is ready.
    pub(crate) fn new_file(&self, path: &Path) -> Result<File, Trouble> {
        // The lock is held over the rename, so that the worker cannot make a new file under the old name before it; it
        // is not waited for, since the worker holds it while it reserves.
        let made = match self
            .work
            .reserved
            .try_lock()
            .ok()
            .and_then(|mut slot| slot.take().map(|file| (file, slot)))
        {
            Some((file, _slot)) => std::fs::rename(self.work.reserved_path(), path).map(|()| file),
            None => create(path),
        };
        made.map_err(|source| Trouble::while_doing("starting a ledger segment", source))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.jobs = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the ledger's thread ended in a panic");
        }
        self.discard_reserved();
    }
}

impl Work {
    fn run(&self, queue: &Receiver<Job>) {
        for job in queue {
            self.perform(job);
        }
    }

    fn perform(&self, job: Job) {
        match job {
            Job::Reserve => self.reserve(),
            Job::Finish(segment) => self.finish(&segment),
            Job::Unlink(segments) => self.unlink(&segments),
            // Whoever asked may have gone.
            Job::Barrier(done) => drop(done.try_send(())),
        }
    }

    fn reserve(&self) {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        if reserved.is_some() {
            return;
        }
        match create(&self.reserved_path()) {
            Ok(file) => {
                // The size stays 0: the length of a segment is what was written. A file system that cannot reserve
                // gives space as it is written, which is only slower.
                if let Err(error) = fallocate(&file, FallocateFlags::KEEP_SIZE, 0, self.segment_bytes.into())
                {
                    tracing::debug!(%error, "no space reserved for the next ledger segment");
                    // A disk with too little left gives what it has, which the newest segment needs.
                    let _given_back = file.set_len(0);
                }
                *reserved = Some(file);
            }
            Err(error) => tracing::warn!(%error, "the next ledger segment is not prepared"),
        }
    }

    fn finish(&self, segment: &Segment) {
        // Cutting a file to the size it has gives back the reserved space behind it.
        if let Err(error) = segment.file.set_len(segment.len().into()) {
            tracing::warn!(segment = segment.id, %error, "space reserved for a ledger segment is not given back");
        }
        // A failure is kept by `sync` and answered to whoever asks for durability next.
        if let Err(error) = self.shared.sync() {
            tracing::error!(segment = segment.id, %error, "a full ledger segment is not durable");
        }
    }

    fn unlink(&self, segments: &[Arc<Segment>]) {
        segments.iter().for_each(|segment| remove(&segment.path));
        if let Err(error) = sync_dir(&self.shared.dir) {
            tracing::warn!(%error, "dropped ledger segments may come back after a power cut");
        }
    }

    fn reserved_path(&self) -> PathBuf {
        self.shared.dir.join(RESERVED)
    }
}

/// A new file for a segment. One that is there already is left over from a crash and was never listed.
pub(crate) fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        tracing::warn!(path = %path.display(), %error, "a file of the ledger is not removed");
    }
}
