//! The accept loop: connections of peers, each a task that ends with the server.
//!
//! Must not know a path or a message; [`super::doors`] does. A stopped server drops its connections at once: a node that
//! leaves must not answer with half of itself.

use crate::runtime;
use std::convert::Infallible;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::network::{Handler, Listener};
use super::{BODY_LIMIT, KEEP_ALIVE};

/// How many connections are open at once, at most. Five for each peer are in use; what is beyond waits to be accepted.
const CONNECTIONS: usize = 1_024;

impl Listener for TcpListener {
    /// Every connection is dropped at `stop`, and their tasks are waited for.
    fn serve(self: Box<Self>, answer: Handler, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(serve(*self, answer, stop))
    }
}

async fn serve(listener: TcpListener, handle: Handler, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    while let Some((stream, permit)) = accept(&listener, &room, &stop).await {
        let (handle, stop) = (Arc::clone(&handle), stop.clone());
        runtime::spawn_on(&tasks, async move {
            let _permit = permit;
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = converse(stream, handle) => {}
            }
        });
    }
    tasks.close();
    tasks.wait().await;
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
    stop: &CancellationToken,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    loop {
        let accepted = async {
            let permit = Arc::clone(room).acquire_owned().await.ok();
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, _)) => return Some((stream, permit?)),
            Err(error) => {
                // Mostly "too many open files": waiting is all that helps, and a busy loop would not be waiting.
                tracing::warn!(%error, "cannot accept a connection of a peer");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

async fn converse(stream: TcpStream, handle: Handler) {
    // Fails on a connection that is already gone, which the next line finds out as well.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = handle(request.map(|body| body.map_err(std::io::Error::other).boxed_unsync()));
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let served = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(u32::try_from(2 * BODY_LIMIT).unwrap_or(u32::MAX))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .keep_alive_timeout(KEEP_ALIVE)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "the connection of a peer ended");
    }
}
