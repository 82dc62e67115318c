//! What a receiver answers, bounded: the end of it is kept, since the end is what tells.

use reqwest::Response;

/// How much of an answer is read at all; the rest is the receiver's business.
const READ_LIMIT: usize = 1 << 20;

/// The last `most` bytes of the answer as text, and what went wrong while it was read.
pub(super) async fn tail(response: &mut Response, most: usize) -> (String, String) {
    let mut kept: Vec<u8> = Vec::new();
    let mut read = 0;
    let trouble = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                read += chunk.len();
                keep(&mut kept, &chunk, most);
                if read > READ_LIMIT {
                    break format!("the answer is longer than {READ_LIMIT} bytes; the rest was not read");
                }
            }
            Ok(None) => break String::new(),
            Err(error) => break format!("the answer broke off: {}", super::chain(&error.without_url())),
        }
    };
    (text(&kept, most), trouble)
}

/// Appends, and cuts the front once there is twice too much, so that a byte is moved at most twice.
fn keep(kept: &mut Vec<u8>, chunk: &[u8], most: usize) {
    kept.extend_from_slice(&chunk[chunk.len().saturating_sub(most)..]);
    if kept.len() > 2 * most {
        kept.drain(..kept.len() - most);
    }
}

/// Bytes that are no text become replacement characters of three bytes each, so the cut comes after.
fn text(kept: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(&kept[kept.len().saturating_sub(most)..]);
    let mut start = text.len().saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_answer_is_kept_and_stays_text() {
        let mut kept = Vec::new();
        for n in 0..10 {
            keep(&mut kept, format!("{n}{n}{n}").as_bytes(), 8);
        }
        assert_eq!(text(&kept, 8), "77888999");
        assert_eq!(text("aä".as_bytes(), 1), "");
        assert_eq!(text(b"a\xff", 3), "\u{fffd}");
        assert_eq!(text(b"", 3), "");
    }
}
