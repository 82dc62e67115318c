//! Who asks? Every handler but health and the page stands behind this.

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;

use super::answer::problem_answer;
use super::{App, Principal, Route};

/// The name of everybody when nobody is asked for a token.
pub(crate) const ANONYMOUS: &str = "anonymous";

/// Lets a request through with its principal, or refuses it.
pub(crate) async fn gate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(|path| Route(path.as_str().into()));
    let principal = match &app.gate {
        None => Ok(Principal { name: ANONYMOUS.into() }),
        Some(gate) => gate(request.headers()),
    };
    let mut response = match principal {
        Err(problem) => problem_answer(&problem),
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
    };
    response.extensions_mut().extend(route.into_iter().fold(
        axum::http::Extensions::new(),
        |mut all, route| {
            all.insert(route);
            all
        },
    ));
    response
}
