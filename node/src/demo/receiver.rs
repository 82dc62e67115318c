//! The receiver of the demonstration: takes every firing, answers 200, and hands on what it saw with its own clock.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::any;
use campanile_core::cron::parse_instant;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::judge::Arrival;
use crate::clock::Clock;

/// So many arrivals may wait to be shown; a receiver that is full answers later, as any other would.
const WAITING: usize = 4_096;

#[derive(Clone)]
struct Seen {
    clock: Clock,
    arrivals: mpsc::Sender<Arrival>,
}

/// Receives on a free port of loopback until the runtime ends.
pub(super) async fn start(clock: Clock) -> std::io::Result<(SocketAddr, mpsc::Receiver<Arrival>)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let (arrivals, incoming) = mpsc::channel(WAITING);
    let router = Router::new().fallback(any(receive)).with_state(Seen { clock, arrivals });
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok((address, incoming))
}

async fn receive(State(seen): State<Seen>, headers: HeaderMap) -> (StatusCode, &'static str) {
    let Some(arrival) = read(&headers, seen.clock) else { return (StatusCode::BAD_REQUEST, "no firing\n") };
    // An error says that the demonstration is over.
    match seen.arrivals.send(arrival).await {
        Ok(()) => (StatusCode::OK, "done\n"),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "over\n"),
    }
}

fn read(headers: &HeaderMap, clock: Clock) -> Option<Arrival> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    Some(Arrival {
        schedule: text("campanile-schedule")?.to_owned(),
        nominal: parse_instant(text("campanile-nominal")?)?,
        firing: text("campanile-firing")?.to_owned(),
        attempt: text("campanile-attempt")?.parse().ok()?,
        fencing_token: text("campanile-fencing-token")?.parse().ok()?,
        node: text("campanile-node")?.to_owned(),
        at: clock.now(),
    })
}
