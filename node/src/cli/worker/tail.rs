//! What a command prints: passed on line by line, and its end kept.

use std::sync::{Mutex, PoisonError};

use campanile_core::attempt::MAX_OUTPUT;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::ending::Ending;

const CHUNK: usize = 16 * 1024;
/// A line that is longer is passed on in pieces.
const MAX_LINE: usize = 64 * 1024;

/// The end of what was printed, on both streams, in the order in which it came.
#[derive(Debug)]
pub(super) struct Tail(Mutex<Ending>);

impl Default for Tail {
    fn default() -> Self {
        Self(Mutex::new(Ending::of(MAX_OUTPUT)))
    }
}

impl Tail {
    fn keep(&self, chunk: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(chunk);
    }

    /// The end as text.
    pub(super) fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

/// Reads `from` to its end, keeps its tail, and passes it on to `to`, whole lines at once, so that the lines of commands
/// that run at the same time do not run into each other.
pub(super) async fn copy(
    mut from: impl AsyncRead + Unpin,
    to: Option<impl AsyncWrite + Unpin>,
    kept: &Tail,
) -> std::io::Result<()> {
    let mut lines = Lines { to, waiting: Vec::new() };
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = from.read(&mut chunk).await?;
        if read == 0 {
            break;
        }
        kept.keep(&chunk[..read]);
        lines.pass(&chunk[..read]).await;
    }
    lines.end().await;
    Ok(())
}

/// Whole lines to a stream. When the stream fails, the rest is kept to itself: a command must not fail because nobody
/// reads what the worker prints.
struct Lines<W> {
    to: Option<W>,
    waiting: Vec<u8>,
}

impl<W: AsyncWrite + Unpin> Lines<W> {
    async fn pass(&mut self, chunk: &[u8]) {
        if self.to.is_none() {
            return;
        }
        self.waiting.extend_from_slice(chunk);
        let whole = match self.waiting.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if self.waiting.len() > MAX_LINE => self.waiting.len(),
            None => return,
        };
        let rest = self.waiting.split_off(whole);
        self.write().await;
        self.waiting = rest;
    }

    async fn end(mut self) {
        if !self.waiting.is_empty() {
            self.waiting.push(b'\n');
            self.write().await;
        }
    }

    async fn write(&mut self) {
        let Some(to) = &mut self.to else { return };
        let written = async { to.write_all(&self.waiting).await.and(to.flush().await) };
        if written.await.is_err() {
            self.to = None;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn lines_are_passed_on_whole_and_the_end_is_kept() {
        let (mut out, kept) = (Vec::new(), Tail::default());
        copy(&b"one\ntwo\nthr"[..], Some(&mut out), &kept).await.unwrap();
        assert_eq!(
            (String::from_utf8(out).unwrap().as_str(), kept.text().as_str()),
            ("one\ntwo\nthr\n", "one\ntwo\nthr")
        );
    }

    #[tokio::test]
    async fn of_much_output_the_last_16_kib_are_kept_as_text() {
        let kept = Tail::default();
        let output =
            [b"x".repeat(3 * MAX_OUTPUT), "ä".repeat(MAX_OUTPUT).into_bytes(), b"end".to_vec()].concat();
        copy(&output[..], None::<Vec<u8>>, &kept).await.unwrap();
        let text = kept.text();
        assert!(text.len() <= MAX_OUTPUT && text.len() > MAX_OUTPUT - 4, "{}", text.len());
        assert!(text.ends_with("äend") && !text.contains('x'));
        let kept = Tail::default();
        kept.keep(&[0xff; MAX_OUTPUT]);
        assert!(kept.text().len() <= MAX_OUTPUT);
    }

    #[tokio::test]
    async fn a_reader_that_leaves_does_not_stop_the_command() {
        let (reader, writer) = tokio::io::duplex(4);
        drop(reader);
        let kept = Tail::default();
        copy(&b"one\ntwo\n"[..], Some(writer), &kept).await.unwrap();
        assert_eq!(kept.text(), "one\ntwo\n");
    }
}
