//! Which nodes are missing? Asked of each when no majority can be reached, for people: a node that follows hears of its
//! leader only, so it does not know.
//!
//! Whoever answers anything at its peers' address is there; a process that is stopped or cut off answers nothing. Nothing
//! is decided by it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::wire::cluster::Node;

/// How long a node may take to answer: 100 times what it takes on a healthy network.
const WITHIN: Duration = Duration::from_millis(500);
/// No request that the transport knows, so it is answered with an error, or hung up on.
const KNOCK: &[u8] = b"GET / HTTP/1.0\r\n\r\n";

/// Whether anybody answers at the address of a peer. It may take for ever: nobody waits that long.
pub type Knock = Arc<dyn Fn(String) -> BoxFuture<'static, bool> + Send + Sync>;

/// Knocks by a connection of TCP.
#[must_use]
pub fn by_tcp() -> Knock {
    Arc::new(|address| async move { answers(&address).await.is_ok() }.boxed())
}

/// The nodes, but for this one, that do not answer within a moment; in words.
pub(super) async fn missing(nodes: &[Node], own: u64, knock: &Knock) -> Vec<String> {
    let ask = |node| async move { (node, is_there(node, knock).await) };
    let asked = join_all(nodes.iter().filter(|node| node.id != own).map(ask)).await;
    let silent = asked.into_iter().filter(|(_, answers)| !answers);
    silent.map(|(node, _)| format!("node {} ({})", node.id, node.peer_address)).collect()
}

async fn is_there(node: &Node, knock: &Knock) -> bool {
    tokio::time::timeout(WITHIN, knock(node.peer_address.clone())).await.unwrap_or(false)
}

async fn answers(address: &str) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(KNOCK).await?;
    // Hanging up is an answer too.
    stream.read(&mut [0; 1]).await.map(drop)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::net::TcpListener;

    use super::*;

    fn node(id: u64, peer_address: String) -> Node {
        Node {
            id,
            peer_address,
            api_address: String::new(),
            role: "follower".into(),
            reachable: None,
            lag: None,
            clock_offset_ms: None,
            tz_data: None,
            speaks: None,
        }
    }

    #[tokio::test]
    async fn who_hangs_up_is_there_and_who_refuses_or_says_nothing_is_missing() {
        let (polite, silent) = (
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
        );
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
        let nodes = [
            node(1, polite.local_addr().unwrap().to_string()),
            node(2, silent.local_addr().unwrap().to_string()),
            node(3, gone.clone()),
            node(4, gone),
        ];
        let knock = by_tcp();
        let accept = async {
            let (mut stream, _) = polite.accept().await.unwrap();
            stream.read_exact(&mut [0; KNOCK.len()]).await.unwrap();
        };
        let (missing, ()) = tokio::join!(missing(&nodes, 4, &knock), accept);
        let ids: Vec<&str> = missing.iter().map(|text| text.split(' ').nth(1).unwrap()).collect();
        assert_eq!(ids, ["2", "3"]);
    }
}
