//! Taking a file from a node: piece by piece, however long it is.

use std::io;
use std::time::Duration;

use reqwest::header::AUTHORIZATION;
use serde_json::Value;
use tokio::time::timeout;

use super::error::{Problem, Tried};
use super::{Client, Endpoint, Error, ask};

/// How long a node may take until it begins, and for each piece: making an image of a large cluster takes seconds.
const PATIENCE: Duration = Duration::from_secs(90);
/// The longest problem that is read.
const MAX_PROBLEM: usize = 1 << 20;

impl Client {
    /// Takes what stands at `path` from the first endpoint that has it, and gives it to `take` piece by piece. Nothing is
    /// given before a node has begun, and no second node is asked once one has. Answers the number of bytes.
    ///
    /// # Errors
    /// As [`Client::send`]; [`Error::Broken`] when it breaks off or `take` fails, and what was taken is worthless then.
    pub async fn download(
        &self,
        path: &str,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<u64, Error> {
        let mut response = self.begin_download(path).await?;
        let mut bytes = 0;
        loop {
            let piece = match timeout(PATIENCE, response.chunk()).await {
                Ok(Ok(piece)) => piece,
                Ok(Err(error)) => return Err(Error::Broken { bytes, why: ask::chain(&error) }),
                Err(_) => return Err(Error::Broken { bytes, why: "nothing came for too long".into() }),
            };
            let Some(piece) = piece else { return Ok(bytes) };
            take(&piece)
                .map_err(|error| Error::Broken { bytes, why: format!("cannot write it: {error}") })?;
            bytes += piece.len() as u64;
        }
    }

    async fn begin_download(&self, path: &str) -> Result<reqwest::Response, Error> {
        let (mut tried, mut refused) = (Vec::new(), None);
        for endpoint in &self.options.endpoints {
            let mut request = self.http.get(endpoint.join(path, &[]));
            if let Some(token) = &self.options.token {
                request = request.header(AUTHORIZATION, token.header());
            }
            let why = match timeout(PATIENCE, request.send()).await {
                Ok(Ok(response)) if response.status().is_success() => return Ok(response),
                Ok(Ok(response)) => match refusal(endpoint, response).await {
                    Error::Problem(problem) if problem.may_pass() => {
                        let why = problem.to_string();
                        refused = Some(Error::Problem(problem));
                        why
                    }
                    error => return Err(error),
                },
                Ok(Err(error)) => ask::chain(&error),
                Err(_) => "it did not begin in time".into(),
            };
            tried.push(Tried { endpoint: endpoint.to_string(), why });
        }
        Err(refused.unwrap_or(Error::Unreachable { tried }))
    }
}

async fn refusal(endpoint: &Endpoint, mut response: reqwest::Response) -> Error {
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Ok(Ok(Some(piece))) = timeout(PATIENCE, response.chunk()).await {
        if body.len() + piece.len() > MAX_PROBLEM {
            break;
        }
        body.extend_from_slice(&piece);
    }
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    match Problem::read(status, &body) {
        Some(problem) => Error::Problem(Box::new(problem)),
        None => Error::Foreign { endpoint: endpoint.to_string(), status },
    }
}
