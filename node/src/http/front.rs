//! The router without a socket: for those who are in the same process.

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use tower::ServiceExt;

use super::{App, router};

/// Answers requests as a node's address for users does. Clones answer alike.
#[derive(Debug, Clone)]
pub struct Front(Router);

impl Front {
    /// In front of these handlers.
    #[must_use]
    pub fn of(app: App) -> Self {
        Self(router(app))
    }

    /// Answers one request. Who drops the future has hung up.
    pub async fn answer(&self, request: Request) -> Response {
        match self.0.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}
