//! What a peer may ask, door by door.
//!
//! A door reads a message, hands it to openraft or to a callback, and writes the answer. It must not decide. Until the
//! node has found out who it is, only `hello` is answered, and before its disk is read not even that: a node that says
//! "I know of no cluster" before it has looked would let a stranger found a second one.

use crate::runtime;
use std::future::Future;
use std::io;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;
use tokio::time::Instant;

use crate::runtime::Runtime;
use bytes::Bytes;
use campanile_core::format::FormatLevel;
use campanile_core::id::Term;
use campanile_storage::CodecError;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::HeaderValue;
use hyper::{Request, Response, StatusCode};
use openraft::async_runtime::WatchReceiver;
use openraft::raft::AppendEntriesResponse;
use openraft::type_config::alias::SnapshotOf;
use openraft::{Raft, ReadPolicy};
use tokio::sync::Mutex;

use super::clocks::WallClock;
use super::ends::{self, EndCall};
use super::guard::{self, Guard};
use super::message::{self, Hello, JoinAnswer, JoinCall, MemberForm, ReadIndexAnswer};
use super::network::{Answer, Body};
use super::{BODY_LIMIT, path, shipment};
use crate::apply::Applier;
use crate::image::{Parcel, Site};
use crate::reign::Reign;
use crate::types::{Peer, Types};
use crate::view::View;

type C = Types<Runtime>;
/// openraft as this room runs it.
pub type Node = Raft<C, Applier<Runtime>>;
/// Answers the forwarded requests of other nodes.
pub type ForwardHandler = Arc<dyn Fn(Bytes) -> BoxFuture<'static, Bytes> + Send + Sync>;
/// Answers those who want in.
pub type JoinHandler = Arc<dyn Fn(JoinCall) -> BoxFuture<'static, JoinAnswer> + Send + Sync>;

/// How long a question may take here. The one who asks gives up earlier; this only ends what nobody waits for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Everything that can be asked, as far as this node has come.
pub struct Doors {
    guard: Arc<Guard>,
    clock: WallClock,
    tz: Option<HeaderValue>,
    own: Peer,
    stranger: OnceLock<()>,
    inside: OnceLock<Inside>,
    forward: RwLock<Option<ForwardHandler>>,
    installing: Mutex<()>,
    /// When a leader was last heard. For health only: openraft judges by its own clock.
    heard: std::sync::Mutex<Option<Instant>>,
    speaks: FormatLevel,
}

/// What there is to ask once openraft runs.
struct Inside {
    raft: Node,
    site: Site,
    reign: Arc<Reign>,
    view: Arc<View>,
    join: JoinHandler,
}

/// Why a door answers nothing but a status.
struct Closed(StatusCode, String);

impl Closed {
    fn not_yet() -> Self {
        Self(StatusCode::SERVICE_UNAVAILABLE, "this node is not ready".into())
    }

    fn failed(error: &dyn std::error::Error) -> Self {
        Self(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl From<CodecError> for Closed {
    fn from(error: CodecError) -> Self {
        Self(StatusCode::BAD_REQUEST, error.to_string())
    }
}

impl Doors {
    /// All of them closed. Answers carry that clock, and the version of the tz data if it is known.
    #[must_use]
    pub fn new(guard: Arc<Guard>, clock: WallClock, tz: Option<&str>, own: Peer) -> Self {
        Self {
            guard,
            clock,
            tz: tz.and_then(|version| HeaderValue::from_str(version).ok()),
            own,
            stranger: OnceLock::new(),
            inside: OnceLock::new(),
            forward: RwLock::default(),
            installing: Mutex::default(),
            heard: std::sync::Mutex::default(),
            speaks: FormatLevel::NEWEST,
        }
    }

    /// Answers say that this node reads format levels up to this one.
    #[must_use]
    pub fn speaking(self, speaks: FormatLevel) -> Self {
        Self { speaks, ..self }
    }

    /// How long ago a leader was last heard here.
    #[must_use]
    pub fn leader_age(&self) -> Option<Duration> {
        let heard = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.map(|at| at.elapsed())
    }

    /// The disk was read and holds nothing: from now on `hello` says so.
    pub fn know_nothing(&self) {
        // A second time it changes nothing.
        let _ = self.stranger.set(());
    }

    /// openraft runs: every door is open.
    pub fn open(&self, raft: Node, site: Site, reign: Arc<Reign>, view: Arc<View>, join: JoinHandler) {
        let first = self.inside.set(Inside { raft, site, reign, view, join });
        assert!(first.is_ok(), "a node starts once");
    }

    /// Who answers forwarded requests; nobody any more.
    pub fn answer_forwarded(&self, handler: Option<ForwardHandler>) {
        *self.forward.write().unwrap_or_else(PoisonError::into_inner) = handler;
    }

    /// Answers one request.
    pub async fn answer(&self, request: Request<Body>) -> Answer {
        let answered = match self.guard.admit(request.headers()) {
            Ok(_) => tokio::time::timeout(self.patience(request.uri().path()), self.enter(request))
                .await
                .unwrap_or_else(|_| Err(Closed(StatusCode::GATEWAY_TIMEOUT, "it took too long".into()))),
            Err(refusal) => Err(Closed(refusal.status(), refusal.to_string())),
        };
        let (status, body) = match answered {
            Ok(body) => (StatusCode::OK, body),
            Err(Closed(status, why)) => (status, why.into()),
        };
        let mut answer = Response::new(Full::new(body));
        *answer.status_mut() = status;
        answer.headers_mut().insert(guard::CLOCK, (self.clock)().as_millis().into());
        answer.headers_mut().insert(guard::NODE, self.guard.node().into());
        if let Some(tz) = &self.tz {
            answer.headers_mut().insert(guard::TZ, tz.clone());
        }
        answer.headers_mut().insert(guard::SPEAKS, self.speaks.0.into());
        if let Some(inside) = self.inside.get() {
            answer.headers_mut().insert(guard::LEVEL, inside.view.machine().format_level().0.into());
        }
        answer
    }

    fn patience(&self, path: &str) -> Duration {
        match path {
            // Each piece of an image has a limit of its own.
            path::SNAPSHOT => Duration::from_secs(3_600),
            _ => PATIENCE,
        }
    }

    async fn enter(&self, request: Request<Body>) -> Result<Bytes, Closed> {
        let door = request.uri().path().to_owned();
        if door == path::SNAPSHOT {
            return self.snapshot(request.into_body()).await;
        }
        let body = Limited::new(request.into_body(), BODY_LIMIT).collect().await;
        let body = body.map_err(|error| Closed(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()))?.to_bytes();
        match door.as_str() {
            path::HELLO => self.hello(),
            path::FORWARD => self.forwarded(body).await,
            path::JOIN => Ok(message::encode(&(self.inside()?.join)(message::decode(&body)?).await)),
            path::READ_INDEX => Ok(message::encode(&read_index(self.raft()?).await)),
            path::LEDGER_END => self.ledger_end(message::decode(&body)?).await,
            path::APPEND => self.append(body).await,
            path::VOTE => self.vote(&body).await,
            path::PRE_VOTE => self.pre_vote(&body).await,
            path::TRANSFER => self.transfer(&body).await,
            _ => Err(Closed(StatusCode::NOT_FOUND, "there is no such door".into())),
        }
    }

    fn inside(&self) -> Result<&Inside, Closed> {
        self.inside.get().ok_or_else(Closed::not_yet)
    }

    fn raft(&self) -> Result<&Node, Closed> {
        self.inside().map(|inside| &inside.raft)
    }

    fn hello(&self) -> Result<Bytes, Closed> {
        if let Some(inside) = self.inside.get() {
            return Ok(message::encode(&self.introduction(&inside.raft)));
        }
        self.stranger.get().ok_or_else(Closed::not_yet)?;
        let peer = (&self.own).into();
        Ok(message::encode(&Hello {
            peer,
            node: None,
            initialised: false,
            leader: None,
            members: Vec::new(),
        }))
    }

    fn introduction(&self, raft: &Node) -> Hello {
        let metrics = raft.server_metrics();
        let metrics = metrics.borrow_watched();
        let membership = metrics.membership_config.membership();
        let voters: Vec<u64> = membership.voter_ids().collect();
        let members = membership.nodes().map(|(node, peer)| MemberForm {
            node: *node,
            peer: peer.into(),
            voter: voters.contains(node),
        });
        Hello {
            peer: (&self.own).into(),
            node: Some(self.guard.node()),
            initialised: !voters.is_empty(),
            leader: metrics.current_leader,
            members: members.collect(),
        }
    }

    async fn forwarded(&self, body: Bytes) -> Result<Bytes, Closed> {
        let handler = self.forward.read().unwrap_or_else(PoisonError::into_inner).clone();
        let handler = handler.ok_or_else(Closed::not_yet)?;
        Ok(handler(body).await)
    }

    async fn ledger_end(&self, call: EndCall) -> Result<Bytes, Closed> {
        let reader = self.inside()?.site.reader();
        let read = runtime::blocking(move || ends::answer(&reader, call)).await;
        let answer = read.map_err(|error| Closed::failed(&error))?.map_err(|error| Closed::failed(&error))?;
        Ok(message::encode(&answer))
    }

    async fn append(&self, body: Bytes) -> Result<Bytes, Closed> {
        let request = message::append::<Runtime>(body)?;
        let (inside, heard, term) = (self.inside()?, Instant::now(), Term(request.vote.leader_id.term));
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(heard);
        let answer = asked(inside.raft.append_entries(request)).await?;
        // One that was refused came from a leader of the past.
        if !matches!(answer, AppendEntriesResponse::HigherVote(_)) {
            inside.reign.note(term, heard);
        }
        Ok(message::append_answer_bytes(&answer))
    }

    async fn vote(&self, body: &[u8]) -> Result<Bytes, Closed> {
        let request = message::vote::<Runtime>(body)?;
        Ok(message::vote_answer_bytes(&asked(self.raft()?.vote(request)).await?))
    }

    async fn pre_vote(&self, body: &[u8]) -> Result<Bytes, Closed> {
        let request = message::vote::<Runtime>(body)?;
        Ok(message::vote_answer_bytes(&asked(self.raft()?.pre_vote(request)).await?))
    }

    async fn transfer(&self, body: &[u8]) -> Result<Bytes, Closed> {
        let request = message::transfer::<Runtime>(body)?;
        Ok(message::transfer_answer_bytes(&asked(self.raft()?.handle_transfer_leader(request)).await?))
    }

    /// One image at a time: a second one would throw the first away in the middle.
    async fn snapshot(&self, body: Body) -> Result<Bytes, Closed> {
        let inside = self.inside()?;
        let _alone = self
            .installing
            .try_lock()
            .map_err(|_| Closed(StatusCode::SERVICE_UNAVAILABLE, "another image is coming in".into()))?;
        let taken: io::Result<_> = shipment::take_in(body, inside.site.clone()).await;
        let (vote, incoming) = taken.map_err(|error| Closed::failed(&error))?;
        let snapshot = SnapshotOf::<C, Parcel> {
            meta: incoming.covered.meta(),
            snapshot: Parcel::Incoming(Box::new(incoming)),
        };
        let answer = asked(inside.raft.install_full_snapshot(vote, snapshot)).await?;
        Ok(message::snapshot_answer_bytes(&answer))
    }
}

impl std::fmt::Debug for Doors {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Doors").field("guard", &self.guard).finish_non_exhaustive()
    }
}

/// openraft answers or has stopped.
async fn asked<T, E: std::error::Error>(question: impl Future<Output = Result<T, E>>) -> Result<T, Closed> {
    question.await.map_err(|error| Closed::failed(&error))
}

/// Confirms that this node leads and says up to where a linearizable read must have applied. Never by lease: a process
/// that was paused would read what was true before.
pub async fn read_index(raft: &Node) -> ReadIndexAnswer {
    match raft.get_read_log_id(ReadPolicy::ReadIndex).await {
        Ok((read_log_id, _)) => ReadIndexAnswer::At(read_log_id.index()),
        Err(error) if error.forward_to_leader().is_some() => ReadIndexAnswer::NotLeader,
        Err(error) => ReadIndexAnswer::NoQuorum(error.to_string()),
    }
}
