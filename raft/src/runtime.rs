//! What everything here runs on: tokio, with three things taken from it that it decides by chance.
//!
//! ```text
//!   a node        spawn ─> tokio       random ─> the thread's        blocking ─> a thread      watch ─> first come, first woken
//!   a simulated   spawn ─> tokio,      random ─> its seed            blocking ─> at once       the same
//!   process       and its list
//! ```
//! The same code runs in both: a task belongs to the [`Process`] that spawned it, which a real node has none of. Whoever
//! needs a task, a random number, a blocking call, or a value that is watched gets it here, so that a world of the
//! simulation is the same again from its seed and dies all at once (decision 0023). Time is tokio's in both: a
//! simulation pauses it.

mod process;
mod random;
pub mod watch;

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use openraft::{AsyncRuntime, OptionalSend};
use openraft_rt_tokio::{TokioInstant, TokioMpsc, TokioMutex, TokioOneshot, TokioRuntime};
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio_util::task::TaskTracker;

pub use process::Process;
pub use random::{Random, fill};

/// The runtime that openraft is instantiated with.
#[derive(Debug)]
pub struct Runtime(TokioRuntime);

/// Starts a task, which belongs to the process that starts it.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match Process::current() {
        None => tokio::spawn(future),
        Some(process) => process.spawn(future),
    }
}

/// As [`spawn`], counted by `tasks`.
pub fn spawn_on<F>(tasks: &TaskTracker, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn(tasks.track_future(future))
}

/// As [`spawn`], in a set that is waited for or dropped as a whole.
pub fn spawn_into<F>(tasks: &mut JoinSet<F::Output>, future: F)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match Process::current() {
        None => drop(tasks.spawn(future)),
        Some(process) => process.keep(tasks.spawn(process.within(future))),
    }
}

/// Runs what blocks: on a thread for that; in a simulated process at once, since threads run by chance.
pub fn blocking<F, T>(work: F) -> Blocking<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match Process::current() {
        None => Blocking::Thread(tokio::task::spawn_blocking(work)),
        Some(_) => Blocking::Done(Some(work())),
    }
}

/// What a blocking call comes to.
#[derive(Debug)]
pub enum Blocking<T> {
    /// It runs.
    Thread(JoinHandle<T>),
    /// It has run; empty once it was taken.
    Done(Option<T>),
}

impl<T> Unpin for Blocking<T> {}

impl<T> Future for Blocking<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Thread(handle) => Pin::new(handle).poll(cx),
            Self::Done(result) => result.take().map_or(Poll::Pending, |result| Poll::Ready(Ok(result))),
        }
    }
}

/// How long to wait before one looks again at what nobody tells: a clock that was set, a disk that hangs, a peer that is
/// gone. As long as that; in a simulated process so many times as long as it has leisure. Whatever is due or applied wakes
/// without a look and is never waited for by this.
#[must_use]
pub fn between_looks(wait: Duration) -> Duration {
    Process::current().map_or(wait, |process| wait * process.leisure())
}

impl AsyncRuntime for Runtime {
    type JoinError = JoinError;
    type JoinHandle<T: OptionalSend + 'static> = JoinHandle<T>;
    type Sleep = tokio::time::Sleep;
    type Instant = TokioInstant;
    type TimeoutError = tokio::time::error::Elapsed;
    type Timeout<R, T: Future<Output = R> + OptionalSend> = tokio::time::Timeout<T>;
    type ThreadLocalRng = Random;
    type Mpsc = TokioMpsc;
    type Watch = watch::Fifo;
    type Oneshot = TokioOneshot;
    type Mutex<T: OptionalSend + 'static> = TokioMutex<T>;

    fn spawn<T>(future: T) -> Self::JoinHandle<T::Output>
    where
        T: Future + OptionalSend + 'static,
        T::Output: OptionalSend + 'static,
    {
        spawn(future)
    }

    fn sleep(duration: Duration) -> Self::Sleep {
        TokioRuntime::sleep(duration)
    }

    fn sleep_until(deadline: Self::Instant) -> Self::Sleep {
        TokioRuntime::sleep_until(deadline)
    }

    fn timeout<R, F: Future<Output = R> + OptionalSend>(
        duration: Duration,
        future: F,
    ) -> Self::Timeout<R, F> {
        TokioRuntime::timeout(duration, future)
    }

    fn timeout_at<R, F: Future<Output = R> + OptionalSend>(
        deadline: Self::Instant,
        future: F,
    ) -> Self::Timeout<R, F> {
        TokioRuntime::timeout_at(deadline, future)
    }

    fn is_panic(join_error: &Self::JoinError) -> bool {
        join_error.is_panic()
    }

    fn thread_rng() -> Self::ThreadLocalRng {
        Random::here()
    }

    fn new(threads: usize) -> Self {
        Self(TokioRuntime::new(threads))
    }

    fn block_on<F: Future<Output = T>, T>(&mut self, future: F) -> T {
        self.0.block_on(future)
    }

    fn spawn_blocking<F, T>(work: F) -> impl Future<Output = Result<T, io::Error>> + Send
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let done = blocking(work);
        async move { done.await.map_err(io::Error::other) }
    }
}

#[cfg(test)]
mod tests {
    use openraft::testing::runtime::Suite;

    use super::*;

    /// openraft's own suite for runtimes.
    #[test]
    fn it_is_a_runtime_as_openraft_wants_it() {
        Suite::<Runtime>::test_all();
    }
}
