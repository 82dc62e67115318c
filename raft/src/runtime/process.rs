//! A simulated process: whose task is polled, by what seed, and what dies with it.
//!
//! A real node has none. A process is current while one of its tasks is polled or dropped, on the thread that does so.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::task::{AbortHandle, JoinHandle};

thread_local! {
    static CURRENT: RefCell<Option<Process>> = const { RefCell::new(None) };
}

/// A simulated process. Clones are the same one.
#[derive(Clone)]
pub struct Process(Arc<Mutex<Inner>>);

struct Inner {
    random: StdRng,
    tasks: Vec<AbortHandle>,
    /// How many tasks there may be before those that have ended are forgotten.
    room: usize,
    dead: bool,
    /// Those who were to be polled while it was frozen; `None` while it is not.
    frozen: Option<Vec<Waker>>,
    panic: Option<String>,
    /// How many times as long as others it waits between two looks.
    leisure: u32,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Process").field("tasks", &self.lock().tasks.len()).finish_non_exhaustive()
    }
}

impl Process {
    /// A process whose randomness comes from `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let random = StdRng::seed_from_u64(seed);
        let inner =
            Inner { random, tasks: Vec::new(), room: 64, dead: false, frozen: None, panic: None, leisure: 1 };
        Self(Arc::new(Mutex::new(inner)))
    }

    /// From here on it waits so many times as long between two looks ([`super::between_looks`]): for worlds of months, which
    /// would be nothing but looks.
    #[must_use]
    pub fn at_leisure(self, times: u32) -> Self {
        self.lock().leisure = times;
        self
    }

    pub(super) fn leisure(&self) -> u32 {
        self.lock().leisure
    }

    /// Whose task is polled on this thread.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Whether the task that is polled on this thread belongs to a simulated process.
    #[must_use]
    pub fn is_here() -> bool {
        CURRENT.with_borrow(Option::is_some)
    }

    /// Starts a task of this process.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let task = tokio::spawn(self.within(future));
        self.keep(task.abort_handle());
        task
    }

    /// A future that is polled, and dropped, as a part of this process.
    pub fn within<F: Future>(&self, future: F) -> Within<F> {
        Within { process: self.clone(), future: Some(Box::pin(future)) }
    }

    /// Runs something as a part of this process.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _here = self.enter();
        work()
    }

    /// Ends every task of this process at once: none of them is polled again, and what is spawned later is not either.
    pub fn kill(&self) {
        let mut inner = self.lock();
        inner.dead = true;
        let tasks = std::mem::take(&mut inner.tasks);
        drop(inner);
        tasks.iter().for_each(AbortHandle::abort);
    }

    /// Polls none of its tasks from now on, as a stopped process or a machine that sleeps; time goes on meanwhile.
    pub fn freeze(&self) {
        self.lock().frozen.get_or_insert_default();
    }

    /// Goes on.
    pub fn thaw(&self) {
        let waiting = self.lock().frozen.take();
        waiting.into_iter().flatten().for_each(Waker::wake);
    }

    /// Whether it is frozen; then `waker` is woken when it goes on.
    fn is_frozen(&self, waker: &Waker) -> bool {
        let mut inner = self.lock();
        inner.frozen.as_mut().is_some_and(|waiting| {
            waiting.push(waker.clone());
            true
        })
    }

    /// What the first task said that panicked, if one did: a defect.
    #[must_use]
    pub fn panicked(&self) -> Option<String> {
        self.lock().panic.clone()
    }

    pub(super) fn keep(&self, task: AbortHandle) {
        let mut inner = self.lock();
        if inner.dead {
            return task.abort();
        }
        if inner.tasks.len() >= inner.room {
            inner.tasks.retain(|task| !task.is_finished());
            inner.room = 64.max(2 * inner.tasks.len());
        }
        inner.tasks.push(task);
    }

    pub(super) fn with_random<T>(&self, take: impl FnOnce(&mut StdRng) -> T) -> T {
        take(&mut self.lock().random)
    }

    fn note_panic(&self, why: &(dyn std::any::Any + Send)) {
        let text = why.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| why.downcast_ref::<String>().cloned());
        self.lock().panic.get_or_insert_with(|| text.unwrap_or_else(|| "a task panicked".into()));
    }

    fn enter(&self) -> Here {
        Here(CURRENT.replace(Some(self.clone())))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While it lives, a process is current; then the one before is again.
struct Here(Option<Process>);

impl Drop for Here {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// A future of a process.
pub struct Within<F> {
    process: Process,
    /// Empty only while it is dropped.
    future: Option<Pin<Box<F>>>,
}

impl<F> std::fmt::Debug for Within<F> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Within").finish_non_exhaustive()
    }
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        let Some(future) = this.future.as_mut() else { return Poll::Pending };
        if this.process.is_frozen(cx.waker()) {
            return Poll::Pending;
        }
        let _here = this.process.enter();
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(polled) => polled,
            Err(why) => {
                this.process.note_panic(&*why);
                resume_unwind(why)
            }
        }
    }
}

impl<F> Drop for Within<F> {
    fn drop(&mut self) {
        let _here = self.process.enter();
        self.future = None;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::super::{between_looks, fill, spawn};
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_killed_process_ends_with_all_that_its_tasks_have_spawned() {
        let (process, turns) = (Process::seeded(1), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&turns);
        process.spawn(async move {
            spawn(async move {
                loop {
                    counted.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            });
        });
        tokio::time::sleep(Duration::from_millis(4_500)).await;
        process.kill();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(turns.load(Ordering::Relaxed), 5);
        assert!(process.spawn(async {}).await.is_err(), "a dead process runs nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn a_frozen_process_goes_on_where_it_stood_and_time_has_passed() {
        let (process, began) = (Process::seeded(1), tokio::time::Instant::now());
        let task = process.spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            began.elapsed()
        });
        tokio::time::sleep(Duration::from_millis(500)).await;
        process.freeze();
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert!(!task.is_finished());
        process.thaw();
        assert!(task.await.is_ok_and(|took| took >= Duration::from_millis(9_500)));
    }

    #[tokio::test]
    async fn the_same_seed_gives_the_same_bytes_and_another_one_does_not() {
        let bytes = |seed| {
            Process::seeded(seed).run(|| {
                let mut bytes = [0; 16];
                fill(&mut bytes);
                bytes
            })
        };
        assert_eq!(bytes(7), bytes(7));
        assert_ne!(bytes(7), bytes(8));
    }

    #[test]
    fn a_process_at_leisure_looks_less_often_and_a_real_node_as_often_as_it_says() {
        let look = || between_looks(Duration::from_millis(250));
        assert_eq!(look(), Duration::from_millis(250));
        assert_eq!(Process::seeded(1).run(look), Duration::from_millis(250));
        assert_eq!(Process::seeded(1).at_leisure(40).run(look), Duration::from_secs(10));
    }

    #[tokio::test]
    async fn what_a_task_said_when_it_panicked_is_kept() {
        let process = Process::seeded(1);
        assert!(process.spawn(async { panic!("a defect") }).await.is_err());
        assert_eq!(process.panicked().as_deref(), Some("a defect"));
    }
}
