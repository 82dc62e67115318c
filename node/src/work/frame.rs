//! What holders say, as it travels from a node to the leader, and the answer back.
//!
//! ```text
//! ask:    [0x57] [milliseconds u32, big-endian] [frame of kind Work]
//! answer: [0x57] [0: done, 1: not done, 2: unknown] [frame of kind Worked, or a text]
//! ```
//! The first byte tells it from the frames of requests (`service::frame`), which begin with their version. The bodies are
//! written at the format level that the log has agreed on, so nodes of two versions understand each other.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use campanile_core::command::Work;
use campanile_core::format::FormatLevel;
use campanile_core::reply::Worked;
use campanile_raft::level;
use campanile_storage::Kind;

use crate::service::quorum::Undone;

/// The first byte.
pub(super) const MARK: u8 = 0x57;

/// What is asked, and how long somebody waits for the answer.
pub(super) fn ask(level: FormatLevel, work: &Work, within: Duration) -> Bytes {
    let body = level::write(Kind::Work, level, work).expect("a batch is smaller than a frame may be");
    let mut frame = BytesMut::with_capacity(body.len() + 5);
    frame.put_u8(MARK);
    frame.put_u32(u32::try_from(within.as_millis()).unwrap_or(u32::MAX));
    frame.put_slice(&body);
    frame.freeze()
}

/// The same read back.
pub(super) fn read_ask(frame: &[u8]) -> Result<(Work, Duration), String> {
    let Some((&[MARK, a, b, c, d], body)) = frame.split_first_chunk::<5>() else {
        return Err("a frame that is cut or damaged".into());
    };
    let within = Duration::from_millis(u32::from_be_bytes([a, b, c, d]).into());
    let work = level::read(Kind::Work, body).map_err(|wrong| wrong.to_string())?;
    Ok((work, within))
}

/// What is answered.
pub(super) fn answer(level: FormatLevel, said: &Result<Worked, Undone>) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u8(MARK);
    match said {
        Ok(worked) => {
            let body =
                level::write(Kind::Worked, level, worked).expect("an answer is smaller than a frame may be");
            frame.put_u8(0);
            frame.put_slice(&body);
        }
        Err(Undone::Unknown(why)) => {
            frame.put_u8(2);
            frame.put_slice(why.as_bytes());
        }
        Err(undone) => {
            frame.put_u8(1);
            frame.put_slice(undone.to_string().as_bytes());
        }
    }
    frame.freeze()
}

/// The same read back. What cannot be read may have been done.
pub(super) fn read_answer(frame: &[u8]) -> Result<Worked, Undone> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match frame.split_first_chunk::<2>() {
        Some((&[MARK, 0], body)) => {
            level::read(Kind::Worked, body).map_err(|wrong| Undone::Unknown(wrong.to_string()))
        }
        Some((&[MARK, 1], why)) => Err(Undone::NotSent(text(why))),
        Some((&[MARK, _], why)) => Err(Undone::Unknown(text(why))),
        _ => Err(Undone::Unknown("the leader answers in another form: it is of another version".into())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use campanile_core::command::Extend;
    use campanile_core::firing::FiringId;
    use campanile_core::id::{AttemptNumber, Run, Uid};
    use campanile_core::reply::Refused;
    use campanile_core::time::{Span, Timestamp};

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn an_ask_and_its_answer_are_these_bytes() {
        let firing = FiringId { uid: Uid(7), nominal: Timestamp::from_millis(1), run: Run(0) };
        let extend = Extend { firing, attempt: AttemptNumber(2), ttl: Span::from_secs(60) };
        let work = Work { extends: vec![extend], ..Work::default() };
        let frame = ask(FormatLevel::OLDEST, &work, Duration::from_millis(900));
        assert_eq!(read_ask(&frame), Ok((work, Duration::from_millis(900))));
        assert_eq!(
            hex(&frame),
            "5700000384\
             09\
             0400\
             0000000000000000\
             0100000000000000\
             07000000000000000100000000000000000000000200000060ea000000000000\
             0000000000000000\
             0000000000000000"
        );
        let worked = Worked { extended: vec![Err(Refused::NotLive)], ..Worked::default() };
        let said = answer(FormatLevel::OLDEST, &Ok(worked.clone()));
        assert_eq!(read_answer(&said), Ok(worked));
        assert_eq!(&said[..2], [MARK, 0]);
    }

    #[test]
    fn a_cut_frame_is_refused_and_a_cut_answer_is_unknown() {
        let frame = ask(FormatLevel::OLDEST, &Work::default(), Duration::from_secs(1));
        for cut in 0..frame.len() {
            assert!(read_ask(&frame[..cut]).is_err(), "{cut}");
        }
        let said = answer(FormatLevel::OLDEST, &Ok(Worked::default()));
        for cut in 0..said.len() {
            assert!(matches!(read_answer(&said[..cut]), Err(Undone::Unknown(_))), "{cut}");
        }
        for undone in [Undone::NotSent("a".into()), Undone::Unknown("b".into())] {
            let read = read_answer(&answer(FormatLevel::OLDEST, &Err(undone.clone()))).unwrap_err();
            assert_eq!(matches!(read, Undone::Unknown(_)), matches!(undone, Undone::Unknown(_)));
        }
    }
}
