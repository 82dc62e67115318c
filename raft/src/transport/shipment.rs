//! An image with its ledger as one body, in pieces, with a checksum at the end.
//!
//! ```text
//!   body   = head image row* end
//!   head   = [u32][frame(Wire, ShipmentHead)]
//!   image  = [1][u64 length][bytes]
//!   row    = [2][index u64][n u32][hash 16][u32 length][body]
//!   end    = [3][SHA-256 of everything before]                        all numbers little endian
//! ```
//! Files are read and written on blocking threads, with a few pieces in flight: an image of any size takes no more memory
//! here than its encoded self once. Each row's running hash is checked again as it is taken in.

use crate::runtime::{self, Process, Runtime};
mod pieces;

use std::io::{self, BufWriter, Read, Write};
use std::time::Duration;

use campanile_storage::codec::Kind;
use campanile_storage::ledger::{Head, Position, Row};
use futures_util::stream::{self, StreamExt};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use self::pieces::{Arriving, PIECE, Piece, Pieces, hand_over, in_flight};
use super::message;
use super::network::Body;
use crate::format::VoteForm;
use crate::image::{Covered, CoveredForm, Incoming, Outgoing, Parcel, Site};
use crate::types::{Types, Vote};

/// The state machine's snapshot data rides on this runtime's types.
pub type C = Types<Runtime>;

/// How long a piece may take: without it a peer that hangs would hold an install for ever.
const PIECE_PATIENCE: Duration = Duration::from_secs(10);
/// The longest image and the longest row that are taken in.
const IMAGE_LIMIT: u64 = 4 << 30;
const ROW_LIMIT: u32 = 4 << 20;
/// Rows taken in at once.
const PAGE_BYTES: usize = 256 << 10;

const IMAGE: u8 = 1;
const ROW: u8 = 2;
const END: u8 = 3;

/// What comes first.
#[derive(Debug, Serialize, Deserialize)]
struct ShipmentHead {
    vote: VoteForm,
    covered: CoveredForm,
    base: Vec<u8>,
}

/// The body that carries a parcel.
#[must_use]
pub fn body(vote: Vote, parcel: Parcel) -> Body {
    let (pieces, received) = mpsc::channel(in_flight());
    runtime::blocking(move || {
        let failed = match parcel {
            Parcel::Outgoing(outgoing) => ship(vote, &outgoing, Pieces(pieces.clone())),
            Parcel::Incoming(_) => Err(io::Error::other("an image that is being installed cannot be sent")),
        };
        if let Err(error) = failed {
            tracing::warn!(%error, "cannot ship an image");
            // The receiver may be gone, which is often why shipping failed.
            let _ = hand_over(&pieces, Err(error));
        }
    });
    let frames = stream::unfold(received, |mut pieces| async move {
        let piece: Piece = pieces.recv().await?;
        Some((piece.map(Frame::data), pieces))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// Writes a parcel.
///
/// # Errors
/// When it cannot be read or the other side is gone.
pub fn ship(vote: Vote, outgoing: &Outgoing, pieces: impl Write) -> io::Result<()> {
    let mut out = Summed::new(BufWriter::with_capacity(PIECE, pieces));
    let base = outgoing.base().map_err(io::Error::other)?;
    let head = message::encode(&ShipmentHead {
        vote: (&vote).into(),
        covered: (&outgoing.covered).into(),
        base: base.to_bytes().to_vec(),
    });
    out.write_all(&length(head.len())?.to_le_bytes())?;
    out.write_all(&head)?;
    let image = outgoing.body()?;
    out.write_all(&[IMAGE])?;
    out.write_all(&(image.len() as u64).to_le_bytes())?;
    out.write_all(&image)?;
    drop(image);
    let mut after = base.position;
    loop {
        let page = outgoing.rows(after).map_err(io::Error::other)?;
        let Some(last) = page.last() else { break };
        after = Some(last.position);
        page.iter().try_for_each(|row| ship_row(&mut out, row))?;
    }
    out.write_all(&[END])?;
    let sum = out.sum();
    out.inner.write_all(&sum)?;
    out.inner.flush()
}

fn ship_row(out: &mut impl Write, row: &Row) -> io::Result<()> {
    out.write_all(&[ROW])?;
    out.write_all(&row.position.index.to_le_bytes())?;
    out.write_all(&row.position.n.to_le_bytes())?;
    out.write_all(&row.hash)?;
    out.write_all(&length(row.body.len())?.to_le_bytes())?;
    out.write_all(&row.body)
}

/// Takes in a body: everything is staged when this returns, and nothing of this node has changed.
///
/// # Errors
/// When it breaks off, takes too long, fails a check, or the disk fails.
pub async fn take_in(body: Body, site: Site) -> io::Result<(Vote, Incoming)> {
    let (pieces, received) = mpsc::channel(in_flight());
    let work = move || unpack(&mut Arriving::new(received), &site);
    // Where nothing runs beside, it is unpacked when all of it is here.
    let (unpacking, later) = match Process::is_here() {
        true => (None, Some(work)),
        false => (Some(runtime::blocking(work)), None),
    };
    let mut body = body.into_data_stream();
    loop {
        let piece = tokio::time::timeout(PIECE_PATIENCE, body.next()).await;
        let piece = match piece {
            Ok(Some(piece)) => piece.map_err(io::Error::other),
            Ok(None) => break,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the next piece of an image did not come")),
        };
        let broken = piece.is_err();
        // The other end is gone when unpacking has failed, and it says why.
        if pieces.send(piece).await.is_err() || broken {
            break;
        }
    }
    drop(pieces);
    match (unpacking, later) {
        (Some(unpacking), _) => unpacking.await.map_err(io::Error::other)?,
        (None, Some(work)) => work(),
        (None, None) => Err(io::Error::other("nobody unpacks")),
    }
}

/// Reads a parcel and stages it. Blocking.
///
/// # Errors
/// As [`take_in`].
pub fn unpack(source: &mut impl Read, site: &Site) -> io::Result<(Vote, Incoming)> {
    let mut source = Summed::new(source);
    let length = read_u32(&mut source)?;
    let head: ShipmentHead = message::decode(&read_bytes(&mut source, u64::from(length.min(ROW_LIMIT)))?)
        .map_err(io::Error::other)?;
    let covered: Covered = head.covered.into_covered(Kind::Wire).map_err(io::Error::other)?;
    let base: Option<Head> = head.base.try_into().ok().and_then(|bytes| Head::from_bytes(&bytes));
    let base = base.ok_or_else(|| malformed("the base of the ledger"))?;
    if read_u8(&mut source)? != IMAGE {
        return Err(malformed("the order of its parts"));
    }
    let length = read_u64(&mut source)?;
    if length > IMAGE_LIMIT {
        return Err(malformed("the length of the image"));
    }
    let image = read_bytes(&mut source, length)?;
    let incoming = Incoming::assemble(site, covered, image, base, |_| page(&mut source))?;
    Ok((head.vote.into(), incoming))
}

/// The next rows; none at the end, whose checksum must be right.
fn page(source: &mut Summed<impl Read>) -> io::Result<Vec<Row>> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while bytes < PAGE_BYTES {
        match read_u8(source)? {
            ROW => {
                let row = read_row(source)?;
                bytes += row.body.len();
                rows.push(row);
            }
            END if rows.is_empty() => {
                let sum = source.sum();
                let told = read_bytes(&mut source.inner, sum.len() as u64)?;
                return if told == sum { Ok(rows) } else { Err(malformed("the checksum")) };
            }
            END => {
                source.again = Some(END);
                return Ok(rows);
            }
            _ => return Err(malformed("the order of its parts")),
        }
    }
    Ok(rows)
}

fn read_row(source: &mut impl Read) -> io::Result<Row> {
    let position = Position::new(read_u64(source)?, read_u32(source)?);
    let mut hash = [0; 16];
    source.read_exact(&mut hash)?;
    let length = read_u32(source)?;
    if length > ROW_LIMIT {
        return Err(malformed("the length of a row"));
    }
    Ok(Row { position, hash, body: read_bytes(source, u64::from(length))?.into() })
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a shipped image is malformed: {what}"))
}

fn length(bytes: usize) -> io::Result<u32> {
    u32::try_from(bytes).map_err(io::Error::other)
}

fn read_u8(source: &mut impl Read) -> io::Result<u8> {
    let mut byte = [0];
    source.read_exact(&mut byte)?;
    Ok(byte[0])
}

fn read_u32(source: &mut impl Read) -> io::Result<u32> {
    let mut word = [0; 4];
    source.read_exact(&mut word)?;
    Ok(u32::from_le_bytes(word))
}

fn read_u64(source: &mut impl Read) -> io::Result<u64> {
    let mut word = [0; 8];
    source.read_exact(&mut word)?;
    Ok(u64::from_le_bytes(word))
}

/// Exactly so many bytes. They are asked for as they come, so that a length that lies costs nothing.
fn read_bytes(source: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if source.by_ref().take(length).read_to_end(&mut bytes)? as u64 == length {
        return Ok(bytes);
    }
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a shipped image broke off"))
}

/// Sums up what goes through.
struct Summed<S> {
    inner: S,
    sum: Sha256,
    /// A byte that was read and is to be read again; it is summed up already.
    again: Option<u8>,
}

impl<S> Summed<S> {
    fn new(inner: S) -> Self {
        Self { inner, sum: Sha256::new(), again: None }
    }

    fn sum(&self) -> Vec<u8> {
        self.sum.clone().finalize().to_vec()
    }
}

impl<S: Write> Write for Summed<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<S: Read> Read for Summed<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let (Some(first), Some(byte)) = (buffer.first_mut(), self.again) {
            *first = byte;
            self.again = None;
            return Ok(1);
        }
        let read = self.inner.read(buffer)?;
        self.sum.update(&buffer[..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use campanile_storage::ledger::Head;

    use super::*;
    use crate::types::{StoredMembership, log_id};

    /// Worked out from the description of the format, not copied from the output.
    const HEAD: &str = "0701000300000000000000020000000000000001010300000000000000090000000000000000000000000000000000000000000000002d000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000002d00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000";

    #[test]
    fn the_head_of_a_shipment_keeps_its_form() {
        let covered = Covered {
            last: Some(log_id(3, 9)),
            membership: StoredMembership::default(),
            ledger: Head::default(),
        };
        let base = Head::default().to_bytes().to_vec();
        let vote = Vote::new_committed(3, 2);
        let head = ShipmentHead { vote: (&vote).into(), covered: (&covered).into(), base };
        let bytes = message::encode(&head);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, HEAD);
        let read: ShipmentHead = message::decode(&bytes).unwrap();
        assert_eq!(read.covered.into_covered(Kind::Wire).unwrap(), covered);
    }
}
