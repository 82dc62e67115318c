//! Restoring into a node that runs: the backup is put beside its data, and the next start founds the cluster on it.
//!
//! A running node cannot take it: its log would have to jump in front of openraft's eyes. And with other members it would
//! not be enough: they have a log of their own, and two of three would outvote it. So it is taken only by a node that is the
//! whole cluster, and only while that cluster is empty.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use campanile_core::machine::Machine;
use campanile_raft::seed::{Staging, Unfit};
use futures_util::{Stream, StreamExt};
use tokio::sync::{Semaphore, mpsc};

use super::look::{Contents, look};
use crate::problem::{Code, Problem};
use crate::service::{Consistency, Service};

/// Pieces that wait for the disk.
const IN_FLIGHT: usize = 16;

/// Takes in a backup for the next start of this node.
#[derive(Clone)]
pub struct Restores {
    data: PathBuf,
    /// From here on nothing is written to the cluster that the backup will replace.
    closed: Arc<AtomicBool>,
    place: Arc<Semaphore>,
}

impl Restores {
    /// For the node with this data directory.
    #[must_use]
    pub fn new(data: PathBuf) -> Self {
        Self { data, closed: Arc::default(), place: Arc::new(Semaphore::new(1)) }
    }

    /// Why nothing may be written any more, once a backup is staged or about to be.
    ///
    /// # Errors
    /// `not_ready`.
    pub fn allows_writes(&self) -> Result<(), Problem> {
        match self.closed.load(Ordering::SeqCst) {
            true => Err(Problem::new(
                Code::NotReady,
                "a backup was given to this node: restart it, and it begins with that",
            )),
            false => Ok(()),
        }
    }

    /// Takes in a backup, reads all of it, and stages it.
    ///
    /// # Errors
    /// `conflict` when the cluster is not empty or has more nodes than this one; `bad_request` when the file is no whole
    /// backup.
    pub async fn take<E: std::error::Error>(
        &self,
        service: &Service,
        body: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<Contents, Problem> {
        self.allows_writes()?;
        let _place = self
            .place
            .try_acquire()
            .map_err(|_| Problem::new(Code::RateLimited, "another backup is being given to this node"))?;
        refuse_in_use(service).await?;
        let (staging, contents) = self.receive(body).await?;
        self.closed.store(true, Ordering::SeqCst);
        // Asked again now that nothing can be written: what came while the file did is not thrown away.
        let staged = match refuse_in_use(service).await {
            Ok(()) => blocking(move || staging.finish()).await,
            Err(problem) => Err(problem),
        };
        self.closed.store(staged.is_ok(), Ordering::SeqCst);
        staged.map(|()| contents)
    }

    /// The file as it arrives, on its own thread, then all of it once more from the disk.
    async fn receive<E: std::error::Error>(
        &self,
        mut body: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<(Staging, Contents), Problem> {
        let (pieces, mut received) = mpsc::channel::<Bytes>(IN_FLIGHT);
        let data = self.data.clone();
        let writing = blocking(move || {
            let mut staging = Staging::beside_stores(&data)?;
            while let Some(piece) = received.blocking_recv() {
                io::Write::write_all(&mut staging, &piece).map_err(Unfit::writing)?;
            }
            let contents = look(&staging.path(), |_| ())?;
            Ok((staging, contents))
        });
        let feeding = async move {
            while let Some(piece) = body.next().await {
                let piece = piece.map_err(|_| Problem::bad_request("the body did not arrive whole"))?;
                // Writing has failed when nobody takes it, and says why.
                if pieces.send(piece).await.is_err() {
                    break;
                }
            }
            Ok::<(), Problem>(())
        };
        let (fed, written) = tokio::join!(feeding, writing);
        fed?;
        written
    }
}

async fn refuse_in_use(service: &Service) -> Result<(), Problem> {
    let machine = service.read(Consistency::Linearizable).await?;
    if service.quorum().status().nodes.len() > 1 {
        return Err(Problem::new(
            Code::Conflict,
            "this cluster has more nodes than this one, and they would outvote a backup: stop all of them, empty their data directories, and put the backup into that of one with `campanile restore FILE --data DIR` before it starts",
        ));
    }
    match held(&machine) {
        None => Ok(()),
        Some(what) => Err(Problem::new(
            Code::Conflict,
            format!("this cluster has {what}: a backup is restored into an empty one"),
        )),
    }
}

/// Something that users have put.
fn held(machine: &Machine) -> Option<&'static str> {
    let holds = [
        (machine.schedule_count() > 0, "schedules"),
        (machine.calendars_after(None).next().is_some(), "calendars"),
        (machine.queues().next().is_some(), "queues"),
        (machine.secrets_after(None).next().is_some(), "secrets"),
        (machine.live_count() > 0, "firings"),
        (machine.backfills().next().is_some(), "backfills"),
    ];
    holds.into_iter().find(|(is_held, _)| *is_held).map(|(_, what)| what)
}

async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, Unfit> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(act).await {
        Ok(done) => done.map_err(|unfit| problem(&unfit)),
        Err(_) => Err(Problem::new(Code::Internal, "reading the backup panicked")),
    }
}

fn problem(unfit: &Unfit) -> Problem {
    match unfit {
        Unfit::Trouble(trouble) => Problem::new(Code::Internal, trouble.to_string()),
        unfit => Problem::bad_request(format!("this is no backup that can be restored: {unfit}")),
    }
}
