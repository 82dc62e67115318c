//! The frames in which a follower sends a request to the leader and gets the answer back.
//!
//! ```text
//! [version u8] [length of head, u32 big-endian] [head: JSON] [body: the rest]
//! ```
//! The head is JSON so that a later version may add fields; an unknown version is refused. The frame travels between nodes
//! that know the cluster's secret, so the principal in it is believed.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::quorum::Undone;

/// The version of both frames.
pub const VERSION: u8 = 1;
/// What stands before the head.
const PREFIX: usize = 5;

/// A request on its way to the leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// What is asked.
    pub head: OrderHead,
    /// The body of the request.
    pub body: Bytes,
}

/// What is asked, without the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderHead {
    /// `PUT`, `PATCH`, `POST` or `DELETE`.
    pub method: String,
    /// Path and query.
    pub uri: String,
    /// The headers that matter: conditions.
    pub headers: BTreeMap<String, String>,
    /// The principal who asked.
    pub by: String,
    /// The key of the request.
    pub key: String,
    /// Whether the client sent that key.
    pub key_of_client: bool,
    /// How long the asking node will wait, in milliseconds.
    pub within_ms: u64,
}

/// An answer on its way back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What is answered.
    pub head: AnswerHead,
    /// The body of the answer.
    pub body: Bytes,
}

/// What is answered, without the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerHead {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: BTreeMap<String, String>,
    /// Set when the leader could not do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Unfinished>,
}

/// A request that a node could not do, and what is certain about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// What is certain.
    pub kind: UndoneKind,
    /// Why, for people.
    pub why: String,
}

/// What is certain of a request that a node could not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoneKind {
    /// Certainly nothing happened.
    NotSent,
    /// It may have happened.
    Unknown,
}

/// A frame that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    /// Another node is newer than this one.
    #[error("a frame of version {0}, and this node knows {VERSION}")]
    Version(u8),
    /// It was cut or damaged.
    #[error("a frame that is cut or damaged")]
    Damaged,
}

impl Unfinished {
    /// Certainly nothing happened.
    #[must_use]
    pub fn not_sent(why: &str) -> Self {
        Self { kind: UndoneKind::NotSent, why: why.to_owned() }
    }

    /// It may have happened.
    #[must_use]
    pub fn unknown(why: &str) -> Self {
        Self { kind: UndoneKind::Unknown, why: why.to_owned() }
    }
}

impl From<&Undone> for Unfinished {
    fn from(undone: &Undone) -> Self {
        match undone {
            Undone::Unknown(why) => Self::unknown(why),
            Undone::NotSent(why) | Undone::Stopped(why) => Self::not_sent(why),
            Undone::Busy | Undone::TooLarge { .. } => Self::not_sent(&undone.to_string()),
        }
    }
}

impl Order {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        encode(&self.head, &self.body)
    }

    /// From bytes.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn decode(frame: &Bytes) -> Result<Self, BadFrame> {
        decode(frame).map(|(head, body)| Self { head, body })
    }
}

impl Answer {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        encode(&self.head, &self.body)
    }

    /// From bytes.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn decode(frame: &Bytes) -> Result<Self, BadFrame> {
        decode(frame).map(|(head, body)| Self { head, body })
    }
}

fn encode(head: &impl Serialize, body: &Bytes) -> Bytes {
    let head = serde_json::to_vec(head).expect("a head is texts and numbers");
    let length = u32::try_from(head.len()).expect("heads are bounded by the size of a request's head");
    let mut frame = BytesMut::with_capacity(PREFIX + head.len() + body.len());
    frame.put_u8(VERSION);
    frame.put_u32(length);
    frame.put_slice(&head);
    frame.put_slice(body);
    frame.freeze()
}

fn decode<T: DeserializeOwned>(frame: &Bytes) -> Result<(T, Bytes), BadFrame> {
    let (prefix, _) = frame.split_first_chunk::<PREFIX>().ok_or(BadFrame::Damaged)?;
    if prefix[0] != VERSION {
        return Err(BadFrame::Version(prefix[0]));
    }
    let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
    let end = PREFIX.checked_add(length).filter(|end| *end <= frame.len()).ok_or(BadFrame::Damaged)?;
    let head = serde_json::from_slice(&frame[PREFIX..end]).map_err(|_| BadFrame::Damaged)?;
    Ok((head, frame.slice(end..)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        Order {
            head: OrderHead {
                method: "PUT".into(),
                uri: "/v1/schedules/a/b".into(),
                headers: BTreeMap::from([("if-match".into(), "\"7\"".into())]),
                by: "admin".into(),
                key: "k".into(),
                key_of_client: true,
                within_ms: 900,
            },
            body: Bytes::from_static(b"{}"),
        }
    }

    #[test]
    fn an_order_is_these_bytes() {
        let head = r#"{"method":"PUT","uri":"/v1/schedules/a/b","headers":{"if-match":"\"7\""},"by":"admin","key":"k","key_of_client":true,"within_ms":900}"#;
        let golden = [b"\x01\x00\x00\x00\x85", head.as_bytes(), b"{}"].concat();
        assert_eq!(head.len(), 0x85);
        assert_eq!(order().encode(), golden);
        assert_eq!(Order::decode(&Bytes::from(golden)), Ok(order()));
    }

    #[test]
    fn an_answer_is_these_bytes() {
        let answer = Answer {
            head: AnswerHead {
                status: 503,
                headers: BTreeMap::from([("content-type".into(), "application/problem+json".into())]),
                undone: Some(Unfinished::not_sent("no")),
            },
            body: Bytes::from_static(b"x"),
        };
        let head = r#"{"status":503,"headers":{"content-type":"application/problem+json"},"undone":{"kind":"not_sent","why":"no"}}"#;
        let golden = [b"\x01\x00\x00\x00\x6c", head.as_bytes(), b"x"].concat();
        assert_eq!(head.len(), 0x6c);
        assert_eq!(answer.encode(), golden);
        assert_eq!(Answer::decode(&Bytes::from(golden)), Ok(answer));
    }

    #[test]
    fn a_cut_or_foreign_frame_is_refused() {
        let frame = order().encode();
        for cut in 0..PREFIX + 0x85 {
            assert_eq!(Order::decode(&frame.slice(..cut)), Err(BadFrame::Damaged), "{cut}");
        }
        let mut newer = frame.to_vec();
        newer[0] = 2;
        assert_eq!(Order::decode(&newer.into()), Err(BadFrame::Version(2)));
    }
}
