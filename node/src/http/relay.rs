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

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tower::ServiceExt;

use super::answer::problem_answer;
use super::{App, BODY_LIMIT};
use crate::problem::{Code, Problem};
use crate::service::frame::{Answer, AnswerHead, Order, OrderHead, UndoneKind};
use crate::service::quorum::Undone;
use crate::service::write::{Caller, Key, fingerprint};
use crate::service::{RETRY_PAUSE, Service};

use super::Principal;

/// Answers a frame that another node has forwarded to this one.
pub type Forwarded = Arc<dyn Fn(Bytes) -> BoxFuture<'static, Bytes> + Send + Sync>;

/// The headers of a request that a handler of a write looks at.
const CONDITIONS: [HeaderName; 2] = [header::IF_MATCH, header::IF_NONE_MATCH];
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// What the answering side keeps of the time that the asking side waits, so that its answer still arrives.
const ON_THE_WAY: Duration = Duration::from_millis(100);

/// The middleware: reads are answered here, writes where the leader is.
pub(crate) async fn relay(State(app): State<App>, request: Request, next: Next) -> Response {
    if !is_write(request.method(), request.uri().path()) {
        return next.run(request).await;
    }
    // What the router found out on the way here, the parameters of the path among it, goes on with every try.
    let found = request.extensions().clone();
    let local = |mut request: Request| {
        let mut extensions = found.clone();
        extensions.extend(std::mem::take(request.extensions_mut()));
        *request.extensions_mut() = extensions;
        next.clone().run(request)
    };
    match Write::read(&app, request).await {
        Err(problem) => problem_answer(&problem),
        Ok(write) => write.carry(&app.service, local).await,
    }
}

/// A preview stores nothing, so any node answers it.
fn is_write(method: &Method, path: &str) -> bool {
    let changes = [Method::PUT, Method::POST, Method::PATCH, Method::DELETE].contains(method);
    changes && path != "/v1/preview"
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
                let response = local(request_of(&self.order, &self.caller)).await;
                match response.extensions().get::<UndoneKind>() {
                    None => return response,
                    Some(kind) => (*kind, "the leader lost its office".to_owned()),
                }
            } else if self.forward {
                match self.send(service).await {
                    Ok(response) => return response,
                    Err(undone) => undone,
                }
            } else {
                return problem_answer(&not_leader(service));
            };
            if undone.0 == UndoneKind::Unknown {
                unknown = Some(undone.1.clone());
            }
            let left = self.left();
            if left.is_zero() {
                return problem_answer(&gave_up(service, unknown, &undone.1));
            }
            service.quorum().leader_change(left.min(RETRY_PAUSE)).await;
        }
    }

    /// Sends the order to the leader. Does not wait for one that was replaced meanwhile: it may be dead, and the next one
    /// knows under the same key what became of the order.
    async fn send(&self, service: &Arc<Service>) -> Result<Response, (UndoneKind, String)> {
        let within = self.left().saturating_sub(ON_THE_WAY);
        let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let head = OrderHead { within_ms, ..self.order.head.clone() };
        let frame = Order { head, body: self.order.body.clone() }.encode();
        let asked = tokio::select! {
            biased;
            answer = tokio::time::timeout(self.left(), service.quorum().forward(frame, within)) => answer,
            () = replaced(service) => {
                return Err((UndoneKind::Unknown, "another leader took office before there was an answer".into()));
            }
        };
        match asked {
            Err(_) => Err((UndoneKind::Unknown, "the leader did not answer in time".into())),
            Ok(Err(Undone::Unknown(why))) => Err((UndoneKind::Unknown, why)),
            Ok(Err(undone)) => Err((UndoneKind::NotSent, undone.to_string())),
            Ok(Ok(frame)) => match Answer::decode(&frame) {
                Err(bad) => Err((UndoneKind::Unknown, bad.to_string())),
                Ok(answer) => match answer.head.undone {
                    Some(kind) => Err((kind, "the leader lost its office".into())),
                    None => Ok(response_of(answer)),
                },
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

/// Reads a body that is not larger than a request may be.
pub(crate) async fn read_body(body: Body) -> Result<Bytes, Problem> {
    axum::body::to_bytes(body, BODY_LIMIT).await.map_err(|wrong| {
        let too_large = std::iter::successors(Some(&wrong as &dyn std::error::Error), |error| error.source())
            .any(|error| error.is::<http_body_util::LengthLimitError>());
        if too_large {
            Problem::new(Code::PayloadTooLarge, format!("a body has at most {BODY_LIMIT} bytes"))
        } else {
            Problem::bad_request("the body did not arrive whole")
        }
    })
}

/// A header that may be there once.
pub(crate) fn one_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value
            .to_str()
            .map(Some)
            .map_err(|_| Problem::bad_request(format!("the header {name} is not ASCII"))),
        (Some(_), Some(_)) => Err(Problem::bad_request(format!("the header {name} is there more than once"))),
    }
}

fn conditions(headers: &HeaderMap) -> Result<BTreeMap<String, String>, Problem> {
    let mut given = BTreeMap::new();
    for name in CONDITIONS {
        if let Some(value) = one_header(headers, &name)? {
            given.insert(name.to_string(), value.to_owned());
        }
    }
    Ok(given)
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

/// The request as the handlers see it; the same on the node that was asked and on the leader.
fn request_of(order: &Order, caller: &Caller) -> Request {
    let mut request = Request::new(Body::from(order.body.clone()));
    // What came in as a method and a path is one again.
    *request.method_mut() = order.head.method.parse().unwrap_or_default();
    *request.uri_mut() = order.head.uri.parse().unwrap_or_default();
    for (name, value) in &order.head.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            request.headers_mut().insert(name, value);
        }
    }
    request.extensions_mut().insert(Principal { name: caller.by.to_string() });
    request.extensions_mut().insert(caller.clone());
    request
}

fn response_of(answer: Answer) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &answer.head.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The leader's side: the handlers answer, and what they could not do is marked.
pub(crate) fn forwarded(handlers: Router, service: Arc<Service>) -> Forwarded {
    Arc::new(move |frame| {
        let (handlers, service) = (handlers.clone(), service.clone());
        async move { answer_frame(handlers, &service, &frame).await.encode() }.boxed()
    })
}

async fn answer_frame(handlers: Router, service: &Arc<Service>, frame: &Bytes) -> Answer {
    let order = match Order::decode(frame) {
        Ok(order) => order,
        Err(bad) => return frame_of(problem_answer(&Problem::new(Code::Internal, bad.to_string()))).await,
    };
    if !service.quorum().leads() {
        return undone(UndoneKind::NotSent);
    }
    let OrderHead { by, key, key_of_client, within_ms, .. } = &order.head;
    let path = order.head.uri.split('?').next().unwrap_or_default();
    let caller = Caller {
        by: by.as_str().into(),
        key: if *key_of_client { Key::Client(key.as_str().into()) } else { Key::Own(key.as_str().into()) },
        fingerprint: fingerprint(&order.head.method, path, &order.body),
        deadline: Instant::now() + Duration::from_millis(*within_ms).min(service.options().write_within),
    };
    match handlers.oneshot(request_of(&order, &caller)).await {
        Ok(response) => frame_of(response).await,
        Err(never) => match never {},
    }
}

async fn frame_of(response: Response) -> Answer {
    let kind = response.extensions().get::<UndoneKind>().copied();
    let (parts, body) = response.into_parts();
    let texts = parts
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let head = AnswerHead { status: parts.status.as_u16(), headers: texts.collect(), undone: kind };
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(body) => Answer { head, body },
        Err(_) => undone(UndoneKind::Unknown),
    }
}

fn undone(kind: UndoneKind) -> Answer {
    let head = AnswerHead { status: 503, headers: BTreeMap::new(), undone: Some(kind) };
    Answer { head, body: Bytes::new() }
}

fn not_leader(service: &Arc<Service>) -> Problem {
    match service.quorum().leader() {
        Some(leader) => {
            let detail = format!("node {} leads; send writes to {}", leader.node, leader.api_address);
            Problem { leader: Some(leader.api_address), ..Problem::new(Code::NotLeader, detail) }
        }
        None => service.no_quorum("no leader is known"),
    }
}

fn gave_up(service: &Arc<Service>, unknown: Option<String>, why: &str) -> Problem {
    match unknown {
        Some(unknown) => Problem::new(
            Code::UnknownOutcome,
            format!(
                "{unknown}; it may have been done: ask again with the same Idempotency-Key, which acts once"
            ),
        ),
        None => service.no_quorum(why),
    }
}
