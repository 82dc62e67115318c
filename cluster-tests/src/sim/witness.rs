//! What the product logs while a world runs: lines of the trace, and branches that leave no other sign.
//!
//! One for each thread, since a world lives on one; it keeps nothing of what other crates say.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, Interest, set_default};
use tracing::{Event, Metadata, Subscriber};

use super::trace::{Trace, digest};

/// Which branch a message stands for, by how the message begins.
const BRANCHES: &[(&str, &str)] = &[
    ("took office", "took office"),
    ("lost office", "lost office"),
    ("a proposal is refused: its office is over", "stale office refused"),
    ("this node must stop", "node must stop"),
    ("the disk hangs: this node leads no more", "disk hang seen"),
    ("this node gives its office away: its disk hangs", "disk-hang hand-over"),
    ("the clock of this node is ahead of a quorum", "clock guard held"),
    ("this node gives its office away: its clock", "office given away"),
    ("the torn tail of the ledger is cut", "tail torn"),
    ("the ledger is damaged", "ledger damaged"),
    ("the data directory is damaged", "data directory damaged"),
    ("there is a cluster that this disk does not know", "joined with an empty disk"),
    ("a learner becomes a voter", "learner becomes a voter"),
    ("a change of members is ended that its leader", "members changed to the end by another leader"),
    ("every member reads a newer format level", "format level raised"),
    ("a tick was not committed", "tick not committed"),
    ("a tick is planned again in halves", "tick too large"),
    ("a lease was refused", "lease refused"),
    ("a report came too late", "report too late"),
    ("a report was not settled", "report not settled"),
    ("a lease is found whose answer was lost", "lease found again"),
    ("backfills do not go on", "backfill step failed"),
    ("what holders said is carried again", "holders carried again"),
    ("older rows of the ledger are dropped", "rows of the ledger dropped"),
    ("the leader's ledger differs", "ledgers differ"),
    ("cannot take office yet", "office not taken yet"),
    ("cannot ship an image", "image not shipped"),
    ("an image does not read", "image unreadable"),
];

/// Which branch a reason stands for, with which a node stops.
const REASONS: &[(&str, &str)] = &[
    ("consensus stands still", "stopped without a quorum's answer"),
    ("the disk hangs: a write of the log has not ended", "stopped for a disk that hangs"),
    ("cannot apply the log", "stopped by what it cannot apply"),
    ("writes format level", "version too old for the cluster"),
];

/// Listens on this thread until it is dropped.
pub(super) fn listen(trace: Trace) -> DefaultGuard {
    set_default(Witness(trace))
}

struct Witness(Trace);

impl Subscriber for Witness {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("campanile")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut said = Said::default();
        event.record(&mut said);
        if let Some((_, branch)) = BRANCHES.iter().find(|(begins, _)| said.message.starts_with(begins)) {
            self.0.reach(branch);
        }
        for (_, branch) in REASONS.iter().filter(|(reason, _)| said.fields.contains(reason)) {
            self.0.reach(branch);
        }
        // Only the message counts for the hash: a field may hold the name of a file.
        self.0.note("log", &[digest(said.message.as_bytes())], || {
            format!(
                "{} {}: {}{}",
                event.metadata().level(),
                event.metadata().target(),
                said.message,
                said.fields
            )
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// An event in words.
#[derive(Default)]
struct Said {
    message: String,
    fields: String,
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields += &format!(" {name}={value:?}"),
        }
    }
}
