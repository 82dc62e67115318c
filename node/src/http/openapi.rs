//! The OpenAPI 3.1 document, made from the handlers, so that it cannot tell of a path that is not there.

use std::sync::OnceLock;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};

use crate::problem::Problem;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Campanile",
        version = "1",
        description = "A highly available cron. Errors are RFC 9457 `application/problem+json` with a stable `code`. \
                       Every answer carries `Campanile-Applied-Index`."
    ),
    tags(
        (name = "schedules", description = "What users define and order."),
        (name = "backfills", description = "Ranges of instants that are gone through again."),
        (name = "calendars", description = "Named exclusions, shared by schedules."),
        (name = "dead letters", description = "Firings that came to nothing and wait for somebody to look at them."),
        (name = "secrets", description = "What requests are signed with; no answer holds a text."),
        (name = "queues", description = "What workers lease firings from, and its limits."),
        (name = "leases", description = "What workers ask for and say."),
        (name = "firings", description = "What came of the instants."),
        (name = "ledger", description = "The facts in the order of the log."),
        (name = "cluster", description = "Nodes and leadership."),
    ),
    components(schemas(Problem)),
)]
struct Skeleton;

/// The document without paths.
pub(crate) fn skeleton() -> utoipa::openapi::OpenApi {
    Skeleton::openapi()
}

/// The whole document.
#[must_use]
pub fn document() -> utoipa::openapi::OpenApi {
    let (_, mut document) = super::documented().split_for_parts();
    let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
    document.components.get_or_insert_default().add_security_scheme("token", scheme);
    document.security = Some(vec![SecurityRequirement::new("token", Vec::<String>::new())]);
    add_problems(&mut document);
    document
}

/// Every operation may answer with a problem.
fn add_problems(document: &mut utoipa::openapi::OpenApi) {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let problem = ResponseBuilder::new()
        .description("Why it was not done.")
        .content("application/problem+json", content)
        .build();
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            operation.responses.responses.insert("default".into(), RefOr::T(problem.clone()));
        }
    }
}

/// `/v1/openapi.json`.
pub(crate) async fn openapi() -> Response {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| document().to_pretty_json().unwrap_or_default());
    let mut response = Response::new(Body::from(text.as_str()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
