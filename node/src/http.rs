//! The HTTP API: routes, and what happens to every request before and after its handler.
//!
//! ```text
//! request ─▶ observe ─▶ applied index ─▶ catch panics ─▶ gate (who is it?) ─▶ relay (writes go to the leader) ─▶ handler
//! ```
//! Handlers read words with [`crate::wire`], call [`crate::service`] and give back JSON; each resource has a file. axum
//! stays in this folder. A path, a parameter or a field that is not known is refused, never ignored.

pub(crate) mod answer;
mod apply;
mod backfills;
mod backup;
mod body;
mod calendars;
mod cluster;
mod conditions;
mod explain;
mod export;
mod firings;
mod forwarded;
mod front;
mod gate;
mod health;
mod history;
mod hosts;
mod leases;
mod ledger;
mod letters;
mod openapi;
mod outages;
mod page;
mod preview;
mod query;
mod queues;
mod relay;
mod schedules;
mod secrets;
mod serve;
mod stats;
mod stream;
mod timeline;
mod unknown;
mod verify;

use std::any::Any;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::problem::{Code, Problem};
use crate::service::Service;
use crate::wire::host::Host;
use answer::{APPLIED_INDEX, problem_answer};

pub use backup::Keeping;
pub use forwarded::Forwarded;
pub use front::Front;
pub use openapi::document as openapi_document;
pub use serve::serve;

/// The largest body of a request.
pub const BODY_LIMIT: usize = 1024 * 1024;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Its name, which becomes `updated_by`.
    pub name: String,
}

/// Judges the headers of a request: who asks, or why it may not.
pub type Gate = Arc<dyn Fn(&HeaderMap) -> Result<Principal, Problem> + Send + Sync>;
/// The text of the metrics of this node, in the OpenMetrics format.
pub type MetricsText = Arc<dyn Fn() -> String + Send + Sync>;
/// Why this node is not ready, reason by reason; none when it is.
pub type NotReady = Arc<dyn Fn() -> Vec<String> + Send + Sync>;
/// The hosts that this node sends to, by name.
pub type HostsView = Arc<dyn Fn() -> Vec<Host> + Send + Sync>;
/// Told of each request that was answered: its route, method, status, and how long it took.
pub type Observer = Arc<dyn Fn(&Observed<'_>) + Send + Sync>;

/// A request that was answered.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The method.
    pub method: &'a str,
    /// The route as it is written here, such as `/v1/schedules/{ns}/{name}`; `unknown` for none.
    pub route: &'a str,
    /// The status.
    pub status: u16,
    /// From the last byte of the head to the answer.
    pub took: std::time::Duration,
}

/// What the handlers are given.
#[derive(Clone)]
pub struct App {
    /// Does what they ask.
    pub service: Arc<Service>,
    /// Judges who asks; without one everybody is `anonymous` (loopback only, which the node sees to).
    pub gate: Option<Gate>,
    /// What `/metrics` answers.
    pub metrics: MetricsText,
    /// What `/readyz` answers.
    pub not_ready: NotReady,
    /// What `/v1/hosts` answers.
    pub hosts: HostsView,
    /// Told of each answer.
    pub observer: Option<Observer>,
    /// Takes backups of this node, and takes one in; none where there is no disk.
    pub keeping: Option<Keeping>,
}

/// Everything that a node's address for users answers.
pub fn router(app: App) -> Router {
    let handlers = handlers(&app)
        .layer(from_fn_with_state(app.clone(), relay::relay))
        .layer(from_fn_with_state(app.clone(), gate::gate));
    let open = Router::new()
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/", get(page::page))
        .method_not_allowed_fallback(unknown::method_not_allowed)
        .with_state(app.clone());
    open.merge(handlers)
        .layer(CatchPanicLayer::custom(caught))
        .layer(from_fn_with_state(app.clone(), applied_index))
        .layer(from_fn_with_state(app, observe))
}

/// What answers the frames that other nodes forward to this one, for `Consensus`.
#[must_use]
pub fn forwarded(app: &App) -> Forwarded {
    let handlers = handlers(app)
        .layer(CatchPanicLayer::custom(caught))
        .layer(from_fn_with_state(app.clone(), applied_index));
    forwarded::forwarded(handlers, app.service.clone())
}

/// The handlers alone, without gate and relay: what runs where a request has arrived.
fn handlers(app: &App) -> Router {
    // Its document is thrown away here, and is most of the work: a process of many nodes, as a test is, does it once.
    static ROUTES: LazyLock<Router<App>> = LazyLock::new(|| documented().split_for_parts().0);
    ROUTES
        .clone()
        .route("/metrics", get(health::metrics))
        .route("/v1/openapi.json", get(openapi::openapi))
        .fallback(unknown::not_found)
        .method_not_allowed_fallback(unknown::method_not_allowed)
        .with_state(app.clone())
}

/// The routes that the OpenAPI document knows.
fn documented() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::skeleton())
        .routes(routes!(schedules::list))
        .routes(routes!(schedules::get, schedules::put, schedules::patch, schedules::delete))
        .routes(routes!(schedules::pause))
        .routes(routes!(schedules::resume))
        .routes(routes!(schedules::trigger))
        .routes(routes!(schedules::next))
        .routes(routes!(history::mark))
        .routes(routes!(history::revisions))
        .routes(routes!(backfills::create, backfills::list))
        .routes(routes!(backfills::get, backfills::cancel))
        .routes(routes!(firings::of_schedule))
        .routes(routes!(firings::list))
        .routes(routes!(firings::get))
        .routes(routes!(firings::rerun))
        .routes(routes!(firings::cancel))
        .routes(routes!(explain::explain))
        .routes(routes!(outages::list))
        .routes(routes!(outages::get))
        .routes(routes!(timeline::timeline))
        .routes(routes!(stats::stats))
        .routes(routes!(ledger::rows))
        .routes(routes!(verify::verify))
        .routes(routes!(stream::stream))
        .routes(routes!(export::export))
        .routes(routes!(preview::preview))
        .routes(routes!(apply::apply))
        .routes(routes!(calendars::list))
        .routes(routes!(calendars::get, calendars::put, calendars::delete))
        .routes(routes!(secrets::list))
        .routes(routes!(secrets::get, secrets::put, secrets::delete))
        .routes(routes!(letters::list))
        .routes(routes!(letters::delete))
        .routes(routes!(letters::discard))
        .routes(routes!(letters::rerun))
        .routes(routes!(queues::list))
        .routes(routes!(queues::get, queues::put, queues::delete))
        .routes(routes!(queues::pause))
        .routes(routes!(queues::resume))
        .routes(routes!(leases::lease))
        .routes(routes!(leases::heartbeat))
        .routes(routes!(leases::settle))
        .routes(routes!(cluster::get))
        .routes(routes!(cluster::add_node))
        .routes(routes!(cluster::remove_node))
        .routes(routes!(cluster::transfer))
        .routes(routes!(cluster::whoami))
        .routes(routes!(backup::take))
        .routes(routes!(backup::restore))
        .routes(routes!(hosts::list))
}

/// Says with every answer how far this node's view was; an answer that came from the leader says so itself.
async fn applied_index(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    if !response.headers().contains_key(APPLIED_INDEX) {
        let applied = app.service.quorum().view().applied();
        response.headers_mut().insert(APPLIED_INDEX, HeaderValue::from(applied.0));
    }
    response
}

/// Outermost: one event and one count for each request.
async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = tokio::time::Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    // The route, not the path: a path would be a label without bound.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    let (took, status) = (started.elapsed(), response.status().as_u16());
    let route = route.as_ref().map_or("unknown", MatchedPath::as_str);
    tracing::debug!(%method, path, route, status, took_us = took.as_micros(), "request answered");
    if let Some(observer) = &app.observer {
        observer(&Observed { method: method.as_str(), route, status, took });
    }
    response
}

/// A defect in a handler ends its request, and no other.
#[expect(clippy::needless_pass_by_value, reason = "the signature is tower-http's")]
fn caught(panic: Box<dyn Any + Send>) -> Response {
    let what = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words");
    tracing::error!(what, "a handler panicked");
    problem_answer(&Problem::new(
        Code::Internal,
        "a defect of this node stopped the request; its log says more",
    ))
}
