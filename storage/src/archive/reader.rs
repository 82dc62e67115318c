//! Reading an archive, front to back: every checksum, the order of its parts, the chain of its rows, and its end.

use std::io::Read;

use bytes::{Bytes, BytesMut};
use sha2::{Digest, Sha256};

use super::{
    MAGIC, NOTE_LIMIT, VERSION,
    flawed::{Fault, Flawed},
    frame::{self, Part},
};
use crate::{
    codec::IMAGE_LIMIT,
    ledger::{Flaw, Hash, Head, Position, Row, chain_hash, run::Weigher},
    varint,
};

/// An archive that is being read. Memory: the image, if there is one, and one frame.
#[derive(Debug)]
pub struct ArchiveReader<R: Read> {
    input: Input<R>,
    note: Bytes,
    image: Option<(Bytes, Bytes)>,
    base: Head,
    head: Head,
    weigher: Weigher,
    /// Rows of the current frame that are not read yet, and where the frame begins.
    rows: (Bytes, u64),
    outcome: Option<Result<(), Flawed>>,
}

/// A row and whether it continues those before it.
#[derive(Clone, Debug)]
pub struct Item {
    /// The row with the hash that it states.
    pub row: Row,
    /// The first byte of the frame that carries it.
    pub offset: u64,
    /// Why it does not continue the row before it. The row behind it is judged by the hash that this one states, so a
    /// chain that breaks once is told once.
    pub flaw: Option<Flaw>,
}

impl<R: Read> ArchiveReader<R> {
    /// Reads what stands before the rows: note, image and base.
    ///
    /// # Errors
    /// What is wrong there; another kind of file; one of a newer version.
    pub fn open(input: R) -> Result<Self, Flawed> {
        let mut input = Input::new(input);
        input.open().map_err(|fault| input.flawed(fault, None))?;
        Self::read_front(&mut input).map_err(|fault| input.flawed(fault, None)).map(|(note, image, base)| {
            Self {
                note,
                image,
                base,
                head: base,
                weigher: Weigher::default(),
                rows: (Bytes::new(), input.at),
                outcome: None,
                input,
            }
        })
    }

    /// What the writer noted.
    pub fn note(&self) -> &[u8] {
        &self.note
    }

    /// The image, if there is one: what it covers, and its bytes.
    pub fn image(&self) -> Option<(Bytes, Bytes)> {
        self.image.clone()
    }

    /// The head before the first row.
    pub fn base(&self) -> Head {
        self.base
    }

    /// The head behind the rows so far, by the hashes that they state. What the whole archive ends in once the last row
    /// was read.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Bytes read so far.
    pub fn offset(&self) -> u64 {
        self.input.read
    }

    /// The next row, which continues those before it; `None` at the end, when the archive is whole.
    ///
    /// # Errors
    /// The first thing that is wrong, and from then on always.
    pub fn next_row(&mut self) -> Result<Option<Row>, Flawed> {
        let after = self.head.position;
        let Some(Item { row, offset, flaw }) = self.next_item()? else { return Ok(None) };
        let Some(flaw) = flaw else { return Ok(Some(row)) };
        self.fail(Flawed { offset, after, fault: flaw.into() })
    }

    /// As `next_row`, but goes on behind a row that does not continue the one before it.
    ///
    /// # Errors
    /// What makes it impossible to go on: a cut, a checksum, an end that is not the one stated; from then on always.
    pub fn next_item(&mut self) -> Result<Option<Item>, Flawed> {
        match &self.outcome {
            Some(Ok(())) => return Ok(None),
            Some(Err(flawed)) => return Err(flawed.clone()),
            None => {}
        }
        while self.rows.0.is_empty() {
            match self.turn_page() {
                Ok(true) => {}
                Ok(false) => {
                    self.outcome = Some(Ok(()));
                    return Ok(None);
                }
                Err(fault) => {
                    let flawed = self.input.flawed(fault, self.head.position);
                    return self.fail(flawed);
                }
            }
        }
        let offset = self.rows.1;
        match take_row(&mut self.rows.0) {
            Some(row) => Ok(Some(self.judge(row, offset))),
            None => {
                let fault = Fault::Malformed("a row does not fit into its frame");
                self.fail(Flawed { offset, after: self.head.position, fault })
            }
        }
    }

    fn read_front(input: &mut Input<R>) -> Result<Front, Fault> {
        let mut next = input.frame()?;
        let note = input.pieces(Part::Note, &mut next, NOTE_LIMIT)?;
        let mut image = None;
        if next.0 == Part::Covered {
            let covered = input.pieces(Part::Covered, &mut next, NOTE_LIMIT)?;
            image = Some((covered, input.pieces(Part::Image, &mut next, IMAGE_LIMIT)?));
        }
        let base = match next {
            (Part::Base, payload) => {
                <&[u8; Head::ENCODED]>::try_from(&payload[..]).ok().and_then(Head::from_bytes)
            }
            _ => return Err(OUT_OF_PLACE),
        };
        Ok((note, image, base.ok_or(Fault::Malformed("its base is not one"))?))
    }

    /// The next frame of rows; `false` when the archive ends here, as it should.
    fn turn_page(&mut self) -> Result<bool, Fault> {
        let sum = self.input.sum.clone();
        match self.input.frame()? {
            (Part::Rows, rows) => {
                self.rows = (rows, self.input.at);
                Ok(true)
            }
            (Part::End, payload) => self.judge_end(&payload, sum).map(|()| false),
            _ => Err(OUT_OF_PLACE),
        }
    }

    fn judge_end(&mut self, payload: &[u8], sum: Sha256) -> Result<(), Fault> {
        let stated = payload.split_first_chunk::<{ Head::ENCODED }>();
        let Some((Some(stated), told)) = stated.map(|(head, told)| (Head::from_bytes(head), told)) else {
            return Err(Fault::Malformed("its end is not one"));
        };
        if told != &sum.finalize()[..] {
            return Err(Fault::Sum);
        }
        if stated != self.head {
            return Err(Fault::End { stated: Box::new(stated), found: Box::new(self.head) });
        }
        if self.input.more()? {
            return Err(Fault::Trailing);
        }
        Ok(())
    }

    fn judge(&mut self, row: Row, offset: u64) -> Item {
        let flaw = if !row.position.may_follow(self.head.position) {
            Some(Flaw::Order(row.position))
        } else if chain_hash(&self.head.hash, row.position, &row.body) != row.hash {
            Some(Flaw::Hash(row.position))
        } else {
            None
        };
        let weight = self.weigher.weigh(row.position, row.body.len());
        self.head = self.head.advanced(row.position, row.hash, weight);
        Item { row, offset, flaw }
    }

    fn fail<T>(&mut self, flawed: Flawed) -> Result<T, Flawed> {
        self.outcome = Some(Err(flawed.clone()));
        Err(flawed)
    }
}

type Front = (Bytes, Option<(Bytes, Bytes)>, Head);

const OUT_OF_PLACE: Fault = Fault::Malformed("a frame is out of place");

/// Takes a row off the head of a frame.
fn take_row(rows: &mut Bytes) -> Option<Row> {
    let mut rest = &rows[..];
    let index = varint::take(&mut rest)?;
    let n = varint::take(&mut rest)?.try_into().ok()?;
    let (hash, mut rest) = rest.split_first_chunk::<{ size_of::<Hash>() }>()?;
    let length = usize::try_from(varint::take(&mut rest)?).ok().filter(|length| *length <= rest.len())?;
    let row = Row { position: Position::new(index, n), hash: *hash, body: rows.slice_ref(&rest[..length]) };
    *rows = rows.slice_ref(&rest[length..]);
    Some(row)
}

/// The bytes of an archive, summed up as they are read.
#[derive(Debug)]
struct Input<R> {
    input: R,
    sum: Sha256,
    read: u64,
    /// Where the current frame begins.
    at: u64,
}

impl<R: Read> Input<R> {
    fn new(input: R) -> Self {
        Self { input, sum: Sha256::new(), read: 0, at: 0 }
    }

    fn flawed(&self, fault: Fault, after: Option<Position>) -> Flawed {
        Flawed { offset: self.at, after, fault }
    }

    fn open(&mut self) -> Result<(), Fault> {
        let (mut magic, mut version) = ([0; MAGIC.len()], [0; 2]);
        self.exactly(&mut magic)?;
        if magic != MAGIC {
            return Err(Fault::Foreign);
        }
        self.exactly(&mut version)?;
        match u16::from_le_bytes(version) {
            VERSION => Ok(()),
            found => Err(Fault::TooNew { found, known: VERSION }),
        }
    }

    fn frame(&mut self) -> Result<(Part, Bytes), Fault> {
        self.at = self.read;
        let mut header = [0; frame::HEADER];
        self.exactly(&mut header)?;
        let mut payload = BytesMut::zeroed(frame::length(&header)?);
        self.exactly(&mut payload)?;
        Ok((frame::part(&header, &payload)?, payload.freeze()))
    }

    /// A text that stands in one or more frames from `next` on; leaves the frame behind it there.
    fn pieces(&mut self, part: Part, next: &mut (Part, Bytes), limit: usize) -> Result<Bytes, Fault> {
        if next.0 != part {
            return Err(OUT_OF_PLACE);
        }
        let first = std::mem::replace(next, self.frame()?).1;
        if next.0 != part {
            return Ok(first);
        }
        let mut whole = BytesMut::from(first);
        while next.0 == part {
            if whole.len() + next.1.len() > limit {
                return Err(Fault::Malformed("a part is longer than one can be"));
            }
            whole.extend_from_slice(&next.1);
            *next = self.frame()?;
        }
        Ok(whole.freeze())
    }

    fn exactly(&mut self, bytes: &mut [u8]) -> Result<(), Fault> {
        self.input.read_exact(bytes).map_err(Fault::reading)?;
        self.read += bytes.len() as u64;
        self.sum.update(bytes);
        Ok(())
    }

    fn more(&mut self) -> Result<bool, Fault> {
        match self.input.read_exact(&mut [0]) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(Fault::reading(error)),
        }
    }
}
