//! A rough door of the receiver: an address of its own, at which no whole answer is ever given.
//!
//! It has its own port, since a sender may hold what happens here against the whole host. HTTP is spoken by hand: what is
//! done here is what no server lets one do. Calls are written down like all others.

use std::io;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Record, call};

/// What becomes of a request that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rough {
    /// The connection is reset.
    Resets,
    /// Nothing, for as long as the sender waits.
    Hangs,
    /// 200, and a body of which a byte comes now and then, and no end.
    Trickles,
}

/// The longest request that is read: its head, and a small payload.
const MAX_REQUEST: usize = 64 * 1024;
const TRICKLE_EVERY: Duration = Duration::from_millis(100);

/// Answers until the listener's task is aborted.
pub(super) async fn serve(listener: TcpListener, rough: Rough, record: Record) {
    while let Ok((connection, _)) = listener.accept().await {
        let record = record.clone();
        tokio::spawn(async move {
            // The sender may go away at any time; what it sent before is written down by then.
            let _ = one(connection, rough, &record).await;
        });
    }
}

async fn one(mut connection: TcpStream, rough: Rough, record: &Record) -> io::Result<()> {
    let Some((path, headers)) = read(&mut connection).await? else { return Ok(()) };
    let place = record.add(call(&path, &headers), false).place;
    match rough {
        Rough::Resets => connection.set_zero_linger(),
        Rough::Hangs => wait_for_end(&mut connection).await,
        Rough::Trickles => {
            connection.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await?;
            record.answered(place, 200, None);
            loop {
                connection.write_all(b"1\r\n.\r\n").await?;
                tokio::time::sleep(TRICKLE_EVERY).await;
            }
        }
    }
}

async fn wait_for_end(connection: &mut TcpStream) -> io::Result<()> {
    let mut rest = [0; 1024];
    while connection.read(&mut rest).await? > 0 {}
    Ok(())
}

/// The path and the headers of a whole request; `None` when the sender went away before.
async fn read(connection: &mut TcpStream) -> io::Result<Option<(String, HeaderMap)>> {
    let mut read = Vec::new();
    loop {
        if let Some((path, headers, length)) = head(&read)
            && read.len() >= length
        {
            return Ok(Some((path, headers)));
        }
        let mut more = [0; 4096];
        let count = connection.read(&mut more).await?;
        if count == 0 || read.len() > MAX_REQUEST {
            return Ok(None);
        }
        read.extend_from_slice(&more[..count]);
    }
}

/// The head of a request, once it is whole, and how long the request is with its body.
fn head(read: &[u8]) -> Option<(String, HeaderMap, usize)> {
    const END: &[u8] = b"\r\n\r\n";
    let end = read.windows(END.len()).position(|window| window == END)?;
    let text = std::str::from_utf8(&read[..end]).ok()?;
    let mut lines = text.split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let mut headers = HeaderMap::new();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value.trim())) {
            headers.insert(name, value);
        }
    }
    let body = headers.get("content-length").and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    Some((path, headers, end + END.len() + body.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_when_its_body_is() {
        let text = b"POST /a HTTP/1.1\r\nidempotency-key: frg_1\r\nContent-Length: 2\r\n\r\n{}";
        let (path, headers, length) = head(text).expect("a head");
        assert_eq!((path.as_str(), length), ("/a", text.len()));
        assert_eq!(headers["idempotency-key"], "frg_1");
        assert!(head(&text[..40]).is_none());
    }
}
