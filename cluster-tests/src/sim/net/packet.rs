//! One request on its way there, what becomes of it, and its answer on the way back.

use std::time::Duration;

use bytes::Bytes;
use campanile::service::frame;
use campanile_raft::transport::network::{Body, Cut, Request, Response, opened, whole};
use campanile_raft::transport::{Purpose, path};
use tokio::sync::oneshot;

use super::super::trace::digest;
use super::{Fate, Inner, Net};

/// After so long without a sign of life a connection is given up by the caller: a keep-alive that was not answered.
const DEAD_AFTER: Duration = Duration::from_secs(2);

/// One request, whole.
#[derive(Clone)]
pub(super) struct Packet {
    pub(super) net: Net,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) uri: String,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Bytes,
    /// The deaths of its sender's machine when it left.
    pub(super) deaths: u64,
}

/// A snapshot and a forwarded request may be worked on for long while the connection lives.
pub(super) fn patience(purpose: Purpose) -> Duration {
    match purpose {
        Purpose::Snapshot | Purpose::Forward => Duration::from_secs(60),
        Purpose::Heartbeat | Purpose::Append | Purpose::Vote => DEAD_AFTER,
    }
}

pub(super) type Heard = oneshot::Sender<Result<Response<Body>, Cut>>;

impl Packet {
    /// From here on it is the network's: the sender may die.
    pub(super) fn launch(self, purpose: Purpose, answer: Heard) {
        let mut net = self.net.lock();
        let may_repeat = !matches!(purpose, Purpose::Forward | Purpose::Snapshot);
        let fate = net.fate(&self.from, &self.to, may_repeat);
        let numbers = [place(&net, &self.from), place(&net, &self.to), digest(&self.body)];
        let lost = matches!(fate, Fate::Lost);
        net.trace.note(if lost { "lost" } else { "send" }, &numbers, || {
            format!("{} -> {} {} {} bytes", self.from, self.to, self.uri, self.body.len())
        });
        drop(net);
        match fate {
            Fate::Lost => drop(tokio::spawn(swallow(answer))),
            Fate::After(delay) => drop(tokio::spawn(self.arrive(delay, Some(answer)))),
            Fate::Twice(delay, again) => {
                tokio::spawn(self.clone().arrive(again, None));
                tokio::spawn(self.arrive(delay, Some(answer)));
            }
        }
    }

    /// A task of the world, not of any process.
    async fn arrive(self, delay: Duration, answer: Option<Heard>) {
        tokio::time::sleep(delay).await;
        let door = self.net.lock().hosts.get(&self.to).and_then(|host| host.door.clone());
        let Some((process, handler)) = door else {
            let refused = Cut { sent: false, why: "connection refused".into() };
            return answer.into_iter().for_each(|answer| drop(answer.send(Err(refused.clone()))));
        };
        if self.net.deaths(&self.from) > self.deaths {
            self.net.lock().trace.reach("packet outlives its sender");
        }
        let Some(request) = self.request() else { return };
        let served = process.spawn(async move { handler(request).await }).await;
        let Some(answer) = answer else { return };
        let Ok(response) = served else {
            let dead = Cut { sent: true, why: "connection reset by peer".into() };
            return drop(answer.send(Err(dead)));
        };
        let (body, response) = opened(response).await;
        let fate = self.way_back(&body, response.status().as_u16());
        match fate {
            Fate::Lost => swallow(answer).await,
            Fate::After(delay) | Fate::Twice(delay, _) => {
                tokio::time::sleep(delay).await;
                drop(answer.send(Ok(response)));
            }
        }
    }

    fn way_back(&self, body: &Bytes, status: u16) -> Fate {
        let mut net = self.net.lock();
        let fate = net.fate(&self.to, &self.from, false);
        let numbers = [place(&net, &self.to), place(&net, &self.from), digest(body)];
        let lost = matches!(fate, Fate::Lost);
        net.trace.note(if lost { "unheard" } else { "answer" }, &numbers, || {
            format!("{} -> {} {} {status}", self.to, self.from, self.uri)
        });
        if let Some(branch) = self.branch(body, status) {
            net.trace.reach(branch);
        }
        fate
    }

    /// What an answer shows of its sender.
    fn branch(&self, body: &Bytes, status: u16) -> Option<&'static str> {
        let uri: axum::http::Uri = self.uri.parse().ok()?;
        match (uri.path(), status) {
            (path::SNAPSHOT, 200) => Some("snapshot installed"),
            (path::SNAPSHOT, _) => Some("snapshot refused"),
            (path::TRANSFER, 200) => Some("leadership handed on"),
            (path::JOIN, 200) => Some("asked to join"),
            (path::FORWARD, 200) => match frame::Answer::decode(body).ok()?.head.undone?.kind {
                frame::UndoneKind::NotSent => Some("forward refused"),
                frame::UndoneKind::Unknown => Some("forward of unknown outcome"),
            },
            (path::FORWARD, _) => Some("forward refused"),
            _ => None,
        }
    }

    fn request(&self) -> Option<Request<Body>> {
        let mut request = Request::builder().method("POST").uri(&self.uri);
        for (name, value) in &self.headers {
            request = request.header(name.as_str(), value.as_slice());
        }
        request.body(whole(self.body.clone())).ok()
    }
}

/// Nothing comes back; the caller waits as long as it will.
async fn swallow(answer: Heard) {
    tokio::time::sleep(Duration::from_secs(120)).await;
    drop(answer);
}

fn place(net: &Inner, address: &str) -> u64 {
    net.hosts.get(address).map_or(u64::MAX, |host| host.place)
}
