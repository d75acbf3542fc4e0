//! Web pages as callers: who may, and the headers that their browsers need.
//!
//! A page of any site can make its visitor's browser send a request to a service on the visitor's
//! own machine, so requests that come from a page of another origin are refused unless that origin
//! is permitted. The browser says which page it is in `Origin`, and where it sends none, in the
//! fetch metadata.

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

/// Where a browser says that a request comes from.
static FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What a browser says that a request is for.
static FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Origins whose pages may call.
#[derive(Debug)]
pub(crate) struct Browsers {
    origins: Vec<String>,
}

impl Browsers {
    pub(crate) fn new(origins: Vec<String>) -> Self {
        Browsers { origins }
    }

    /// Refuses what comes from a page of another origin than the one that the request
    /// names as its host. Following a link is no such thing: the page that has the link
    /// sees nothing of ours.
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
        let link = method == Method::GET && says(&FETCH_MODE) == Some(b"navigate");
        if link || self.permitted(headers).is_some() {
            return Ok(());
        }
        let message = match headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()) {
            Some(origin) => format!("pages of {origin:?} may not call this service"),
            None => "pages of other sites may not call this service".to_owned(),
        };
        Err(problem(ErrorCode::BrowserOrigin, message)
            .hint("add the page's origin to server.origins"))
    }

    /// Whether this is a browser asking if a page may call; it is answered
    /// without a token, since browsers send none along.
    pub(crate) fn is_preflight(&self, method: &Method, headers: &HeaderMap) -> bool {
        method == Method::OPTIONS
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
            && self.permitted(headers).is_some()
    }

    /// Tells the browser that the page may read the answer.
    pub(crate) fn tell(&self, origin: Option<&HeaderValue>, response: &mut Response) {
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
            (VARY, "origin"),
        ];
        headers.extend(listed.map(|(name, value)| (name, HeaderValue::from_static(value))));
    }

    /// The origin of the page, if it may call.
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
