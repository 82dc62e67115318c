//! What all duties of an office have in common: turn after turn until the office ends.

use std::future::Future;

use tokio_util::sync::CancellationToken;

/// Something that a leader goes on doing.
pub trait Duty: Sized + Send {
    /// One look, and what it finds to do. It may be dropped at any await: what is under way is committed or not, and the
    /// machine tells.
    fn turn(&mut self) -> impl Future<Output = ()> + Send;

    /// Goes on until `stop`.
    fn run(mut self, stop: CancellationToken) -> impl Future<Output = ()> + Send {
        async move {
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = self.turn() => {}
                }
            }
        }
    }
}
