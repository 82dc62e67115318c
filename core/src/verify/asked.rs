//! Firings that no instant asks for: triggers, re-runs, backfills, what follows other firings, notices.
//!
//! What has fired before is not kept, so whether a run is the next one is not judged, nor whether the instant of a re-run
//! fired before. A backfill goes through its range in order, and is judged by that.

use std::collections::BTreeMap;

use crate::backfill::BackfillPlan;
use crate::cron::instant_text;
use crate::event::Event;
use crate::firing::{FiringId, Kind};
use crate::id::{BackfillId, Revision, Uid};
use crate::time::Timestamp;

use super::court::Court;
use super::life::{Life, Standing};
use super::verdict::Fault;

/// The backfills that run.
#[derive(Debug, Default)]
pub(super) struct Backfills(BTreeMap<BackfillId, Run>);

#[derive(Debug)]
struct Run {
    uid: Uid,
    plan: BackfillPlan,
    /// It has fired nothing later.
    last: Timestamp,
    fired: u64,
}

impl Backfills {
    /// One began.
    pub(super) fn begin(&mut self, id: BackfillId, uid: Uid, plan: BackfillPlan) {
        self.0.insert(id, Run { uid, plan, last: plan.after, fired: 0 });
    }

    /// One ended; how many rows told of its firings, if its beginning was told.
    pub(super) fn end(&mut self, event: &Event) -> Option<(Uid, String)> {
        let Event::BackfillEnded { id, fired, .. } = event else { return None };
        let run = self.0.remove(id)?;
        (run.fired != *fired).then(|| {
            let told = run.fired;
            (run.uid, format!("ended backfill {id}, which says {fired} firings, and the rows tell {told}"))
        })
    }

    /// What is wrong with a firing of one; `Err` when its beginning was not told.
    fn judge(&mut self, id: BackfillId, firing: FiringId) -> Result<Option<(Fault, String)>, ()> {
        let run = self.0.get_mut(&id).ok_or(())?;
        run.fired += 1;
        let (nominal, plan) = (firing.nominal, run.plan);
        if run.uid != firing.uid || nominal <= plan.after || nominal > plan.until {
            return Ok(Some((Fault::Phantom, format!("fired for backfill {id}, which is not about it"))));
        }
        if nominal <= run.last {
            let last = instant_text(run.last);
            let detail = format!("fired for backfill {id}, which had gone through everything up to {last}");
            return Ok(Some((Fault::Doubled, detail)));
        }
        run.last = nominal;
        Ok(None)
    }
}

/// A firing that somebody asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) firing: FiringId,
    pub(super) revision: Revision,
    pub(super) kind: Kind,
    /// Whether it was live already.
    pub(super) was_live: bool,
}

impl Life {
    /// Judges a firing that no instant asked for. `is_midway`: backfills may have begun in rows that were dropped.
    pub(super) fn judge_asked(
        &mut self,
        asked: Asked,
        backfills: &mut Backfills,
        is_midway: bool,
        court: &mut Court<'_>,
    ) {
        let Asked { firing, kind, .. } = asked;
        let of_backfill = match kind {
            Kind::Backfill(id) => backfills.judge(id, firing),
            _ => Ok(None),
        };
        let nominal = firing.nominal;
        if !self.is_judged || !court.scope.covers(nominal) {
            return;
        }
        court.docket.counts.asked += 1;
        let at = court.at;
        if at < nominal {
            court.enter(Fault::Early, 1, self.party(), Some(nominal), || {
                format!("fired ({}) at {}, before it had come", kind.as_str(), instant_text(at))
            });
        }
        let wrong = match of_backfill {
            Ok(wrong) => wrong.or_else(|| self.wrong_with(asked, court)),
            Err(()) if is_midway => {
                court.docket.counts.unverified += 1;
                None
            }
            Err(()) => Some((Fault::Phantom, "fired for a backfill that no row tells of".into())),
        };
        if let Some((fault, detail)) = wrong {
            court.enter(fault, 1, self.party(), Some(nominal), || detail);
        }
    }

    fn wrong_with(&mut self, asked: Asked, court: &mut Court<'_>) -> Option<(Fault, String)> {
        let Asked { firing, revision, kind, was_live } = asked;
        if was_live {
            return Some((Fault::Doubled, format!("fired ({}) while it was live", kind.as_str())));
        }
        match kind {
            Kind::Rerun if firing.run.0 == 0 => {
                Some((Fault::Phantom, "fired as a re-run and is a first run".into()))
            }
            Kind::Chained(cause) if matches!(self.standing, Standing::Paused | Standing::Parked) => {
                Some((Fault::Phantom, format!("followed {cause}, and nothing follows while it is paused")))
            }
            Kind::Backfill(_) if self.standing != Standing::Unknown => {
                let current = self.revision;
                let series = self.series(court)?;
                if !series.contains(firing.nominal) {
                    return Some((Fault::Phantom, "fired for a backfill and is no nominal instant".into()));
                }
                (revision != current).then(|| {
                    let detail = format!("fired by revision {revision}, and revision {current} was in force");
                    (Fault::Phantom, detail)
                })
            }
            _ => None,
        }
    }
}
