//! Taking a backup of the node that runs here: one at a time, and never in anybody's way.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use campanile_raft::{Consensus, Image};
use futures_util::stream::{self, Stream};
use tokio::sync::{Semaphore, mpsc};

use super::{FORMAT, KIND, Note};
use crate::clock::Clock;
use crate::problem::{Code, Problem};
use crate::wire::time::Instant;

/// Bytes of a piece, and pieces that wait for the reader: what a backup takes of the memory, beside the encoded state.
const PIECE: usize = 256 << 10;
const IN_FLIGHT: usize = 4;
/// How long a reader may take for a piece: one that hangs must not keep the next backup away.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes backups of this node. Clones share the one place for it.
#[derive(Clone)]
pub struct Backups {
    consensus: Consensus,
    cluster: String,
    clock: Clock,
    place: Arc<Semaphore>,
}

impl Backups {
    /// Of this node.
    #[must_use]
    pub fn new(consensus: Consensus, cluster: String, clock: Clock) -> Self {
        Self { consensus, cluster, clock, place: Arc::new(Semaphore::new(1)) }
    }

    /// Begins one: everything that this node had applied when it was asked, as a file in pieces. A piece that is an error
    /// means that the file is not whole.
    ///
    /// # Errors
    /// `rate_limited` while another one is taken; `not_ready` when no image can be made.
    pub async fn begin(
        &self,
    ) -> Result<(Note, impl Stream<Item = io::Result<Bytes>> + Send + use<>), Problem> {
        let place = self.place.clone().try_acquire_owned().map_err(|_| {
            Problem::new(Code::RateLimited, "a backup of this node is being taken: one at a time")
        })?;
        let image = self.consensus.image_of_now().await;
        let image = image.map_err(|error| Problem::new(Code::NotReady, error.to_string()))?;
        let note = self.note(&image);
        let (pieces, received) = mpsc::channel(IN_FLIGHT);
        let head = serde_json::to_vec(&note).unwrap_or_default();
        tokio::task::spawn_blocking(move || {
            // Free when it is done, or when the reader has gone.
            let _place = place;
            copy(&image, &head, &Pieces(pieces));
        });
        let pieces =
            stream::unfold(received, |mut pieces| async move { Some((pieces.recv().await?, pieces)) });
        Ok((note, pieces))
    }

    fn note(&self, image: &Image) -> Note {
        Note {
            kind: KIND.into(),
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            cluster: self.cluster.clone(),
            node: self.consensus.node().0,
            made_at: Instant(self.clock.now()).to_string(),
            index: image.index().0,
        }
    }
}

fn copy(image: &Image, note: &[u8], pieces: &Pieces) {
    match image.write(note, BufWriter::with_capacity(PIECE, pieces)) {
        Ok(()) => tracing::info!(index = image.index().0, "a backup was taken"),
        Err(error) => {
            tracing::warn!(index = image.index().0, %error, "a backup was not finished");
            // The reader may be gone, which is often why. One that is there must not take what it has for a whole file.
            let _ = pieces.send(Err(io::Error::other(error)));
        }
    }
}

/// Writes pieces to where the reader takes them from. On blocking threads only.
struct Pieces(mpsc::Sender<io::Result<Bytes>>);

impl Pieces {
    fn send(&self, piece: io::Result<Bytes>) -> io::Result<()> {
        let sent = tokio::time::timeout(PATIENCE, self.0.send(piece));
        match tokio::runtime::Handle::current().block_on(sent) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Write for &Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(&bytes[..bytes.len().min(PIECE)]);
        let length = piece.len();
        self.send(Ok(piece)).map(|()| length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
