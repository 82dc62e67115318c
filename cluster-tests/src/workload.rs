//! Schedules for tests: bodies of `PUT`, and the crontab of a batch host.
//!
//! Only what a test cannot do without is said; the rest are the product's defaults, which is what users have.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use campanile_core::cron::instant_text;
use campanile_core::time::{Span, Timestamp};
use serde_json::{Value, json};

use crate::api::Api;

/// How long a webhook may take. An attempt whose node was killed is tried again when its lease ends, which is this and a
/// margin after it began.
const TIMEOUT: &str = "5s";

/// A schedule to put.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// `namespace/name`.
    pub name: String,
    /// The body.
    pub body: Value,
}

/// A crontab of 200 jobs, a mix as one finds it.
#[must_use]
pub fn crontab() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/crontab-200")
}

/// `{"cron": text}` in UTC, six fields for seconds.
#[must_use]
pub fn cron(name: &str, text: &str, url: &str) -> Schedule {
    schedule(name, &json!({ "cron": text }), url)
}

/// `{"every": span}`, counted from the epoch.
#[must_use]
pub fn every(name: &str, span: &str, url: &str) -> Schedule {
    schedule(name, &json!({ "every": span }), url)
}

/// The spec of every second, on a grid that is so many milliseconds beside the whole second.
#[must_use]
pub fn every_second(offset_ms: u64) -> Value {
    let anchor = Timestamp::EPOCH + Span::from_millis(offset_ms % 1000);
    json!({ "every": "1s", "anchor": instant_text(anchor) })
}

/// Any one spec.
#[must_use]
pub fn schedule(name: &str, spec: &Value, url: &str) -> Schedule {
    let body = json!({ "specs": [spec], "target": { "webhook": { "url": url, "timeout": TIMEOUT } } });
    Schedule { name: name.to_owned(), body }
}

impl Schedule {
    /// The same with these fields laid over those of its body; objects in it are merged.
    #[must_use]
    pub fn with(mut self, fields: &Value) -> Self {
        lay_over(&mut self.body, fields);
        self
    }

    /// Where it is put.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/v1/schedules/{}", self.name)
    }

    /// Puts it, for the first time.
    ///
    /// # Errors
    /// When the answer is not 201.
    pub async fn create(&self, api: &Api) -> Result<()> {
        let reply = api.put(&self.path(), &self.body).await?;
        ensure!(reply.status == 201, "{}: {} {}", self.name, reply.status, reply.body);
        Ok(())
    }
}

/// Puts them one after another.
///
/// # Errors
/// The first that is not created.
pub async fn create_all(api: &Api, schedules: &[Schedule]) -> Result<()> {
    for schedule in schedules {
        schedule.create(api).await?;
    }
    Ok(())
}

/// What is in `over` wins; objects are merged.
fn lay_over(below: &mut Value, over: &Value) {
    match (below, over) {
        (Value::Object(below), Value::Object(over)) => {
            over.iter().for_each(|(name, value)| lay_over(below.entry(name).or_insert(Value::Null), value));
        }
        (below, over) => *below = over.clone(),
    }
}
