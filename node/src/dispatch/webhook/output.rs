//! What a receiver answers, bounded: the end of it is kept, since the end is what tells.

use reqwest::Response;

use crate::ending::Ending;

/// How much of an answer is read at all; the rest is the receiver's business.
const READ_LIMIT: usize = 1 << 20;

/// The last `most` bytes of the answer as text, and what went wrong while it was read.
pub(super) async fn tail(response: &mut Response, most: usize) -> (String, String) {
    let mut kept = Ending::of(most);
    let mut read = 0;
    let trouble = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                read += chunk.len();
                kept.push(&chunk);
                if read > READ_LIMIT {
                    break format!("the answer is longer than {READ_LIMIT} bytes; the rest was not read");
                }
            }
            Ok(None) => break String::new(),
            Err(error) => break format!("the answer broke off: {}", super::chain(&error.without_url())),
        }
    };
    (kept.text(), trouble)
}
