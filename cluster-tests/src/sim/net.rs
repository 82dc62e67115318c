//! The network between nodes: a value that delays, loses, repeats, reorders and cuts, one way or both.
//!
//! ```text
//!   caller ── request ──> [link there] ──> handler, a task of the target's process ── answer ──> [link back] ──> caller
//! ```
//! A packet outlives its sender, and a lost answer is not a lost request. A cut link swallows what goes over it: the caller
//! hears of it only when its own patience ends, or when TCP would have noticed (2 s). A host on which nobody
//! listens refuses at once, as a port without a process does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use campanile::service::frame;
use campanile::service::probe::Knock;
use campanile_raft::runtime::Process;
use campanile_raft::transport::network::{
    Body, Cut, Handler, Listener, Network, Request, Response, gather, opened, whole,
};
use campanile_raft::transport::{Purpose, path};
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::trace::{Trace, digest};
use crate::seed::Dice;

/// After so long without a sign of life a connection is given up by the caller: a keep-alive that was not answered.
const DEAD_AFTER: Duration = Duration::from_secs(2);

/// What a link does to packets, one way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weather {
    /// Nothing comes through.
    pub cut: bool,
    /// How many of a thousand packets are lost.
    pub loss: u64,
    /// How many of a thousand are delivered twice.
    pub twice: u64,
    /// The least delay,
    pub least: Duration,
    /// and the most; packets overtake each other within it.
    pub most: Duration,
}

impl Default for Weather {
    /// A rack: half a millisecond there, and nothing is lost.
    fn default() -> Self {
        let (least, most) = (Duration::from_micros(200), Duration::from_micros(700));
        Self { cut: false, loss: 0, twice: 0, least, most }
    }
}

/// The network. Clones are the same one.
#[derive(Clone)]
pub struct Net(Arc<Mutex<Inner>>);

struct Inner {
    dice: Dice,
    trace: Trace,
    hosts: BTreeMap<String, Host>,
    links: BTreeMap<(String, String), Weather>,
    fair: Weather,
    dropped: u64,
}

#[derive(Clone)]
struct Host {
    place: u64,
    door: Option<(Process, Handler)>,
    /// How often a process has ended here: a packet of an earlier one has outlived it.
    deaths: u64,
}

/// A packet on its way: what becomes of it.
enum Fate {
    Lost,
    After(Duration),
    Twice(Duration, Duration),
}

impl Net {
    /// With fair weather everywhere.
    #[must_use]
    pub fn new(dice: Dice, trace: Trace) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            dice,
            trace,
            hosts: BTreeMap::new(),
            links: BTreeMap::new(),
            fair: Weather::default(),
            dropped: 0,
        })))
    }

    /// A host of that name; `place` stands for it in the trace.
    pub fn add_host(&self, address: &str, place: u64) {
        self.lock().hosts.insert(address.to_owned(), Host { place, door: None, deaths: 0 });
    }

    /// What the node at `address` sends by.
    #[must_use]
    pub fn from(&self, address: &str) -> Arc<dyn Network> {
        Arc::new(Port { net: self.clone(), from: address.to_owned() })
    }

    /// Where the node at `address` listens, as a part of that process.
    #[must_use]
    pub fn listener(&self, address: &str, process: &Process) -> Ear {
        Ear { net: self.clone(), address: address.to_owned(), process: process.clone() }
    }

    /// Whether somebody listens at an address, as the node at `from` finds out by connecting.
    #[must_use]
    pub fn knock(&self, from: &str) -> Knock {
        let (net, from) = (self.clone(), from.to_owned());
        Arc::new(move |to| {
            let net = net.lock();
            let cut = net.weather(&from, &to).cut || net.weather(&to, &from).cut;
            let there = net.hosts.get(&to).is_some_and(|host| host.door.is_some());
            Box::pin(std::future::ready(there && !cut))
        })
    }

    /// The process at `address` is dead: its port refuses.
    pub fn hang_up(&self, address: &str) {
        if let Some(host) = self.lock().hosts.get_mut(address) {
            host.deaths += u64::from(host.door.take().is_some());
        }
    }

    /// The weather from one host to another, from now on.
    pub fn set(&self, from: &str, to: &str, weather: Weather) {
        self.lock().links.insert((from.to_owned(), to.to_owned()), weather);
    }

    /// The weather from one host to another.
    #[must_use]
    pub fn weather(&self, from: &str, to: &str) -> Weather {
        self.lock().weather(from, to)
    }

    /// Fair weather everywhere.
    pub fn clear(&self) {
        self.lock().links.clear();
    }

    /// How many packets were lost.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    fn deaths(&self, address: &str) -> u64 {
        self.lock().hosts.get(address).map_or(0, |host| host.deaths)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn weather(&self, from: &str, to: &str) -> Weather {
        self.links.get(&(from.to_owned(), to.to_owned())).copied().unwrap_or(self.fair)
    }

    fn fate(&mut self, from: &str, to: &str, may_repeat: bool) -> Fate {
        let weather = self.weather(from, to);
        if weather.cut || (weather.loss > 0 && self.dice.below(1_000) < weather.loss) {
            self.dropped += 1;
            return Fate::Lost;
        }
        let first = self.dice.between(weather.least, weather.most);
        match may_repeat && weather.twice > 0 && self.dice.below(1_000) < weather.twice {
            true => Fate::Twice(first, self.dice.between(weather.least, 4 * weather.most)),
            false => Fate::After(first),
        }
    }
}

/// A node's way out.
struct Port {
    net: Net,
    from: String,
}

/// One request, whole.
#[derive(Clone)]
struct Packet {
    net: Net,
    from: String,
    to: String,
    uri: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Bytes,
    /// The deaths of its sender's machine when it left.
    deaths: u64,
}

impl Network for Port {
    fn send(
        &self,
        address: &str,
        purpose: Purpose,
        request: Request<Body>,
    ) -> BoxFuture<'static, Result<Response<Body>, Cut>> {
        let (net, from, to) = (self.net.clone(), self.from.clone(), address.to_owned());
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let broke = |error: std::io::Error| Cut { sent: false, why: error.to_string() };
            let body = gather(body).await.map_err(broke)?;
            let header = |(name, value): (&_, &_)| header_of(name, value);
            let headers = head.headers.iter().map(header).collect();
            let deaths = net.deaths(&from);
            let packet = Packet { net, from, to, uri: head.uri.to_string(), headers, body, deaths };
            let (answer, heard) = oneshot::channel();
            packet.launch(purpose, answer);
            match tokio::time::timeout(patience(purpose), heard).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) | Err(_) => Err(Cut { sent: true, why: "the connection is dead".into() }),
            }
        })
    }
}

fn header_of(name: &impl AsRef<str>, value: &impl AsRef<[u8]>) -> (String, Vec<u8>) {
    (name.as_ref().to_owned(), value.as_ref().to_owned())
}

/// A snapshot and a forwarded request may be worked on for long while the connection lives.
fn patience(purpose: Purpose) -> Duration {
    match purpose {
        Purpose::Snapshot | Purpose::Forward => Duration::from_secs(60),
        Purpose::Heartbeat | Purpose::Append | Purpose::Vote => DEAD_AFTER,
    }
}

type Heard = oneshot::Sender<Result<Response<Body>, Cut>>;

impl Packet {
    /// From here on it is the network's: the sender may die.
    fn launch(self, purpose: Purpose, answer: Heard) {
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

/// A node's way in.
pub struct Ear {
    net: Net,
    address: String,
    process: Process,
}

impl Listener for Ear {
    fn serve(self: Box<Self>, answer: Handler, stop: CancellationToken) -> BoxFuture<'static, ()> {
        if let Some(host) = self.net.lock().hosts.get_mut(&self.address) {
            host.door = Some((self.process.clone(), answer));
        }
        Box::pin(async move {
            stop.cancelled().await;
            self.net.hang_up(&self.address);
        })
    }
}
