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

use campanile::service::probe::Knock;
use campanile_raft::runtime::Process;
use campanile_raft::transport::Purpose;
use campanile_raft::transport::network::{Body, Cut, Handler, Listener, Network, Request, Response, gather};
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::trace::Trace;
use crate::seed::Dice;

mod packet;

use packet::{Packet, patience};

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
