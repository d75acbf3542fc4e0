//! HTTP client shared by all tools. It keeps connections alive, ignores proxy settings of the
//! environment, and follows redirects itself to check every hop.

use std::sync::OnceLock;

use bytes::Bytes;
use quillet_core::tool::{ToolContext, ToolError, ToolErrorKind};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, StatusCode};
use url::Url;

use crate::address::{AddressError, parse_url};
use crate::network::{Network, denied, error_chain};

/// Maximum bytes of an error body that the message quotes, as in ai-prompt-shell.
const ERROR_BODY_BYTES: usize = 1024;

/// One request, before any redirect.
#[derive(Clone, Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) body: Option<Bytes>,
    /// Headers for every hop.
    pub(crate) headers: HeaderMap,
    /// Headers for the first origin only, because they may be secret.
    pub(crate) own_headers: HeaderMap,
}

/// Header with the id of the current request, to correlate the logs of both sides.
pub(crate) fn request_id(context: &ToolContext) -> Option<(HeaderName, HeaderValue)> {
    let id = HeaderValue::from_str(&context.request_id).ok()?;
    (!id.is_empty()).then_some((HeaderName::from_static("x-request-id"), id))
}

/// Header with the idempotency key of the call.
pub(crate) fn idempotency_key(context: &ToolContext) -> Option<(HeaderName, HeaderValue)> {
    if context.call.is_empty() {
        return None;
    }
    let key = format!("{}-{}", context.request_id, context.call);
    let key = HeaderValue::from_str(&key).ok()?;
    Some((HeaderName::from_static("idempotency-key"), key))
}

/// The shared client.
#[derive(Debug)]
pub(crate) struct Http {
    network: Network,
    redirects: usize,
    response_bytes: usize,
    // The client is created at the first call, because loading the system's certificates would slow
    // down every start.
    client: OnceLock<Client>,
}

impl Http {
    pub(crate) fn new(network: Network, redirects: usize, response_bytes: usize) -> Self {
        Http {
            network,
            redirects,
            response_bytes,
            client: OnceLock::new(),
        }
    }

    pub(crate) fn client(&self) -> Result<&Client, ToolError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let made = make_client(&self.network)?;
        // `get_or_init` cannot return an error. If two threads create a client at the same time,
        // one is dropped.
        Ok(self.client.get_or_init(|| made))
    }

    /// Checks a URL against the rules that need no name resolution.
    pub(crate) fn check(&self, url: &Url) -> Result<(), ToolError> {
        self.network
            .policy
            .check_url(url)
            .map_err(|denied| address_error(&denied))
    }

    /// Sends a request and follows its redirects.
    ///
    /// # Errors
    /// A hop is rejected, there are too many, or there is no answer.
    pub(crate) async fn send(&self, mut request: HttpRequest) -> Result<Response, ToolError> {
        let client = self.client()?;
        // The loop makes one request more than redirects, because the target of the last redirect
        // must also be fetched.
        for _ in 0..=self.redirects {
            self.check(&request.url)?;
            let response = send_once(client, &request).await?;
            let Some(next) = redirected(&response, &request)? else {
                return Ok(response);
            };
            request = next;
        }
        let message = format!(
            "more than {} redirects (tools.redirects), the last to {}",
            self.redirects, request.url
        );
        Err(ToolError::new(ToolErrorKind::Refused, message))
    }

    /// Reads the body of an answer, up to
    /// [`ToolsConfig::response_bytes`](crate::ToolsConfig::response_bytes).
    ///
    /// # Errors
    /// The body is larger, or cannot be read.
    pub(crate) async fn read(&self, mut response: Response) -> Result<Bytes, ToolError> {
        let most = self.response_bytes;
        if response
            .content_length()
            .is_some_and(|length| length > most as u64)
        {
            return Err(too_large(most));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| failed(&error, None))?
        {
            // The length in the header may be missing or wrong.
            if body.len() + chunk.len() > most {
                return Err(too_large(most));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.into())
    }
}

fn make_client(network: &Network) -> Result<Client, ToolError> {
    // A closure, because `build` consumes the builder and a second attempt may be needed.
    let builder = || {
        Client::builder()
            // The resolver checks every address, so nothing may bypass it: no automatic redirects,
            // and no proxy, which would resolve names itself.
            .dns_resolver(network.clone())
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .tcp_nodelay(true)
            .user_agent(concat!("quillet/", env!("CARGO_PKG_VERSION")))
    };
    let trusted = network.trusted.as_deref().unwrap_or_default();
    let made = reqwest::Certificate::from_pem_bundle(trusted).and_then(|own| {
        let client = builder().tls_certs_merge(own.clone()).build();
        // A machine without certificates can still call tools over plain HTTP.
        client.or_else(|error| {
            let error = error_chain(&error);
            tracing::warn!(
                error,
                "cannot load system certificates; trusting only the configured ones"
            );
            builder().tls_certs_only(own).build()
        })
    });
    made.map_err(|error| {
        let message = format!("cannot create an HTTP client: {}", error_chain(&error));
        ToolError::new(ToolErrorKind::Transport, message)
    })
}

async fn send_once(client: &Client, request: &HttpRequest) -> Result<Response, ToolError> {
    let mut builder = client
        .request(request.method.clone(), request.url.clone())
        .headers(request.headers.clone())
        .headers(request.own_headers.clone());
    if let Some(body) = &request.body {
        let named = [&request.headers, &request.own_headers];
        // The content type of the definition takes precedence.
        if !named
            .iter()
            .any(|headers| headers.contains_key(CONTENT_TYPE))
        {
            builder = builder.header(CONTENT_TYPE, "application/json");
        }
        builder = builder.body(body.clone());
    }
    builder
        .send()
        .await
        .map_err(|error| failed(&error, Some(&request.url)))
}

/// Returns the next request if the answer is a redirect. Like browsers, changes the method to GET
/// after a 303, and after a 301 or 302 in response to a POST.
fn redirected(
    response: &Response,
    request: &HttpRequest,
) -> Result<Option<HttpRequest>, ToolError> {
    let status = response.status();
    let to_get = match status {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => request.method == Method::POST,
        StatusCode::SEE_OTHER => true,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => false,
        _ => return Ok(None),
    };
    let Some(location) = response.headers().get(LOCATION) else {
        return Ok(None);
    };
    let url = location
        .to_str()
        .map_err(|_| "is not text".to_owned())
        .and_then(|location| {
            request
                .url
                .join(location)
                .map_err(|error| error.to_string())
        })
        .map_err(|why| {
            let message = format!("{} redirects to an address that {why}", request.url);
            ToolError::new(ToolErrorKind::Protocol, message)
        })?;
    let mut next = request.clone();
    if url.origin() != request.url.origin() {
        // Credentials must not be sent to another origin.
        next.own_headers.clear();
    }
    if to_get {
        (next.method, next.body) = (Method::GET, None);
    }
    next.url = url;
    Ok(Some(next))
}

/// Error for a status of 400 or above, with the start of the body.
pub(crate) async fn remote_error(url: &Url, mut response: Response) -> ToolError {
    let status = response.status();
    let mut body = Vec::new();
    while body.len() < ERROR_BODY_BYTES {
        // A truncated body is still useful.
        let Ok(Some(chunk)) = response.chunk().await else {
            break;
        };
        body.extend_from_slice(&chunk);
    }
    body.truncate(ERROR_BODY_BYTES);
    let body = String::from_utf8_lossy(&body);
    let said = match body.trim() {
        "" => String::new(),
        body => format!(": {body}"),
    };
    ToolError {
        kind: ToolErrorKind::Remote,
        message: format!("{} answered {status}{said}", without_query(url)),
        for_model: format!("the tool answered {status}{said}"),
    }
}

/// Error of the address policy. The model does not learn the address.
pub(crate) fn address_error(denied: &AddressError) -> ToolError {
    ToolError {
        kind: ToolErrorKind::Refused,
        message: denied.to_string(),
        for_model: "the tool's address is not permitted".to_owned(),
    }
}

pub(crate) fn too_large(most: usize) -> ToolError {
    let message = format!("the answer is larger than {most} bytes (tools.response_bytes)");
    ToolError::new(ToolErrorKind::TooLarge, message)
}

/// Converts an error of the HTTP client.
pub(crate) fn failed(error: &reqwest::Error, url: Option<&Url>) -> ToolError {
    if let Some(denied) = denied(error) {
        return address_error(&denied);
    }
    let place = url.map_or_else(String::new, |url| format!("{}: ", without_query(url)));
    ToolError {
        kind: ToolErrorKind::Transport,
        message: format!("{place}{}", plain_story(error)),
        for_model: "the tool cannot be reached".to_owned(),
    }
}

// reqwest's own message repeats the URL with its arguments; the causes have the actual problem.
fn plain_story(error: &reqwest::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => error_chain(cause),
        None => "no answer".to_owned(),
    }
}

pub(crate) fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    // The query may contain arguments and keys.
    url.set_query(None);
    url.into()
}

/// Parses a URL and checks it without a name lookup.
pub(crate) fn checked_url(
    policy: &crate::address::AddressPolicy,
    text: &str,
) -> Result<Url, AddressError> {
    let url = parse_url(text)?;
    policy.check_url(&url)?;
    Ok(url)
}
