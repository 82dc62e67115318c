//! A read that tells how far it is before it answers: server-sent events of one endpoint, read as they come.

use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION};
use serde_json::Value;

use super::ask::chain;
use super::{Call, Client, Endpoint, Error, Options, Problem, Tried};

/// A node that says nothing for so long is gone: it has something to say after every few thousand rows.
const HEARD_WITHIN: Duration = Duration::from_secs(30);
/// The longest event that is read.
const LONGEST: usize = 16 * 1024 * 1024;

impl Client {
    /// The same, asking one other endpoint only.
    #[must_use]
    pub fn at(&self, endpoint: Endpoint) -> Self {
        let options = Options { endpoints: vec![endpoint], ..self.options.clone() };
        Self { http: self.http.clone(), options, preferred: AtomicUsize::new(0) }
    }

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
        let broken = |why: String| Error::TimedOut {
            may_have_acted: false,
            tried: vec![Tried { endpoint: endpoint.to_string(), why }],
        };
        let mut request =
            self.http.get(endpoint.join(&call.path, &call.query)).header(ACCEPT, "text/event-stream");
        if let Some(token) = &self.options.token {
            request = request.header(AUTHORIZATION, token.header());
        }
        let sent = tokio::time::timeout(self.options.timeout, request.send()).await;
        let mut response = match sent {
            Err(_) => return Err(broken("no answer in time".into())),
            Ok(Err(error)) if error.is_connect() => {
                let tried = vec![Tried { endpoint: endpoint.to_string(), why: chain(&error) }];
                return Err(Error::Unreachable { tried });
            }
            Ok(Err(error)) => return Err(broken(chain(&error))),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        let mut read = Vec::new();
        loop {
            let piece = tokio::time::timeout(HEARD_WITHIN, response.chunk()).await;
            let piece = piece.map_err(|_| broken("it fell silent".into()))?;
            let piece = piece.map_err(|error| broken(chain(&error)))?;
            let over = piece.is_none();
            read.extend_from_slice(&piece.unwrap_or_default());
            if !status.is_success() {
                if over {
                    return Err(refused(endpoint, status.as_u16(), &read));
                }
                continue;
            }
            while let Some(event) = take_event(&mut read) {
                let (name, data) = read_event(&event);
                if let Some(answer) = hear(&name, data) {
                    return answer;
                }
            }
            if over || read.len() > LONGEST {
                return Err(broken("the answer broke off".into()));
            }
        }
    }
}

fn refused(endpoint: &Endpoint, status: u16, body: &[u8]) -> Error {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    match Problem::read(status, &body) {
        Some(problem) => Error::Problem(Box::new(problem)),
        None => Error::Foreign { endpoint: endpoint.to_string(), status },
    }
}

/// Takes the first whole event off, without the empty line at its end.
fn take_event(read: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = read.windows(2).position(|pair| pair == b"\n\n")?;
    let event = read.drain(..end + 2).collect();
    Some(event)
}

fn read_event(event: &[u8]) -> (String, Value) {
    let text = String::from_utf8_lossy(event);
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_default().trim_start().to_owned()
    };
    (field("event"), serde_json::from_str(&field("data")).unwrap_or_default())
}
