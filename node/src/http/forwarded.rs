//! The leader's side of the relay: a frame becomes a request to the handlers, and their answer a frame.
//!
//! The principal and the key stand in the frame: the node that was asked has judged and read them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tower::ServiceExt;

use super::Principal;
use super::answer::problem_answer;
use crate::problem::{Code, Problem};
use crate::service::Service;
use crate::service::frame::{Answer, AnswerHead, Order, OrderHead, Unfinished};
use crate::service::write::{Caller, Key, fingerprint};
use crate::work;

/// Answers a frame that another node has forwarded to this one.
pub type Forwarded = Arc<dyn Fn(Bytes) -> BoxFuture<'static, Bytes> + Send + Sync>;

/// The leader's side: the handlers answer, and what they could not do is marked.
pub(crate) fn forwarded(handlers: Router, service: Arc<Service>) -> Forwarded {
    Arc::new(move |frame| {
        let (handlers, service) = (handlers.clone(), service.clone());
        async move {
            // What holders of leases say has no handler and no caller: it goes to the log as it is.
            if let Some(answer) = work::answer(service.intake(), &**service.quorum(), &frame).await {
                return answer;
            }
            answer_frame(handlers, &service, &frame).await.encode()
        }
        .boxed()
    })
}

async fn answer_frame(handlers: Router, service: &Arc<Service>, frame: &Bytes) -> Answer {
    let order = match Order::decode(frame) {
        Ok(order) => order,
        Err(bad) => return frame_of(problem_answer(&Problem::new(Code::Internal, bad.to_string()))).await,
    };
    if !service.quorum().leads() {
        return undone(Unfinished::not_sent("this node does not lead any more"));
    }
    if service.lacks_majority() {
        return undone(Unfinished::not_sent("the leader hears of no majority"));
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
    let undone_here = response.extensions().get::<Unfinished>().cloned();
    let (parts, body) = response.into_parts();
    let texts = parts
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let head = AnswerHead { status: parts.status.as_u16(), headers: texts.collect(), undone: undone_here };
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(body) => Answer { head, body },
        Err(_) => undone(Unfinished::unknown("the answer of the leader could not be read")),
    }
}

fn undone(why: Unfinished) -> Answer {
    let head = AnswerHead { status: 503, headers: BTreeMap::new(), undone: Some(why) };
    Answer { head, body: Bytes::new() }
}

/// The request as the handlers see it; the same on the node that was asked and on the leader.
pub(crate) fn request_of(order: &Order, caller: &Caller) -> Request {
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

pub(crate) fn response_of(answer: Answer) -> Response {
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
