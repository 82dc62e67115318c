//! Paths and methods that are not known, told so that one finds the right one.

use axum::http::{Method, Uri};
use axum::response::Response;

use super::answer::problem_answer;
use crate::problem::{Code, Problem};

/// 404 for a path without a route.
pub(crate) async fn not_found(uri: Uri) -> Response {
    problem_answer(&Problem::not_found(why(uri.path())))
}

/// 405 for a path with another method; `Allow` is axum's.
pub(crate) async fn method_not_allowed(method: Method, uri: Uri) -> Response {
    problem_answer(&Problem::new(
        Code::MethodNotAllowed,
        format!("{} does not know {method}; the header Allow lists what it does", uri.path()),
    ))
}

fn why(path: &str) -> String {
    let Some(rest) = path.strip_prefix("/v1/schedules/") else {
        return format!("there is no path {path}; /v1/openapi.json lists all");
    };
    match rest.split('/').collect::<Vec<_>>().as_slice() {
        [name] if !name.is_empty() => {
            format!(
                "a schedule is namespace/name, and {path} has no namespace: try /v1/schedules/default/{name}"
            )
        }
        [namespace, name, more @ ..] if !more.is_empty() => format!(
            "a schedule is namespace/name, and {path} has a slash too many: {namespace}/{name} has no {:?}",
            more.join("/")
        ),
        _ => format!("a schedule is namespace/name, and {path} lacks a part"),
    }
}

#[cfg(test)]
mod tests {
    use super::why;

    #[test]
    fn a_slash_too_many_or_too_few_is_told() {
        assert!(why("/v1/schedules/a/b/c").contains("slash too many"));
        assert!(why("/v1/schedules/a").contains("/v1/schedules/default/a"));
        assert!(why("/v1/schedules/").contains("lacks a part"));
        assert!(why("/v2").contains("openapi"));
    }
}
