//! Server-sent events from bytes, however they are cut into pieces.
//!
//! As much of the WHATWG format as a node writes and a proxy may add: fields, comments, either line end. `retry` is left to
//! browsers.

use std::collections::VecDeque;

/// The longest event that is read: larger than any row.
const LONGEST: usize = 16 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Message {
    /// Its id, if it has one of its own.
    pub(super) id: Option<String>,
    /// Its kind; `message` when it says none.
    pub(super) kind: String,
    /// What it carries.
    pub(super) data: String,
}

/// What has come of an event so far.
#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    id: Option<String>,
    kind: Option<String>,
    data: Option<String>,
}

impl Parser {
    /// Reads the next piece, and adds the events that end in it.
    ///
    /// # Errors
    /// When an event is longer than any that a node writes.
    pub(super) fn feed(
        &mut self,
        piece: &[u8],
        messages: &mut VecDeque<Message>,
    ) -> Result<(), &'static str> {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.len() + self.data.as_ref().map_or(0, String::len) > LONGEST {
                return Err("an event is too long");
            }
            if self.line.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                messages.extend(self.line_ended(&line));
            }
        }
        Ok(())
    }

    fn line_ended(&mut self, line: &[u8]) -> Option<Message> {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\n', '\r']);
        if line.is_empty() {
            let (id, kind, data) = (self.id.take(), self.kind.take(), self.data.take()?);
            return Some(Message { id, kind: kind.unwrap_or_else(|| "message".into()), data });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.id = Some(value.to_owned()),
            "event" => self.kind = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                none => *none = Some(value.to_owned()),
            },
            // Comments have no name, and what is not known is no concern of a reader.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TEXT: &str = "retry: 1000\n\n: hello\n\nid: 7.0\nevent: row\ndata: {\"a\":\"ü\"}\n\nevent:behind\r\ndata:1\r\ndata: 2\r\n\r\nid: 8.0\n\n";

    fn read_in_pieces_of(length: usize) -> Vec<Message> {
        let (mut parser, mut messages) = (Parser::default(), VecDeque::new());
        for piece in TEXT.as_bytes().chunks(length) {
            parser.feed(piece, &mut messages).unwrap();
        }
        messages.into()
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let whole = read_in_pieces_of(usize::MAX);
        let message = |id: Option<&str>, kind: &str, data: &str| Message {
            id: id.map(str::to_owned),
            kind: kind.to_owned(),
            data: data.to_owned(),
        };
        let wanted = [message(Some("7.0"), "row", "{\"a\":\"ü\"}"), message(None, "behind", "1\n2")];
        assert_eq!(whole, wanted);
        for length in 1..TEXT.len() {
            assert_eq!(read_in_pieces_of(length), whole, "in pieces of {length} bytes");
        }
    }

    #[test]
    fn an_event_without_an_end_is_refused_before_it_fills_the_memory() {
        let (mut parser, mut messages) = (Parser::default(), VecDeque::new());
        let piece = vec![b'x'; LONGEST];
        assert!(parser.feed(&piece, &mut messages).is_ok());
        assert!(parser.feed(b"x", &mut messages).is_err());
    }
}
