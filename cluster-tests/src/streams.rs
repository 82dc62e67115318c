//! Readers of the ledger's stream: each attached to one node, coming back by itself, writing down every row that it is given.
//!
//! They read the text of the protocol themselves, as a stranger would, and drop nothing: a row that comes twice is written
//! down twice. They judge nothing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::api::Api;

/// A node that is down is asked again after this.
const AGAIN: Duration = Duration::from_millis(50);
/// What a slow reader does between two pieces: nothing.
const DAWDLES: Duration = Duration::from_millis(700);
/// A stream has no end, and the client would end it.
const FOR_EVER: Duration = Duration::from_secs(24 * 3600);

/// How fast a reader takes what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// At once.
    Quick,
    /// With a pause behind each piece, until it is told to hurry.
    Slow,
}

/// A reader of one node's stream, from the oldest row on. Dropped, it goes away.
#[derive(Debug)]
pub struct Reader {
    notes: Arc<Notes>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Notes {
    rows: Mutex<Vec<Value>>,
    connections: AtomicUsize,
    refusals: Mutex<Vec<String>>,
    hurries: AtomicBool,
}

impl Reader {
    /// Attaches to a node, and attaches again whenever its connection breaks.
    #[must_use]
    pub fn attach(api: Api, pace: Pace) -> Self {
        let notes = Arc::new(Notes::default());
        notes.hurries.store(pace == Pace::Quick, Ordering::SeqCst);
        Self { task: tokio::spawn(read(api, Arc::clone(&notes))), notes }
    }

    /// From now on it takes what comes at once.
    pub fn hurry(&self) {
        self.notes.hurries.store(true, Ordering::SeqCst);
    }

    /// Every row that it was given, in the order in which they came.
    #[must_use]
    pub fn rows(&self) -> Vec<Value> {
        self.notes.rows().clone()
    }

    /// The `position` of the last row.
    #[must_use]
    pub fn last(&self) -> Option<String> {
        self.notes.last()
    }

    /// How often it has attached.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.notes.connections.load(Ordering::SeqCst)
    }

    /// Answers that were neither a stream nor "not now".
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        self.notes.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Notes {
    fn rows(&self) -> MutexGuard<'_, Vec<Value>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> Option<String> {
        self.rows().last().and_then(|row| row["position"].as_str()).map(str::to_owned)
    }

    fn refuse(&self, why: String) {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).push(why);
    }
}

async fn read(api: Api, notes: Arc<Notes>) {
    loop {
        let mut request = api.request(Method::GET, "/v1/ledger/stream").timeout(FOR_EVER);
        if let Some(last) = notes.last() {
            request = request.header("Last-Event-ID", last);
        }
        match request.send().await {
            Ok(response) if response.status() == 200 => {
                notes.connections.fetch_add(1, Ordering::SeqCst);
                take_all(response, &notes).await;
            }
            Ok(response) if response.status() == 503 => {}
            Ok(response) => {
                let status = response.status();
                notes.refuse(format!("{status} {}", response.text().await.unwrap_or_default()));
            }
            Err(_) => {}
        }
        sleep(AGAIN).await;
    }
}

/// Until the connection breaks. What is left of an event then was never given.
async fn take_all(mut response: Response, notes: &Notes) {
    let mut bytes = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        bytes.extend_from_slice(&piece);
        while let Some(end) = bytes.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = bytes.drain(..end + 2).collect();
            take(&String::from_utf8_lossy(&block), notes);
        }
        if !notes.hurries.load(Ordering::SeqCst) {
            sleep(DAWDLES).await;
        }
    }
}

fn take(block: &str, notes: &Notes) {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
    match field("event: ") {
        Some("row") => {
            let row: Value =
                field("data: ").and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
            if row["position"].as_str() != field("id: ") {
                notes.refuse(format!("an id that is not the position of its row: {block}"));
            }
            notes.rows().push(row);
        }
        Some("expired") => notes.refuse(block.to_owned()),
        // Told when it is slow, or that nothing is new.
        _ => {}
    }
}
