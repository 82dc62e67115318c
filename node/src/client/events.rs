//! A read that tells how far it is before it answers: server-sent events of one endpoint, read as they come.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;

use super::ask::{self, chain};
use super::sse::Parser;
use super::{Call, Client, Error, Failed, Tried};

/// A node that says nothing for so long is gone: it has something to say after every few thousand rows.
const HEARD_WITHIN: Duration = Duration::from_secs(30);

impl Client {
    /// Asks the first endpoint, and gives each event (its name and data) to `hear` until one is the answer.
    ///
    /// # Errors
    /// As [`Client::try_once`]; `TimedOut` when the answer breaks off.
    pub async fn hear<T>(
        &self,
        call: &Call,
        mut hear: impl FnMut(&str, Value) -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        let endpoint = &self.options.endpoints[0];
        let call = call.clone().accept("text/event-stream");
        let (token, within) = (self.options.token.as_ref(), self.options.timeout);
        let mut response = match ask::open(&self.http, endpoint, token, &call, within).await {
            Ok(response) => response,
            Err(outcome) => {
                let mut failed = Failed::default();
                failed.hear(endpoint, &call, outcome)?;
                return Err(failed.into_error());
            }
        };
        let broken = |why: String| Error::TimedOut {
            may_have_acted: false,
            tried: vec![Tried { endpoint: endpoint.to_string(), why }],
        };
        let (mut parser, mut messages) = (Parser::default(), VecDeque::new());
        loop {
            let piece = tokio::time::timeout(HEARD_WITHIN, response.chunk()).await;
            let piece = piece.map_err(|_| broken("it fell silent".into()))?;
            let piece = piece.map_err(|error| broken(chain(&error)))?;
            let piece = piece.ok_or_else(|| broken("the answer broke off".into()))?;
            parser.feed(&piece, &mut messages).map_err(|why| broken(why.into()))?;
            for message in messages.drain(..) {
                let data = serde_json::from_str(&message.data).unwrap_or_default();
                if let Some(answer) = hear(&message.kind, data) {
                    return answer;
                }
            }
        }
    }
}
