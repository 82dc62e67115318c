//! Bodies of requests: read whole, and never larger than a request may be.

use axum::body::Body;
use bytes::Bytes;

use super::BODY_LIMIT;
use crate::problem::{Code, Problem};

/// Reads a body that is not larger than a request may be.
pub(crate) async fn read_body(body: Body) -> Result<Bytes, Problem> {
    axum::body::to_bytes(body, BODY_LIMIT).await.map_err(|wrong| {
        let too_large = std::iter::successors(Some(&wrong as &dyn std::error::Error), |error| error.source())
            .any(|error| error.is::<http_body_util::LengthLimitError>());
        if too_large {
            Problem::new(Code::PayloadTooLarge, format!("a body has at most {BODY_LIMIT} bytes"))
        } else {
            Problem::bad_request("the body did not arrive whole")
        }
    })
}
