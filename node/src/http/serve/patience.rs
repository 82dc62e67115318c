//! A connection whose other side takes nothing for too long is cut off.
//!
//! Answers are pulled: while a reader does not take what was written, nobody asks for more, and nobody would notice that it
//! never will. So the writing side has a deadline, which moves on whenever something was taken. It counts only while
//! something waits to be taken: a connection that is merely silent may stay so.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Longer than any network stalls that still works.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A listener of connections with patience.
pub(super) struct Patient<L>(pub(super) L);

/// A connection with a deadline for whoever does not take what is written.
pub(super) struct Connection<C> {
    inner: C,
    patience: Duration,
    deadline: Pin<Box<Sleep>>,
    waits: bool,
}

impl<L: Listener> Listener for Patient<L> {
    type Io = Connection<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (connection, address) = self.0.accept().await;
        (Connection::new(connection, PATIENCE), address)
    }

    fn local_addr(&self) -> Result<Self::Addr> {
        self.0.local_addr()
    }
}

impl<C> Connection<C> {
    fn new(inner: C, patience: Duration) -> Self {
        Self { inner, patience, deadline: Box::pin(tokio::time::sleep(patience)), waits: false }
    }

    /// What became of a write, unless the other side has let it wait for too long.
    fn judge<T>(&mut self, context: &mut Context<'_>, written: Poll<Result<T>>) -> Poll<Result<T>> {
        if written.is_ready() {
            self.waits = false;
            return written;
        }
        if !self.waits {
            self.waits = true;
            let deadline = Instant::now() + self.patience;
            self.deadline.as_mut().reset(deadline);
        }
        ready!(self.deadline.as_mut().poll(context));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the other side takes nothing")))
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for Connection<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for Connection<C> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.judge(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.judge(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.judge(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(context);
        self.judge(context, shut)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::task::Waker;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn who_takes_nothing_is_cut_off_and_who_is_only_silent_is_not() {
        let (near, mut far) = duplex(16);
        // Without any patience: whatever must wait at all has waited for too long.
        let mut near = Connection::new(near, Duration::ZERO);
        for _ in 0..3 {
            near.write_all(&[7; 16]).await.unwrap();
            near.flush().await.unwrap();
            far.read_exact(&mut [0; 16]).await.unwrap();
        }
        near.write_all(&[7; 16]).await.unwrap();
        let error = near.write_all(&[7; 1]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn whatever_is_taken_begins_the_patience_anew() {
        let (near, mut far) = duplex(16);
        let mut near = Connection::new(near, PATIENCE);
        let mut context = Context::from_waker(Waker::noop());
        let mut write = |near: &mut Connection<_>| Pin::new(near).poll_write(&mut context, &[7; 16]);
        assert!(matches!(write(&mut near), Poll::Ready(Ok(16))));
        let begun = near.deadline.deadline();
        assert!(write(&mut near).is_pending() && near.waits);
        let first = near.deadline.deadline();
        assert!(first > begun && write(&mut near).is_pending());
        assert_eq!(near.deadline.deadline(), first, "it runs while nothing is taken");
        far.read_exact(&mut [0; 8]).await.unwrap();
        assert!(matches!(write(&mut near), Poll::Ready(Ok(8))) && !near.waits);
        assert!(write(&mut near).is_pending() && near.deadline.deadline() > first);
    }
}
