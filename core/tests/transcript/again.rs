//! What a script can say of instants that are past: backfills, the mark, re-runs, and a ledger that tells what has fired.

use std::collections::BTreeMap;

use campanile_core::backfill::{Backfill, BackfillPlan};
use campanile_core::command::{Body, CancelBackfill};
use campanile_core::definition::Overlap;
use campanile_core::event::{Event, Row};
use campanile_core::id::{BackfillId, Run, Uid};
use campanile_core::plan::{Instead, Past, Refusal};
use campanile_core::query;
use campanile_core::time::{Span, Timestamp};

use super::{Stage, Words, instant, shown, verbs};

/// What the rows that the stage has seen say of firings.
pub struct Ledger {
    runs: BTreeMap<(Uid, Timestamp), Run>,
    /// Rows before this are forgotten.
    since: Timestamp,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { runs: BTreeMap::new(), since: Timestamp::from_millis(i64::MIN) }
    }
}

impl Ledger {
    pub fn read(&mut self, rows: &[Row]) {
        for row in rows {
            if let Event::Fired { firing, .. } = row.event {
                let highest = self.runs.entry((firing.uid, firing.nominal)).or_insert(firing.run);
                *highest = firing.run.max(*highest);
            }
        }
    }
}

impl Past for Ledger {
    fn runs(&self, uid: Uid, after: Timestamp, until: Timestamp) -> BTreeMap<Timestamp, Run> {
        let runs = self.runs.range((uid, after.successor())..=(uid, until));
        runs.map(|((_, nominal), run)| (*nominal, *run)).collect()
    }

    fn known_since(&self) -> Timestamp {
        self.since
    }
}

/// Plans what the line asks for, or says why not.
pub fn plan(stage: &mut Stage, words: &Words) -> Option<Result<Body, Refusal>> {
    let at = stage.now();
    let (machine, past) = (&stage.machine, &stage.past);
    let planner = &mut stage.planner;
    Some(match words.verb() {
        "backfill" => planner.create_backfill(machine, at, verbs::wanted(words), range(words), past),
        "step" => Ok(Body::StepBackfill(planner.step_backfills(machine, at, past, 1).pop()?)),
        "cancel-backfill" => Ok(Body::CancelBackfill(CancelBackfill {
            id: BackfillId(words.word(1).parse().expect("the number of a backfill")),
            request: verbs::request(words),
        })),
        "mark" => planner.set_mark(
            machine,
            at,
            verbs::wanted(words),
            instant(words.value("to").expect("to=")),
            past,
        ),
        "rerun" => {
            let firing = verbs::firing(stage, words);
            let (machine, past) = (&stage.machine, &stage.past);
            stage.planner.rerun(machine, firing, instead(words), verbs::request(words), past)
        }
        "trigger-at" => {
            let nominal = instant(words.value("nominal").expect("nominal="));
            planner.trigger_at(machine, at, verbs::wanted(words), nominal, instead(words), past)
        }
        verb => panic!("no verb {verb}"),
    })
}

fn instead(words: &Words) -> Instead {
    Instead {
        payload: words.value("payload").map(Into::into),
        overlap: words.value("overlap").map(verbs::overlap),
    }
}

fn range(words: &Words) -> BackfillPlan {
    BackfillPlan {
        after: instant(words.value("after").expect("after=")),
        until: instant(words.value("until").expect("until=")),
        again: words.flag("again"),
        overlap: words.value("overlap").map_or(Overlap::Allow, verbs::overlap),
        pace: words.value("pace").map_or(Span::ZERO, verbs::span),
        max_live: words.number("max-live").unwrap_or(10) as u32,
    }
}

/// `count-backfill NAME after=… until=… [again]`: the dry run.
pub fn count_backfill(stage: &mut Stage, words: &Words) -> Vec<String> {
    let at = stage.now();
    let (name, plan) = (words.name(1), range(words));
    let counts = stage.planner.count_backfill(&stage.machine, at, &name, plan, &stage.past);
    vec![counts.map_or_else(
        |refusal| refused(&refusal),
        |counts| {
            format!("instants={} would_fire={} passed={}", counts.instants, counts.would_fire, counts.passed)
        },
    )]
}

/// `count-mark NAME to=…`: the dry run.
pub fn count_mark(stage: &mut Stage, words: &Words) -> Vec<String> {
    let (at, to) = (stage.now(), instant(words.value("to").expect("to=")));
    let counts = stage.planner.count_mark(&stage.machine, at, &words.name(1), to, &stage.past);
    vec![counts.map_or_else(
        |refusal| refused(&refusal),
        |counts| format!("fires={} skips={}", counts.fires, counts.skips),
    )]
}

pub fn refused(refusal: &Refusal) -> String {
    format!("refused {}: {refusal}", refusal.as_str())
}

/// `steps`: what the leader does about backfills until nothing is left to do now.
pub fn steps(stage: &mut Stage) -> Vec<String> {
    let mut said = Vec::new();
    for _ in 0..100 {
        let steps = stage.planner.step_backfills(&stage.machine, stage.now(), &stage.past, 10);
        if steps.is_empty() {
            let next = query::next_backfill(&stage.machine);
            said.push(
                next.map_or("no step is due".into(), |at| format!("the next step is due {}", shown(at))),
            );
            return said;
        }
        for step in steps {
            let command = stage.command(Body::StepBackfill(step));
            said.extend(stage.commit(&command));
        }
    }
    panic!("a backfill takes steps for ever");
}

/// `forget until=…`: the ledger loses what was written before.
pub fn forget(stage: &mut Stage, words: &Words) -> Vec<String> {
    stage.past.since = instant(words.value("until").expect("until="));
    vec![]
}

/// `backfills [NAME]`: those that are known, the newest first.
pub fn backfills(stage: &Stage, words: &Words) -> Vec<String> {
    let name = words.has(1).then(|| words.name(1));
    let said = query::page_backfills(&stage.machine, name.as_ref(), None, 10);
    if said.is_empty() { vec!["no backfills".into()] } else { said.iter().map(|b| backfill(b)).collect() }
}

fn backfill(backfill: &Backfill) -> String {
    format!(
        "backfill {} {} {:?} at {} of {} fired={} passed={} skipped={} live={} succeeded={} failed={}",
        backfill.id,
        backfill.name,
        backfill.state,
        shown(backfill.position),
        shown(backfill.plan.until),
        backfill.fired,
        backfill.passed,
        backfill.skipped,
        backfill.live,
        backfill.succeeded,
        backfill.failed
    )
}
