//! Taking a file from a node: piece by piece, however long it is.

use std::io;

use super::{Call, Client, Error};

impl Client {
    /// Takes what stands at `path` and gives it to `take` piece by piece. Nothing is given before a node has begun, and no
    /// second node is asked once one has. Answers the number of bytes.
    ///
    /// # Errors
    /// As [`Client::download`]; [`Error::Broken`] when it breaks off or `take` fails, and what was taken is worthless then.
    pub async fn download_into(
        &self,
        path: &str,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<u64, Error> {
        let mut download = self.download(&Call::get(path)).await?;
        let mut bytes = 0;
        loop {
            let piece = match download.piece().await {
                Ok(piece) => piece,
                Err(error) => return Err(Error::Broken { bytes, why: error.to_string() }),
            };
            let Some(piece) = piece else { return Ok(bytes) };
            take(&piece)
                .map_err(|error| Error::Broken { bytes, why: format!("cannot write it: {error}") })?;
            bytes += piece.len() as u64;
        }
    }
}
