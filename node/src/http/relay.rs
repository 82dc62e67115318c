//! Writes go to the leader, whoever was asked; and an outcome that is lost on the way is looked for again.
//!
//! ```text
//! write ──▶ in office? ── yes ──▶ handlers of this node ──┐
//!              │                                          ├──▶ answered: to the user
//!              no ──▶ frame ──▶ leader's handlers ────────┤
//!              ▲                                          ├──▶ not sent: wait for a leader, ask again
//!              └──────────────────────────────────────────┴──▶ unknown: the same, under the same key
//! ```
//! The key makes asking again harmless: what was done is answered again, what was not is done once. When the time is up,
//! an outcome that is still unknown is said to be unknown.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderName, Method, request};
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;

use super::answer::problem_answer;
use super::body::read_body;
use super::conditions::{conditions, one_header};
use super::forwarded::{request_of, response_of};
use super::{App, Principal};
use crate::problem::{Code, Problem};
use crate::service::frame::{Answer, AnswerHead, Order, OrderHead, UndoneKind, Unfinished};
use crate::service::write::{Caller, Key, fingerprint};
use crate::service::{RETRY_PAUSE, Service};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// What the answering side keeps of the time that the asking side waits, so that its answer still arrives.
const ON_THE_WAY: Duration = Duration::from_millis(100);

/// The middleware: reads are answered here, writes where the leader is.
pub(crate) async fn relay(State(app): State<App>, request: Request, next: Next) -> Response {
    if !is_write(request.method(), request.uri().path()) {
        return next.run(request).await;
    }
    if let Some(Err(closed)) = app.keeping.as_ref().map(|keeping| keeping.restores.allows_writes()) {
        return problem_answer(&closed);
    }
    // What the router found out on the way here, the parameters of the path among it, goes on with every try.
    let found = request.extensions().clone();
    let local = |mut request: Request| {
        let mut extensions = found.clone();
        extensions.extend(std::mem::take(request.extensions_mut()));
        *request.extensions_mut() = extensions;
        next.clone().run(request)
    };
    let is_of_holder = is_of_holder(request.uri().path());
    match Write::read(&app, request).await {
        Err(problem) => problem_answer(&problem),
        Ok(write) if is_of_holder => local(request_of(&write.order, &write.caller)).await,
        Ok(write) => write.carry(&app.service, local).await,
    }
}

/// A preview stores nothing, so any node answers it; a backup that is given back is for the node that is asked.
fn is_write(method: &Method, path: &str) -> bool {
    let changes = [Method::PUT, Method::POST, Method::PATCH, Method::DELETE].contains(method);
    changes && !["/v1/preview", "/v1/restore"].contains(&path)
}

/// What holders of leases say goes to the log by a way of its own, from whichever node they ask.
fn is_of_holder(path: &str) -> bool {
    path.starts_with("/v1/leases/") || (path.starts_with("/v1/queues/") && path.ends_with("/lease"))
}

/// A write that was read whole, so that it can be sent more than once.
struct Write {
    order: Order,
    caller: Caller,
    forward: bool,
}

impl Write {
    async fn read(app: &App, request: Request) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let body = read_body(body).await?;
        let by =
            parts.extensions.get::<Principal>().map_or("anonymous", |principal| &principal.name).to_owned();
        let key = Key::of(one_header(&parts.headers, &IDEMPOTENCY_KEY)?)?;
        let caller = Caller {
            by: by.clone().into(),
            fingerprint: fingerprint(parts.method.as_str(), parts.uri.path(), &body),
            deadline: Instant::now() + app.service.options().write_within,
            key,
        };
        let forward = asks_to_be_forwarded(&parts)?;
        let (key, key_of_client) = match &caller.key {
            Key::Client(text) => (text.to_string(), true),
            Key::Own(text) => (text.to_string(), false),
        };
        let head = OrderHead {
            method: parts.method.to_string(),
            uri: parts.uri.path_and_query().map_or_else(|| parts.uri.path().to_owned(), ToString::to_string),
            headers: conditions(&parts.headers)?,
            by,
            key,
            key_of_client,
            within_ms: 0,
        };
        Ok(Self { order: Order { head, body }, caller, forward })
    }

    /// Asks until there is an answer, or the time is up.
    async fn carry<F: Future<Output = Response>>(
        &self,
        service: &Arc<Service>,
        local: impl Fn(Request) -> F,
    ) -> Response {
        let mut unknown = None;
        loop {
            let undone = if service.quorum().leads() {
                match self.try_here(service, &local).await {
                    Ok(response) => return response,
                    Err(undone) => undone,
                }
            } else if self.forward {
                match self.send(service).await {
                    Ok(response) => return response,
                    Err(undone) => undone,
                }
            } else {
                return problem_answer(&not_leader(service).await);
            };
            let left = self.left();
            let last = undone.why.clone();
            if undone.kind == UndoneKind::Unknown {
                unknown = Some(undone.why);
            }
            if left.is_zero() {
                return problem_answer(&gave_up(service, unknown, &last).await);
            }
            service.quorum().leader_change(left.min(RETRY_PAUSE)).await;
        }
    }

    /// Lets the handlers of this node do it. A leader whom nobody answers would append what it cannot commit, and leave
    /// the user with an outcome that nobody knows: better nothing, and certainly nothing.
    async fn try_here<F: Future<Output = Response>>(
        &self,
        service: &Arc<Service>,
        local: &impl Fn(Request) -> F,
    ) -> Result<Response, Unfinished> {
        if service.lacks_majority() {
            return Err(Unfinished::not_sent("this node leads, and no majority answers it"));
        }
        let response = local(request_of(&self.order, &self.caller)).await;
        match response.extensions().get::<Unfinished>() {
            None => Ok(response),
            Some(undone) => Err(undone.clone()),
        }
    }

    /// Sends the order to the leader. Does not wait for one that was replaced meanwhile: it may be dead, and the next one
    /// knows under the same key what became of the order.
    async fn send(&self, service: &Arc<Service>) -> Result<Response, Unfinished> {
        let within = self.left().saturating_sub(ON_THE_WAY);
        let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let head = OrderHead { within_ms, ..self.order.head.clone() };
        let frame = Order { head, body: self.order.body.clone() }.encode();
        let asked = tokio::select! {
            biased;
            answer = tokio::time::timeout(self.left(), service.quorum().forward(frame, within)) => answer,
            () = replaced(service) => {
                return Err(Unfinished::unknown("another leader took office before there was an answer"));
            }
        };
        match asked {
            Err(_) => Err(Unfinished::unknown("the leader did not answer in time")),
            Ok(Err(undone)) => Err((&undone).into()),
            Ok(Ok(frame)) => match Answer::decode(&frame) {
                Err(bad) => Err(Unfinished::unknown(&bad.to_string())),
                Ok(Answer { head: AnswerHead { undone: Some(undone), .. }, .. }) => Err(undone),
                Ok(answer) => Ok(response_of(answer)),
            },
        }
    }

    fn left(&self) -> Duration {
        self.caller.deadline.saturating_duration_since(Instant::now())
    }
}

/// Returns when another node leads than did, or this one does.
async fn replaced(service: &Arc<Service>) {
    let quorum = service.quorum();
    let before = quorum.leader();
    loop {
        quorum.leader_change(RETRY_PAUSE).await;
        let now = quorum.leader();
        if quorum.leads() || (before.is_some() && now.is_some() && now != before) {
            return;
        }
    }
}

fn asks_to_be_forwarded(parts: &request::Parts) -> Result<bool, Problem> {
    let query = parts.uri.query().unwrap_or_default().as_bytes();
    match url::form_urlencoded::parse(query).find(|(name, _)| name == "forward") {
        None => Ok(true),
        Some((_, value)) if value == "true" => Ok(true),
        Some((_, value)) if value == "false" => Ok(false),
        Some((_, value)) => Err(Problem::bad_request(format!(
            "the query parameter \"forward\" is true or false, not {value:?}"
        ))),
    }
}

async fn not_leader(service: &Arc<Service>) -> Problem {
    match service.quorum().leader() {
        Some(leader) => {
            let detail = format!("node {} leads; send writes to {}", leader.node, leader.api_address);
            Problem { leader: Some(leader.api_address), ..Problem::new(Code::NotLeader, detail) }
        }
        None => service.no_quorum("no leader is known").await,
    }
}

/// The time is up. What was certainly not done is told apart from what may have been.
async fn gave_up(service: &Arc<Service>, unknown: Option<String>, why: &str) -> Problem {
    let Some(unknown) = unknown else { return service.no_quorum(why).await };
    Problem::new(
        Code::UnknownOutcome,
        format!("{unknown}; it may have been done: ask again with the same Idempotency-Key, which acts once"),
    )
}
