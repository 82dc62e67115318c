//! Who asks? Every handler but health and the page stands behind this.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use super::answer::problem_answer;
use super::{App, Principal};

/// The name of everybody when nobody is asked for a token.
pub(crate) const ANONYMOUS: &str = "anonymous";

/// Lets a request through with its principal, or refuses it.
pub(crate) async fn gate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let principal = match &app.gate {
        None => Ok(Principal { name: ANONYMOUS.into() }),
        Some(gate) => gate(request.headers()),
    };
    match principal {
        Err(problem) => problem_answer(&problem),
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
    }
}
