//! From a configuration and a disk to a member of the cluster.
//!
//! ```text
//!   a staged backup on disk: make the data of a founder from it ------> start under its id
//!   identity on disk ------------------------------------------------> start under it
//!   no identity: ask all peers "hello"
//!     one of them belongs to an initialised cluster --> join: a new id from the leader -> start, learn, vote
//!     all answer and none does ---------------------> found: the id is the place in the sorted list of peers
//!     some do not answer ---------------------------> wait, and say so: they may know of a cluster
//! ```
//! An id never comes back with an empty disk: openraft believes that an id keeps its log and its vote. So a wiped node
//! joins under a new id, and the leader lets it take the place of the old one at the same address. A damaged data
//! directory is moved aside, and the node is a wiped one.

pub(crate) mod change;
mod disk;
mod found;
mod join;
mod restore;

use crate::runtime;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use crate::runtime::watch;
use campanile_core::id::{NodeId, Term};
use campanile_storage::Trouble;
use campanile_storage::log::Log;
use openraft::Raft;
use openraft::async_runtime::Instant as _;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::apply::Applier;
use crate::compare::Comparer;
use crate::consensus::{Consensus, Inner};
use crate::fatal::Fatal;
use crate::identity::{Identity, Origin};
use crate::leadership::Candidate;
use crate::level;
use crate::local::Local;
use crate::log::LogAdapter;
use crate::mark;
use crate::office::Chancery;
use crate::policy::Policy;
use crate::reign::Reign;
use crate::settings::Options;
use crate::stamp::Stamps;
use crate::stores::Stores;
use crate::transport::clocks::Clocks;
use crate::transport::dialer::Dialer;
use crate::transport::doors::{Doors, Node};
use crate::transport::ends;
use crate::transport::formats::Formats;
use crate::transport::guard::Guard;
use crate::transport::link::Links;
use crate::transport::network::{Handler, Listener};
use crate::transport::zones::Zones;
use crate::types::Peer;
use crate::view::View;
use crate::watchdog::{self, Alarms};

/// How often peers are asked while there is something to wait for.
const ASK_EVERY: Duration = Duration::from_millis(200);
/// How often it is said that there is something to wait for.
const SAY_EVERY: Duration = Duration::from_secs(5);

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration contradicts itself.
    #[error("the configuration cannot work: {0}")]
    Configuration(String),
    /// What is on the disk belongs to another cluster.
    #[error(
        "the data directory belongs to the cluster {found:?}, not to {wanted:?}: choose another directory"
    )]
    OtherCluster {
        /// The cluster on the disk.
        found: String,
        /// The one in the configuration.
        wanted: String,
    },
    /// The disk does not do its part.
    #[error(transparent)]
    Trouble(#[from] Trouble),
    /// The staged backup cannot be restored.
    #[error("the backup in the data directory cannot be restored: {0}")]
    Restore(String),
    /// This version is too old for the cluster that it would join.
    #[error("this node cannot join")]
    Format(#[from] level::Unfit),
    /// openraft does not start.
    #[error("consensus does not start: {0}")]
    Consensus(String),
}

/// What is there before openraft runs.
struct Entrance {
    options: Options,
    guard: Arc<Guard>,
    doors: Arc<Doors>,
    dialer: Arc<Dialer>,
    clocks: Arc<Clocks>,
    zones: Arc<Zones>,
    formats: Arc<Formats>,
}

impl Consensus {
    /// Starts this node: answers peers on `listener`, finds out who it is, and runs openraft. Returns as soon as it runs,
    /// which may be before there is a leader; waits for peers when it must, and says so in the log. Dropping the future
    /// ends everything that was begun.
    ///
    /// # Errors
    /// As [`StartError`] tells apart.
    pub async fn start(options: Options, listener: impl Listener) -> Result<Self, StartError> {
        // Boxed: openraft's start is a future of 16 KiB, which callers should not have to carry.
        Box::pin(Self::enter(options, Box::new(listener))).await
    }

    async fn enter(options: Options, listener: Box<dyn Listener>) -> Result<Self, StartError> {
        let place = place(&options)?;
        let config = options.config().map_err(|error| StartError::Configuration(error.to_string()))?;
        let (entrance, stop, tasks) = open_doors(options, listener);
        let ends_with_this = stop.clone().drop_guard();
        let (identity, stores) = settle(&entrance, place).await?;
        let consensus = run(entrance, config, &identity, stores, stop, tasks).await?;
        ends_with_this.disarm();
        Ok(consensus)
    }
}

/// This node's place in the sorted list of peers.
fn place(options: &Options) -> Result<usize, StartError> {
    let wrong = |why: &str| StartError::Configuration(why.into());
    if options.cluster.is_empty() || !options.cluster.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong("the cluster's name must be printable ASCII without spaces"));
    }
    let founders = found::founders(options);
    if founders.len() != options.peers.len() {
        return Err(wrong("a peer address is in the list of peers twice"));
    }
    founders
        .iter()
        .position(|address| *address == options.peer_address)
        .ok_or_else(|| wrong("this node's own peer address is not in the list of peers"))
}

/// Opens the doors, all of them closed.
fn open_doors(options: Options, listener: Box<dyn Listener>) -> (Entrance, CancellationToken, TaskTracker) {
    let guard = Arc::new(Guard::new(options.cluster.clone(), options.secret.clone()));
    let (clock, tz) = (Arc::clone(&options.clock), options.tz_data.as_deref());
    let doors =
        Arc::new(Doors::new(Arc::clone(&guard), clock, tz, own_peer(&options)).speaking(options.speaks));
    let (clocks, zones) = (Arc::new(Clocks::default()), Arc::new(Zones::default()));
    let formats = Arc::new(Formats::default());
    let told = (Arc::clone(&clocks), Arc::clone(&zones), Arc::clone(&formats));
    let dialer =
        Arc::new(Dialer::new(Arc::clone(&options.network), Arc::clone(&guard), told.0, told.1, told.2));
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let asked = Arc::clone(&doors);
    let answer: Handler = Arc::new(move |request| {
        let doors = Arc::clone(&asked);
        Box::pin(async move { doors.answer(request).await })
    });
    runtime::spawn_on(&tasks, listener.serve(answer, stop.clone()));
    (Entrance { options, guard, doors, dialer, clocks, zones, formats }, stop, tasks)
}

/// Finds out who this node is, and opens what it keeps.
async fn settle(entrance: &Entrance, place: usize) -> Result<(Identity, Stores), StartError> {
    restore::settle(entrance).await?;
    if let Some(known) = disk::known(&entrance.options).await? {
        return Ok(known);
    }
    entrance.doors.know_nothing();
    let (node, origin) = match found::look_around(entrance, place).await {
        found::Surroundings::Nothing(node) => (node, Origin::Founder),
        found::Surroundings::Cluster => {
            level::readable_by(entrance.options.speaks, entrance.formats.written())?;
            (join::ask_for_id(entrance).await, Origin::Joined)
        }
    };
    let identity = Identity::new(&entrance.options.cluster, node, origin);
    identity.write(&entrance.options.data)?;
    tracing::info!(node, ?origin, "this node has an id");
    disk::begin(identity, &entrance.options).await
}

/// Runs openraft over the stores, and everything that belongs to it.
async fn run(
    entrance: Entrance,
    config: openraft::Config,
    identity: &Identity,
    stores: Stores,
    stop: CancellationToken,
    tasks: TaskTracker,
) -> Result<Consensus, StartError> {
    let Entrance { options, guard, doors, dialer, clocks, zones, formats } = entrance;
    let Stores { log, ledger, site, machine, covered } = stores;
    let node = identity.node;
    guard.become_node(node);
    let view = Arc::new(View::new(machine.clone()));
    let policy = Arc::new(Policy::new(options.image_every_entries, options.image_every_bytes));
    let (fatal, alarms) = (Fatal::default(), Alarms::new());
    let reign = Arc::new(Reign::new(Arc::clone(&view)));
    mark::watch(&ledger, &options, &fatal);
    let ask = ends::over(Arc::clone(&dialer));
    let comparer = || Comparer::new(node, options.data.clone(), site.reader(), Arc::clone(&ask));
    let links = Links { dialer: Arc::clone(&dialer), node, append_patience: options.append_patience() };
    let applier = Applier::new(
        machine,
        covered,
        ledger,
        site.clone(),
        comparer(),
        Arc::clone(&view),
        Arc::clone(&policy),
        fatal.clone(),
        tasks.token(),
    )
    .on(Local::of(&options.clock, node))
    .speaking(options.speaks);
    let raft = Raft::new(node, Arc::new(config), links, LogAdapter::new(log.clone()), applier)
        .await
        .map_err(|error| StartError::Consensus(error.to_string()))?;
    let chancery = Arc::new(Chancery {
        raft: raft.clone(),
        view: Arc::clone(&view),
        fatal: fatal.clone(),
        in_flight: Arc::new(Semaphore::new(options.in_flight)),
        stamps: Stamps { node: NodeId(node), clocks, bound: Arc::clone(&options.stamp_bound) },
    });
    let offices = watch::Sender::new(None);
    let candidate = Candidate {
        chancery: Arc::clone(&chancery),
        node: NodeId(node),
        incarnation: identity.incarnation,
        clock: Arc::clone(&options.clock),
        ledger: site.reader(),
        reign: Arc::clone(&reign),
        alarms: Arc::clone(&alarms),
    };
    let comparer = comparer();
    let level_view = Arc::clone(&view);
    let inner = Arc::new(Inner {
        options,
        node: NodeId(node),
        incarnation: identity.incarnation,
        raft: raft.clone(),
        log,
        site: site.clone(),
        view,
        fatal: fatal.clone(),
        alarms,
        offices: offices.clone(),
        dialer,
        doors: Arc::clone(&doors),
        chancery,
        comparer,
        zones,
        formats,
        stop: stop.clone(),
        tasks: tasks.clone(),
    });
    doors.open(raft.clone(), site, Arc::clone(&reign), level_view, join::handler(&inner));
    match identity.origin {
        Origin::Founder if node == found::FIRST => {
            let (dialer, options) = (Arc::clone(&inner.dialer), inner.options.clone());
            let (fatal, stop) = (fatal.clone(), stop.clone());
            let founding = found::Founding { raft: raft.clone(), dialer, options, fatal, stop: stop.clone() };
            spawn(&tasks, &stop, founding.initialise());
        }
        Origin::Founder => {}
        Origin::Joined => spawn(&tasks, &stop, join::become_voter(Arc::downgrade(&inner))),
    }
    spawn(&tasks, &stop, change::end_begun(Arc::downgrade(&inner), offices.subscribe()));
    spawn(&tasks, &stop, candidate.serve(offices));
    spawn(&tasks, &stop, watchdog::disk::serve(Arc::downgrade(&inner)));
    spawn(&tasks, &stop, watchdog::quorum::serve(Arc::downgrade(&inner)));
    spawn(&tasks, &stop, make_images(raft.clone(), policy));
    spawn(&tasks, &stop, watch_core(raft, inner.log.clone(), reign, fatal, stop.clone()));
    Ok(Consensus::new(inner))
}

/// A task that ends with the node.
fn spawn(tasks: &TaskTracker, stop: &CancellationToken, task: impl Future<Output = ()> + Send + 'static) {
    let stop = stop.clone();
    runtime::spawn_on(tasks, async move { stop.run_until_cancelled_owned(task).await });
}

/// Asks for an image whenever one is due. openraft makes one at a time and does not hear what is asked meanwhile, so it is
/// asked again, at most once a second.
async fn make_images(raft: Node, policy: Arc<Policy>) {
    loop {
        policy.due().await;
        if raft.trigger().snapshot().await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        policy.remind();
    }
}

/// openraft stops by itself when storage fails: the node must not go on without it. One that leaves stops it on purpose.
/// Notes meanwhile when this node was last answered as a leader.
async fn watch_core(raft: Node, log: Log, reign: Arc<Reign>, fatal: Fatal, leaves: CancellationToken) {
    let mut metrics = raft.metrics();
    loop {
        let (stopped, led) = {
            let metrics = metrics.borrow_and_update();
            let stopped = metrics.running_state.as_ref().err().map(ToString::to_string);
            (stopped, metrics.last_quorum_acked.map(|at| (Term(metrics.current_term), at.elapsed())))
        };
        if let Some((term, at)) = led.and_then(|(term, age)| Some((term, Instant::now().checked_sub(age)?))) {
            reign.note(term, at);
        }
        if leaves.is_cancelled() {
            return;
        }
        if let Some(why) = stopped {
            // The log says it in words for people.
            return fatal.stop(log.trouble().map_or(why, |trouble| with_cause(&trouble)));
        }
        if metrics.changed().await.is_err() {
            return;
        }
    }
}

/// What went wrong, and what the operating system said.
fn with_cause(trouble: &Trouble) -> String {
    std::error::Error::source(trouble).map_or(trouble.to_string(), |cause| format!("{trouble} ({cause})"))
}

/// This node as others reach it.
fn own_peer(options: &Options) -> Peer {
    Peer { peer_address: options.peer_address.clone(), api_address: options.api_address.clone() }
}
