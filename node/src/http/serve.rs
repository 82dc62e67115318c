//! From a socket to the router: accepting connections until told to stop.

mod patience;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::patience::Patient;
use super::{App, router};

/// Answers on that listener until `stop`; then takes no new connection, and returns when those under way are answered.
///
/// # Errors
/// What the operating system says of the listener.
pub async fn serve(listener: TcpListener, app: App, stop: CancellationToken) -> std::io::Result<()> {
    // A short answer must not wait for the acknowledgement of the one before; that it cannot be set costs milliseconds only.
    let listener = Patient(listener.tap_io(|connection| drop(connection.set_nodelay(true))));
    axum::serve(listener, router(app)).with_graceful_shutdown(stop.cancelled_owned()).await
}
