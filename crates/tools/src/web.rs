//! HTTP requests of scripts. Scripts may be untrusted, so they reach public addresses, and others
//! only through `tools.addresses.allow`, regardless of the scope of tools.

use bytes::Bytes;
use quillet_core::tool::{ToolContext, ToolError, ToolErrorKind};
use quillet_core::web::{WebAnswer, WebRequest};
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::Tools;
use crate::address::parse_url;
use crate::deadline::CallTimeout;
use crate::http::{HttpRequest, address_error, without_query};

/// Allowed methods.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Headers that the client sets itself.
const OWN: [&str; 5] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
];

impl Tools {
    /// Sends a request, subject to the time, size and redirect limits of tools. All addresses of
    /// the host are checked, also after each redirect.
    ///
    /// # Errors
    /// The request is invalid, an address is denied, or the answer is incomplete.
    pub async fn fetch(&self, request: WebRequest) -> Result<WebAnswer, ToolError> {
        let request = read(request)?;
        let limit = CallTimeout {
            time: self.config.timeout,
            setting: "tools.timeout_ms",
        };
        let left = limit.remaining(&ToolContext::default());
        let place = without_query(&request.url);
        let answer = async {
            let response = self.web.send(request).await?;
            let status = response.status().as_u16();
            let url = response.url().to_string();
            let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
            let headers = response.headers().iter();
            let headers = headers
                .filter_map(|(name, value)| Some((name.as_str().to_owned(), text(value)?)))
                .collect();
            let body = self.web.read(response).await?.to_vec();
            Ok(WebAnswer {
                status,
                url,
                headers,
                body,
            })
        };
        limit.run(&place, left, answer).await
    }
}

fn read(request: WebRequest) -> Result<HttpRequest, ToolError> {
    let wrong = |why: String| ToolError::new(ToolErrorKind::Arguments, why);
    let method = match request.method.to_ascii_uppercase() {
        method if method.is_empty() => "GET".to_owned(),
        method => method,
    };
    if !METHODS.contains(&method.as_str()) {
        let known = METHODS.join(", ");
        return Err(wrong(format!(
            "unknown method {method:?}: expected one of {known}"
        )));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        let plain = name.to_ascii_lowercase();
        if OWN.contains(&plain.as_str()) {
            return Err(wrong(format!(
                "the header {name:?} cannot be set by a script"
            )));
        }
        let name: HeaderName = plain
            .parse()
            .map_err(|_| wrong(format!("invalid header name {name:?}")))?;
        let value: HeaderValue = value
            .parse()
            .map_err(|_| wrong(format!("invalid value for the header {name:?}")))?;
        headers.append(name, value);
    }
    Ok(HttpRequest {
        method: method.parse().unwrap_or(Method::GET),
        url: parse_url(&request.url).map_err(|denied| address_error(&denied))?,
        body: request.body.map(Bytes::from),
        headers: HeaderMap::new(),
        // Scripts may send keys, which must not follow a redirect to another origin.
        own_headers: headers,
    })
}
