//! Several asks as one entry, and the answer to the entry as their answers.

use campanile_core::command::{Begin, SettleItem, Work};
use campanile_core::id::PLACES_PER_ENTRY;
use campanile_core::reply::Worked;
use tokio::time::Instant;

use super::Ask;
use crate::service::quorum::Undone;

/// The most bytes of a batch: an entry takes 100 KiB, and one report up to 32.
const BYTES: usize = 64 * 1024;
/// What a part takes beside its texts.
const PART: usize = 96;

/// Asks that are carried together.
#[derive(Debug)]
pub(super) struct Batch {
    asks: Vec<Ask>,
    bytes: usize,
    places: usize,
}

impl Batch {
    /// One ask, however large: whoever made it kept it below an entry.
    pub(super) fn of(ask: Ask) -> Self {
        let (bytes, places) = (bytes_of(&ask.work), places_of(&ask.work));
        Self { asks: vec![ask], bytes, places }
    }

    /// Adds an ask.
    ///
    /// # Errors
    /// The ask, when the entry would grow too large.
    pub(super) fn add(&mut self, ask: Ask) -> Result<(), Ask> {
        let (bytes, places) = (self.bytes + bytes_of(&ask.work), self.places + places_of(&ask.work));
        if bytes > BYTES || places > PLACES_PER_ENTRY {
            return Err(ask);
        }
        (self.bytes, self.places) = (bytes, places);
        self.asks.push(ask);
        Ok(())
    }

    /// What is said, all of it.
    pub(super) fn work(&self) -> Work {
        let mut all = Work::default();
        for Work { settles, extends, takes, begins } in self.asks.iter().map(|ask| &ask.work) {
            all.settles.extend_from_slice(settles);
            all.extends.extend_from_slice(extends);
            all.takes.extend_from_slice(takes);
            all.begins.extend_from_slice(begins);
        }
        all
    }

    /// How long somebody waits for it.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.asks.iter().map(|ask| ask.deadline).max()
    }

    /// Tells those whose time is up that it is, and whether their ask may have been heard; `false` when nobody is left.
    pub(super) fn drop_late(&mut self, now: Instant, undone: &Undone) -> bool {
        let (late, left) = self.asks.drain(..).partition(|ask| ask.deadline <= now);
        self.asks = left;
        for ask in Vec::from_iter::<Vec<Ask>>(late) {
            // Nobody waits any more: then nobody has to be told.
            let _ = ask.answer.send(Err(undone.clone()));
        }
        !self.asks.is_empty()
    }

    /// Gives each ask its part of the answer.
    pub(super) fn answer(self, worked: Worked) {
        let Worked { settled, extended, taken, begun } = worked;
        let (mut settled, mut extended) = (settled.into_iter(), extended.into_iter());
        let (mut taken, mut begun) = (taken.into_iter(), begun.into_iter());
        for Ask { work, answer, .. } in self.asks {
            let worked = Worked {
                settled: settled.by_ref().take(work.settles.len()).collect(),
                extended: extended.by_ref().take(work.extends.len()).collect(),
                taken: taken.by_ref().take(work.takes.len()).collect(),
                begun: begun.by_ref().take(work.begins.len()).collect(),
            };
            let _ = answer.send(Ok(worked));
        }
    }
}

fn bytes_of(work: &Work) -> usize {
    let settle = |item: &SettleItem| PART + item.report.output.len() + item.report.error.len();
    let begin = |begin: &Begin| PART + begin.items.len() * 48;
    work.settles.iter().map(settle).sum::<usize>()
        + work.extends.len() * PART
        + work.takes.iter().map(|take| 2 * PART + take.queue.len() + take.worker.len()).sum::<usize>()
        + work.begins.iter().map(begin).sum::<usize>()
}

fn places_of(work: &Work) -> usize {
    work.takes.iter().map(|take| take.most as usize).sum::<usize>()
        + work.begins.iter().map(|begin| begin.items.len()).sum::<usize>()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use campanile_core::command::{Extend, Take};
    use campanile_core::firing::FiringId;
    use campanile_core::id::{AttemptNumber, Run, Uid};
    use campanile_core::reply::Refused;
    use campanile_core::time::{Span, Timestamp};
    use tokio::sync::oneshot;

    use super::*;

    fn ask(work: Work, within: u64) -> (Ask, oneshot::Receiver<Result<Worked, Undone>>) {
        let (answer, heard) = oneshot::channel();
        (Ask { work, deadline: Instant::now() + Duration::from_secs(within), answer }, heard)
    }

    fn extends(count: usize) -> Work {
        let firing = FiringId { uid: Uid(1), nominal: Timestamp::EPOCH, run: Run(0) };
        let extend = Extend { firing, attempt: AttemptNumber(1), ttl: Span::from_secs(1) };
        Work { extends: vec![extend; count], ..Work::default() }
    }

    #[tokio::test]
    async fn each_ask_gets_its_own_part_of_the_answer() {
        let ((one, mut first), (two, mut second)) = (ask(extends(1), 9), ask(extends(2), 9));
        let mut batch = Batch::of(one);
        batch.add(two).unwrap();
        assert_eq!(batch.work().extends.len(), 3);
        let refusals = [Refused::NotLive, Refused::Held, Refused::OtherAttempt].map(Err);
        batch.answer(Worked { extended: refusals.to_vec(), ..Worked::default() });
        assert_eq!(first.try_recv().unwrap().unwrap().extended, refusals[..1]);
        assert_eq!(second.try_recv().unwrap().unwrap().extended, refusals[1..]);
    }

    #[tokio::test]
    async fn a_batch_stays_within_an_entry_and_its_places() {
        let mut batch = Batch::of(ask(extends(500), 9).0);
        assert!(batch.add(ask(extends(300), 9).0).is_err(), "too many bytes");
        let request = campanile_core::command::Request { by: "a".into(), key: None };
        let take = Take { queue: "q".into(), worker: "w".into(), most: 4_000, ttl: Span::ZERO, request };
        let takes = || Work { takes: vec![take.clone()], ..Work::default() };
        assert!(batch.add(ask(takes(), 9).0).is_ok());
        assert!(batch.add(ask(takes(), 9).0).is_err(), "too many leases for the fencing tokens of one entry");
    }

    #[tokio::test]
    async fn whose_time_is_up_hears_so_and_the_others_go_on() {
        let ((late, mut first), (early, mut second)) = (ask(extends(1), 0), ask(extends(1), 9));
        let mut batch = Batch::of(late);
        batch.add(early).unwrap();
        assert!(batch.drop_late(Instant::now(), &Undone::Busy));
        assert_eq!(first.try_recv().unwrap(), Err(Undone::Busy));
        assert!(second.try_recv().is_err());
    }
}
