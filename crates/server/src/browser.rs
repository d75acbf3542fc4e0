//! Requests from web pages: permitted origins and CORS headers.
//!
//! Any web page can make its visitor's browser send requests to a service on the visitor's machine.
//! So requests from pages of other origins are rejected, unless the origin is permitted. The
//! browser sends the origin in `Origin`, or else in the fetch metadata.

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::response::Response;
use quillet_core::ErrorCode;

use crate::error::{ApiError, problem};
use crate::host::Authority;

/// Fetch metadata: the relation between the page and this server.
static FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Fetch metadata: the mode of the request.
static FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// The permitted origins of web pages.
#[derive(Debug)]
pub(crate) struct Browsers {
    origins: Vec<String>,
}

impl Browsers {
    pub(crate) fn new(origins: Vec<String>) -> Self {
        Browsers { origins }
    }

    /// Rejects requests from pages whose origin differs from the requested host. Following a link
    /// is permitted, because the linking page cannot read the response.
    pub(crate) fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        host: Option<Authority<'_>>,
    ) -> Result<(), ApiError> {
        let says = |name: &HeaderName| headers.get(name).map(HeaderValue::as_bytes);
        let is_own = |origin: &HeaderValue| host.is_some_and(|host| host.is_origin(origin));
        let foreign = headers.get_all(ORIGIN).iter().any(|origin| !is_own(origin))
            || matches!(says(&FETCH_SITE), Some(b"cross-site" | b"same-site"));
        if !foreign {
            return Ok(());
        }
        // Allow only GET, because a form on another site could post to this server by navigation.
        let link = method == Method::GET && says(&FETCH_MODE) == Some(b"navigate");
        if link || self.permitted(headers).is_some() {
            return Ok(());
        }
        let message = match headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()) {
            Some(origin) => format!("pages of {origin:?} cannot call this server"),
            None => "pages of other sites cannot call this server".to_owned(),
        };
        Err(problem(ErrorCode::BrowserOrigin, message)
            .with_hint("add the page's origin to server.origins"))
    }

    /// Returns whether this is a permitted CORS preflight. It is answered without a token, because
    /// browsers send none with it.
    pub(crate) fn is_preflight(&self, method: &Method, headers: &HeaderMap) -> bool {
        method == Method::OPTIONS
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
            && self.permitted(headers).is_some()
    }

    /// Adds the CORS headers that permit the page to read the response.
    pub(crate) fn add_cors_headers(&self, origin: Option<&HeaderValue>, response: &mut Response) {
        let Some(origin) = origin else { return };
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        let listed = [
            (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
            (
                ACCESS_CONTROL_ALLOW_HEADERS,
                "authorization, content-type, x-request-id",
            ),
            (ACCESS_CONTROL_EXPOSE_HEADERS, "x-request-id, retry-after"),
            (ACCESS_CONTROL_MAX_AGE, "600"),
            // The headers depend on the origin, so caches must not reuse them for another origin.
            (VARY, "origin"),
        ];
        headers.extend(listed.map(|(name, value)| (name, HeaderValue::from_static(value))));
    }

    /// Returns the origin of the page, if it is permitted.
    pub(crate) fn permitted(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        if self.origins.is_empty() {
            return None;
        }
        let mut given = headers.get_all(ORIGIN).iter();
        let origin = given.next().filter(|_| given.next().is_none())?;
        let listed = |known: &String| known == "*" || known.as_bytes() == origin.as_bytes();
        self.origins.iter().any(listed).then(|| origin.clone())
    }
}
