//! What a receiver answers, bounded: the end of it is kept, since the end is what tells.

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use crate::ending::Ending;

/// How much of an answer is read at all; the rest is the receiver's business.
const READ_LIMIT: usize = 1 << 20;

/// The last `most` bytes of the answer as text, and what went wrong while it was read.
pub(super) async fn tail(
    body: &mut BoxStream<'static, Result<Bytes, String>>,
    most: usize,
) -> (String, String) {
    let mut kept = Ending::of(most);
    let mut read = 0;
    let trouble = loop {
        match body.next().await {
            Some(Ok(chunk)) => {
                read += chunk.len();
                kept.push(&chunk);
                if read > READ_LIMIT {
                    break format!("the answer is longer than {READ_LIMIT} bytes; the rest was not read");
                }
            }
            None => break String::new(),
            Some(Err(why)) => break format!("the answer broke off: {why}"),
        }
    };
    (kept.text(), trouble)
}
