//! What is wrong with an archive, and where.

use std::{io, sync::Arc};

use crate::ledger::{Flaw, Head, Position};

/// A place in an archive that is not what it should be.
#[derive(Clone, Debug, thiserror::Error)]
#[error("at byte {offset}, {}: {fault}", behind(*after))]
pub struct Flawed {
    /// The first byte of the frame in question.
    pub offset: u64,
    /// The last row before it.
    pub after: Option<Position>,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with an archive.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Fault {
    /// It is another kind of file.
    #[error("this is not an archive")]
    Foreign,
    /// A later version wrote it. Remedy: read it with that version.
    #[error("a newer version wrote it (format {found}, this one knows {known})")]
    TooNew {
        /// The format found.
        found: u16,
        /// The newest format that this version reads.
        known: u16,
    },
    /// It ends before its end frame.
    #[error("it is cut off")]
    CutOff,
    /// The bytes are not those that were written.
    #[error("the checksum differs")]
    Checksum,
    /// The bytes are whole and make no sense here.
    #[error("{0}")]
    Malformed(&'static str),
    /// A row is not the next one, or not of this history.
    #[error(transparent)]
    Row(#[from] Flaw),
    /// Its rows end elsewhere than it says.
    #[error("it says it ends {} after {} rows in all, and it ends {} after {} or with another hash",
        at(.stated.position), .stated.rows, at(.found.position), .found.rows)]
    End {
        /// The head that the end frame states.
        stated: Box<Head>,
        /// The head behind the rows that were read.
        found: Box<Head>,
    },
    /// The sum over the whole file is another one.
    #[error("the sum over the whole file differs")]
    Sum,
    /// Something stands behind the end frame.
    #[error("bytes stand behind its end")]
    Trailing,
    /// It cannot be read further.
    #[error("it cannot be read")]
    Io(#[source] Arc<io::Error>),
}

impl Fault {
    /// What a failed read means.
    pub(crate) fn reading(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::CutOff,
            _ => Self::Io(Arc::new(error)),
        }
    }
}

fn behind(after: Option<Position>) -> String {
    after.map_or("before its first row".to_owned(), |position| format!("behind row {position}"))
}

fn at(position: Option<Position>) -> String {
    position.map_or("before any row".to_owned(), |position| format!("at {position}"))
}
