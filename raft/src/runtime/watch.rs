//! A value that is watched: the last one sent, and a signal that it changed. As tokio's, but that waiters are woken in the
//! order in which they began to wait; tokio's wakes them by chance.

use std::ops::Deref;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use openraft::async_runtime::watch as traits;
use openraft::{OptionalSend, OptionalSync};
use tokio::sync::Notify;

/// The sending end. Clones send to the same receivers.
pub struct Sender<T>(Arc<Shared<T>>);

/// A receiving end, which remembers what it has seen.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    seen: u64,
}

/// The value. Whoever holds it keeps senders waiting.
#[derive(Debug)]
pub struct Ref<'a, T>(RwLockReadGuard<'a, T>);

/// There is no sender any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing will be sent any more")]
pub struct Ended;

/// There is no receiver any more; this is what was to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nobody watches any more")]
pub struct Unwatched<T>(pub T);

struct Shared<T> {
    value: RwLock<T>,
    version: AtomicU64,
    senders: AtomicUsize,
    receivers: AtomicUsize,
    changed: Notify,
}

/// Both ends of a new one.
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(value);
    let receiver = sender.subscribe();
    (sender, receiver)
}

impl<T> Shared<T> {
    fn read(&self) -> Ref<'_, T> {
        Ref(self.value.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}

impl<T> Sender<T> {
    /// Without receivers yet.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Shared {
            value: RwLock::new(value),
            version: AtomicU64::new(0),
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(0),
            changed: Notify::new(),
        }))
    }

    /// Sends, whether anybody watches or not, and returns the value before.
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|current| std::mem::swap(current, &mut value));
        value
    }

    /// Sends.
    ///
    /// # Errors
    /// Nobody watches: the value is as before.
    pub fn send(&self, value: T) -> Result<(), Unwatched<T>> {
        if self.0.receivers.load(Ordering::Acquire) == 0 {
            return Err(Unwatched(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// Changes the value in place.
    pub fn send_modify(&self, modify: impl FnOnce(&mut T)) {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Changes the value in place, and tells of it if the change says so.
    pub fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        let mut value = self.0.value.write().unwrap_or_else(PoisonError::into_inner);
        if !modify(&mut value) {
            return false;
        }
        // Within the lock: who sees the version finds the value.
        self.0.version.fetch_add(1, Ordering::Release);
        drop(value);
        self.0.changed.notify_waiters();
        true
    }

    /// The value.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.0.read()
    }

    /// A receiver that has seen the value of now.
    pub fn subscribe(&self) -> Receiver<T> {
        self.0.receivers.fetch_add(1, Ordering::AcqRel);
        Receiver { seen: self.0.version(), shared: Arc::clone(&self.0) }
    }

    /// How many watch.
    pub fn receiver_count(&self) -> usize {
        self.0.receivers.load(Ordering::Acquire)
    }
}

impl<T> Receiver<T> {
    /// The value, seen or not.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.shared.read()
    }

    /// The value, which is seen by that.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let value = self.shared.read();
        self.seen = self.shared.version();
        value
    }

    /// Waits for a value that was not seen, and has seen it.
    ///
    /// # Errors
    /// There is no sender any more, and nothing new.
    pub async fn changed(&mut self) -> Result<(), Ended> {
        loop {
            let mut changed = pin!(self.shared.changed.notified());
            // From here on no signal is missed.
            changed.as_mut().enable();
            let version = self.shared.version();
            if version != self.seen {
                self.seen = version;
                return Ok(());
            }
            if self.shared.senders.load(Ordering::Acquire) == 0 {
                return Err(Ended);
            }
            changed.await;
        }
    }

    /// Waits for a value that `will_do`, seen or not.
    ///
    /// # Errors
    /// There is no sender any more, and the last value would not do.
    pub async fn wait_for(&mut self, mut will_do: impl FnMut(&T) -> bool) -> Result<Ref<'_, T>, Ended> {
        loop {
            let done = will_do(&*self.borrow_and_update());
            if done {
                return Ok(self.shared.read());
            }
            self.changed().await?;
        }
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.0.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.changed.notify_waiters();
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.receivers.fetch_add(1, Ordering::AcqRel);
        Self { shared: Arc::clone(&self.shared), seen: self.seen }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.receivers.fetch_sub(1, Ordering::AcqRel);
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Sender<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Sender").field(&*self.borrow()).finish()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Receiver<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Receiver").field(&*self.borrow()).finish()
    }
}

/// For openraft.
#[derive(Debug)]
pub struct Fifo;

impl traits::Watch for Fifo {
    type Sender<T: OptionalSend + OptionalSync> = Sender<T>;
    type Receiver<T: OptionalSend + OptionalSync> = Receiver<T>;
    type Ref<'a, T: OptionalSend + 'a> = Ref<'a, T>;

    fn channel<T: OptionalSend + OptionalSync>(init: T) -> (Sender<T>, Receiver<T>) {
        channel(init)
    }
}

impl<T: OptionalSend + OptionalSync> traits::WatchSender<Fifo, T> for Sender<T> {
    fn send(&self, value: T) -> Result<(), traits::SendError<T>> {
        Self::send(self, value).map_err(|unwatched| traits::SendError(unwatched.0))
    }

    fn send_if_modified<F: FnOnce(&mut T) -> bool>(&self, modify: F) -> bool {
        Self::send_if_modified(self, modify)
    }

    fn borrow_watched(&self) -> Ref<'_, T> {
        self.borrow()
    }

    fn subscribe(&self) -> Receiver<T> {
        Self::subscribe(self)
    }
}

impl<T: OptionalSend + OptionalSync> traits::WatchReceiver<Fifo, T> for Receiver<T> {
    async fn changed(&mut self) -> Result<(), traits::RecvError> {
        Self::changed(self).await.map_err(|Ended| traits::RecvError(()))
    }

    fn borrow_watched(&self) -> Ref<'_, T> {
        self.borrow()
    }

    fn borrow_and_update(&mut self) -> Ref<'_, T> {
        Self::borrow_and_update(self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn who_waits_first_is_woken_first() {
        let (sender, receiver) = channel(0);
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = tokio::task::JoinSet::new();
        for waiter in 0..40 {
            let (mut receiver, order) = (receiver.clone(), Arc::clone(&order));
            tasks.spawn(async move {
                receiver.changed().await.unwrap();
                order.lock().unwrap().push(waiter);
            });
        }
        tokio::task::yield_now().await;
        sender.send(1).unwrap();
        tasks.join_all().await;
        assert_eq!(*order.lock().unwrap(), (0..40).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_value_that_was_sent_before_one_looked_is_not_missed_and_the_last_sender_ends_the_wait() {
        let (sender, mut receiver) = channel(0);
        sender.send(7).unwrap();
        receiver.changed().await.unwrap();
        assert_eq!(*receiver.borrow(), 7);
        sender.send_replace(8);
        assert_eq!(*receiver.wait_for(|value| *value == 8).await.unwrap(), 8);
        assert!(!sender.send_if_modified(|_| false));
        let waiting = tokio::spawn(async move { receiver.changed().await });
        tokio::task::yield_now().await;
        drop(sender.clone());
        drop(sender);
        assert_eq!(waiting.await.unwrap(), Err(Ended));
    }

    #[test]
    fn nobody_watches() {
        let (sender, receiver) = channel(0);
        drop(receiver);
        assert_eq!(sender.send(1), Err(Unwatched(1)));
        assert_eq!((sender.send_replace(2), *sender.borrow()), (0, 2));
    }
}
