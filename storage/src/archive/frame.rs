//! One frame as bytes: `[kind u8][length u32][crc32c u32][payload]`; the checksum covers everything but itself.
//!
//! Must not know in which order frames stand.

use super::flawed::Fault;
use crate::ledger::position::u32_at;

/// Bytes before the payload.
pub(crate) const HEADER: usize = 9;

/// What a frame carries. The numbers are in files: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Part {
    /// A piece of the caller's note.
    Note = 1,
    /// A piece of what the image covers, in the caller's form.
    Covered = 2,
    /// A piece of the image.
    Image = 3,
    /// The head of the ledger before the first row.
    Base = 4,
    /// Whole rows.
    Rows = 5,
    /// The head of the ledger behind the last row, and the sum over the file.
    End = 6,
}

impl Part {
    fn from_number(number: u8) -> Option<Self> {
        [Self::Note, Self::Covered, Self::Image, Self::Base, Self::Rows, Self::End]
            .into_iter()
            .find(|part| *part as u8 == number)
    }
}

/// The bytes before a payload.
pub(crate) fn header(part: Part, payload: &[u8]) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[0] = part as u8;
    let length = u32::try_from(payload.len()).expect("a payload is far below 4 GiB");
    bytes[1..5].copy_from_slice(&length.to_le_bytes());
    let crc = checksum(&bytes, payload);
    bytes[5..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// The length that a header tells.
pub(crate) fn length(header: &[u8; HEADER]) -> Result<usize, Fault> {
    let length = u32_at(header, 1) as usize;
    if length > super::FRAME_LIMIT {
        return Err(Fault::Malformed("a frame is longer than one can be"));
    }
    Ok(length)
}

/// What the frame is, when it is one. An unknown part with a good checksum is of a later version.
pub(crate) fn part(header: &[u8; HEADER], payload: &[u8]) -> Result<Part, Fault> {
    if checksum(header, payload) != u32_at(header, 5) {
        return Err(Fault::Checksum);
    }
    Part::from_number(header[0]).ok_or(Fault::Malformed("a frame is of an unknown kind"))
}

fn checksum(header: &[u8; HEADER], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..5]), payload)
}
