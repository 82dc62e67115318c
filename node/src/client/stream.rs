//! Following the ledger: every row once, in order, from whichever node answers.
//!
//! It comes back by itself, behind the last row that it gave, when a connection breaks or a node goes quiet. What it does
//! not do is to go on where rows are gone: that is told, since a reader that counts must know.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use reqwest::Response;
use serde_json::Value;

use super::insist::Waits;
use super::open::HEARD_WITHIN;
use super::sse::{Message, Parser};
use super::{Call, Client, Error, Failed, Problem};

/// What a try to connect gets at least, however late it is.
const LAST_TRY: Duration = Duration::from_secs(1);

/// Which rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Behind this position, `index.n`, or `now`; from the oldest row that is kept when it is left out.
    pub after: Option<String>,
    /// Of these types only; of all when there are none.
    pub types: Vec<String>,
    /// Of this schedule only, `namespace/name`.
    pub schedule: Option<String>,
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq)]
pub enum LedgerEvent {
    /// The next row.
    Row {
        /// Where it stands, `index.n`.
        position: String,
        /// All of it, as in `/v1/ledger`.
        row: Value,
    },
    /// Nothing that is wanted came up to here.
    At {
        /// `index.n`.
        position: String,
    },
    /// This reader is slow: about so many rows wait for it.
    Behind {
        /// How many.
        rows: u64,
    },
}

/// A stream that goes on until it is dropped.
#[derive(Debug)]
pub struct LedgerStream<'a> {
    client: &'a Client,
    call: Call,
    position: Option<String>,
    open: Option<Open>,
    waits: Waits,
    /// Whether it has tried to connect before.
    is_again: bool,
}

#[derive(Debug)]
struct Open {
    response: Response,
    parser: Parser,
    messages: VecDeque<Message>,
}

impl Client {
    /// Follows the ledger behind a position, every row of it.
    #[must_use]
    pub fn ledger_stream(&self, after: Option<String>) -> LedgerStream<'_> {
        self.follow(Wanted { after, ..Wanted::default() })
    }

    /// Follows the rows that are wanted. Connects to nothing yet.
    #[must_use]
    pub fn follow(&self, wanted: Wanted) -> LedgerStream<'_> {
        let Wanted { after, types, schedule } = wanted;
        let types = (!types.is_empty()).then(|| types.join(","));
        let call = Call::get("/v1/ledger/stream")
            .query_if("after", after)
            .query_if("type", types)
            .query_if("schedule", schedule);
        LedgerStream {
            client: self,
            call,
            position: None,
            open: None,
            waits: Waits::default(),
            is_again: false,
        }
    }
}

impl LedgerStream<'_> {
    /// What comes next.
    ///
    /// # Errors
    /// [`Error::Problem`] with `watch_expired` when retention has passed the position: rows are missing behind it, and the
    /// stream cannot go on. One that may pass ([`Error::may_pass`]) when no node has answered for the client's timeout;
    /// asking again goes on. What no moment mends, such as a missing right.
    pub async fn next(&mut self) -> Result<LedgerEvent, Error> {
        let deadline = Instant::now() + self.client.options.timeout;
        loop {
            let Some(open) = &mut self.open else {
                self.open = Some(self.connect(deadline).await?);
                continue;
            };
            if let Some(message) = open.messages.pop_front() {
                if let Some(event) = self.read(message)? {
                    return Ok(event);
                }
                continue;
            }
            let heard = open.hear(&mut self.waits).await;
            if !matches!(heard, Ok(true)) {
                self.open = None;
                // A node that stops ends its streams, and another one lives.
                self.client.prefer_another();
                heard?;
            }
        }
    }

    /// The position of the last row, or of what was passed since: what a new stream would go on behind.
    #[must_use]
    pub fn position(&self) -> Option<&str> {
        self.position.as_deref()
    }

    async fn connect(&mut self, deadline: Instant) -> Result<Open, Error> {
        let call = self.call.clone().last_event(self.position.as_deref());
        loop {
            if self.is_again {
                tokio::time::sleep(self.waits.next()).await;
            }
            self.is_again = true;
            let mut failed = Failed::default();
            let until = deadline.max(Instant::now() + LAST_TRY);
            let error = match self.client.open_each(&call, until, &mut failed).await {
                Ok(Some(response)) => {
                    return Ok(Open { response, parser: Parser::default(), messages: VecDeque::new() });
                }
                Ok(None) => failed.into_error(),
                Err(error) => error,
            };
            if !error.may_pass() || Instant::now() >= deadline {
                return Err(error);
            }
            self.client.prefer_another();
        }
    }

    fn read(&mut self, message: Message) -> Result<Option<LedgerEvent>, Error> {
        let data: Value =
            serde_json::from_str(&message.data).map_err(|_| foreign("an event that is no JSON"))?;
        let event = match message.kind.as_str() {
            "row" => LedgerEvent::Row { position: self.moved(message.id)?, row: data },
            "at" => LedgerEvent::At { position: self.moved(message.id)? },
            "behind" => LedgerEvent::Behind { rows: data["rows"].as_u64().unwrap_or_default() },
            "expired" => return Err(self.expired()),
            // A later version may tell more.
            _ => return Ok(None),
        };
        Ok(Some(event))
    }

    fn moved(&mut self, id: Option<String>) -> Result<String, Error> {
        let position = id.ok_or_else(|| foreign("a row without a position"))?;
        self.position = Some(position.clone());
        Ok(position)
    }

    fn expired(&mut self) -> Error {
        self.open = None;
        let behind = self.position.as_deref().unwrap_or("the beginning");
        Error::Problem(Box::new(Problem {
            status: 410,
            code: "watch_expired".into(),
            detail: format!("rows behind {behind} have been dropped by retention"),
            ..Problem::default()
        }))
    }
}

impl Open {
    /// Reads a piece; `false` when nothing more comes of this connection.
    async fn hear(&mut self, waits: &mut Waits) -> Result<bool, Error> {
        let Ok(Ok(Some(piece))) = tokio::time::timeout(HEARD_WITHIN, self.response.chunk()).await else {
            return Ok(false);
        };
        self.parser.feed(&piece, &mut self.messages).map_err(foreign)?;
        if !self.messages.is_empty() {
            *waits = Waits::default();
        }
        Ok(true)
    }
}

fn foreign(what: &str) -> Error {
    Error::Unusable(format!("the node's stream is none of this product: {what}"))
}
