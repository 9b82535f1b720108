//! Answers, the headers that every answer has, and bodies of requests with their bounds.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

/// The time within which a body must arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The policy permits everything from here and nothing from elsewhere, and no other page may frame this one. Video of a call is no
/// download.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) const HTML: &str = "text/html; charset=utf-8";
pub(crate) const CSS: &str = "text/css; charset=utf-8";
pub(crate) const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
pub(crate) const SVG: &str = "image/svg+xml";
pub(crate) const JSON: &str = "application/json";
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

/// Returns an answer of this content type.
pub(crate) fn answer(status: StatusCode, kind: &'static str, content: impl Into<Body>) -> Response {
    (status, [(header::CONTENT_TYPE, kind)], content.into()).into_response()
}

/// Sets the headers that every answer has.
pub(crate) fn set_security_headers(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// The reason for which a body is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the body has more than {0} bytes, which is the most")]
    TooLong(usize),
    #[error("the body did not arrive within {} s", BODY_TIMEOUT.as_secs())]
    TooSlow,
}

impl BodyError {
    /// Returns the answer to the request.
    pub(crate) fn answer(&self) -> Response {
        let status = match self {
            Self::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
        };
        answer(status, TEXT, format!("{self}\n"))
    }
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read_body(body: Body, limit: usize) -> Result<Vec<u8>, BodyError> {
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, limit)).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        Ok(Err(_)) => Err(BodyError::TooLong(limit)),
        Err(_) => Err(BodyError::TooSlow),
    }
}

/// Returns the value of a header that occurs exactly once.
pub(crate) fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}
