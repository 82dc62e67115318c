//! Consensus: three nodes, one log, one machine. The only room that sees a command meet an entry of the log.
//!
//! ```text
//!   node            office.propose ─> openraft ─> log (storage) ──┐        peers ══ transport ══ openraft
//!   node  <── view ── apply: Command ─> core's Machine ─> rows ─> ledger (storage)
//! ```
//! openraft stays behind the names of this room, and none of its types reaches a disk or a wire. This room must not know
//! what a schedule is, must not read the wall clock (the node hands one in), and must not repeat what may have happened.
//!
//! Read in this order; the node needs [`Options`], [`Consensus`] and [`Office`] only.

pub mod apply;
pub mod compare;
pub mod consensus;
pub mod differs;
pub mod fatal;
pub mod format;
pub mod identity;
pub mod image;
pub mod leadership;
pub mod level;
mod local;
pub mod log;
pub mod mark;
pub mod membership;
pub mod office;
pub mod policy;
pub mod reign;
pub mod runtime;
pub mod seed;
pub mod settings;
pub mod stamp;
pub mod stores;
pub mod told;
pub mod transport;
pub mod types;
pub mod view;
pub mod watchdog;

pub use consensus::{
    BackupError, ClusterStatus, Consensus, ForwardError, Image, LogStatus, Member, MembershipError, ReadError,
};
pub use membership::StartError;
pub use office::{COMMAND_LIMIT, Office, Pending, ProposeError};
pub use settings::{LogOpener, LogStarter, Options};
pub use stamp::StampBound;
pub use transport::clocks::{PeerClock, WallClock};
pub use transport::doors::ForwardHandler;
pub use transport::guard::Secret;
pub use types::Peer;
