//! The OpenAPI document: what is committed is what the handlers say, and every path of it answers.

use std::path::Path;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::Value;
use tower::ServiceExt;

use crate::fake::Api;

#[test]
fn the_committed_document_is_the_one_that_the_handlers_make() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi.json");
    let made = format!("{}\n", campanile::http::openapi_document().to_pretty_json().unwrap());
    if std::env::var_os("OPENAPI_UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "node/tests/openapi.json is not what the handlers say; if the change is meant (within v1 only additions), run\n\
         OPENAPI_UPDATE=1 cargo test -p campanile --test http_api openapi"
    );
}

#[tokio::test]
async fn every_operation_is_served_and_has_words() {
    let api = Api::leader();
    let document = api.get("/v1/openapi.json").await.body;
    assert_eq!(document["openapi"], "3.1.0");
    let mut operations = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            operations += 1;
            assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{method} {path}");
            assert!(
                operation["responses"]["default"]["content"]["application/problem+json"].is_object(),
                "{path}"
            );
            let path = path
                .replace("{namespace}", "a")
                .replace("{name}", "b")
                .replace("{id}", "1")
                .replace("{lease}", "1")
                .replace("{firing}", "1");
            let request = Request::builder().method(method.to_uppercase().as_str()).uri(&path);
            let response = api.router.clone().oneshot(request.body(Body::from("[]")).unwrap()).await.unwrap();
            assert_ne!(response.status(), 405, "{method} {path}");
            // Only a refusal is read: some answers are no text, and some have no end.
            if response.status() == 404 {
                let text = to_bytes(response.into_body(), usize::MAX).await.unwrap();
                let text = String::from_utf8_lossy(&text);
                assert!(!text.contains("there is no path"), "{method} {path}: {text}");
            }
        }
    }
    assert_eq!(operations, 60);
}

#[test]
fn every_reference_points_at_something() {
    let document: Value =
        serde_json::from_str(&campanile::http::openapi_document().to_json().unwrap()).unwrap();
    let mut todo = vec![&document];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref") {
                    let pointer = reference.strip_prefix('#').unwrap();
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                }
                todo.extend(map.values());
            }
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
}
