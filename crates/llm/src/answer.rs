//! Responses of providers, independent of the HTTP client, and transport errors.

use std::error::Error;
use std::io;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::http::HeaderMap;
use hyper::{Response, StatusCode};

/// Headers of a response, and its body as it arrives.
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: ResponseBody,
}

enum ResponseBody {
    Straight(Incoming),
    Proxied(reqwest::Body),
}

/// Response headers in which providers return the request id.
const REQUEST_IDS: [&str; 5] = [
    "x-request-id",
    "request-id",
    "x-goog-request-id",
    "apim-request-id",
    "x-ms-request-id",
];

impl HttpResponse {
    /// Returns the provider's request id.
    pub(crate) fn request_id(&self) -> Option<String> {
        let text = |name: &&str| self.headers.get(*name)?.to_str().ok().map(str::to_owned);
        REQUEST_IDS.iter().find_map(text)
    }

    /// Returns the next bytes of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        loop {
            let frame = match &mut self.body {
                ResponseBody::Straight(body) => match body.frame().await {
                    Some(frame) => frame.map_err(TransportError::of)?,
                    None => return Ok(None),
                },
                ResponseBody::Proxied(body) => match body.frame().await {
                    Some(frame) => frame?,
                    None => return Ok(None),
                },
            };
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
    }
}

impl From<Response<Incoming>> for HttpResponse {
    fn from(response: Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        HttpResponse {
            status: head.status,
            headers: head.headers,
            body: ResponseBody::Straight(body),
        }
    }
}

impl From<reqwest::Response> for HttpResponse {
    fn from(response: reqwest::Response) -> Self {
        let (head, body) = Response::from(response).into_parts();
        HttpResponse {
            status: head.status,
            headers: head.headers,
            body: ResponseBody::Proxied(body),
        }
    }
}

/// Error of a request without a response, or of a response that ended early.
pub(crate) struct TransportError {
    /// Whether the connection could not be established.
    pub(crate) is_connect: bool,
    /// Whether a timeout expired.
    pub(crate) is_timeout: bool,
    pub(crate) error: Box<dyn Error + Send + Sync>,
}

impl TransportError {
    fn of(error: hyper::Error) -> Self {
        TransportError {
            is_connect: false,
            is_timeout: is_late(&error),
            error: error.into(),
        }
    }
}

impl From<hyper_util::client::legacy::Error> for TransportError {
    fn from(error: hyper_util::client::legacy::Error) -> Self {
        TransportError {
            is_connect: error.is_connect(),
            is_timeout: is_late(&error),
            error: error.into(),
        }
    }
}

impl From<reqwest::Error> for TransportError {
    fn from(error: reqwest::Error) -> Self {
        TransportError {
            is_connect: error.is_connect(),
            is_timeout: error.is_timeout(),
            error: error.without_url().into(),
        }
    }
}

fn is_late(error: &(dyn Error + 'static)) -> bool {
    let late = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
    cause_of(error).is_some_and(late)
}

/// Returns the first error of type `E` in the chain of sources.
pub(crate) fn cause_of<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut cause = Some(error);
    while let Some(inner) = cause {
        if let Some(found) = inner.downcast_ref() {
            return Some(found);
        }
        cause = inner.source();
    }
    None
}
