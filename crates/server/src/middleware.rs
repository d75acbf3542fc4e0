//! Middleware of every request: authentication, rate limits, request ids, logging and metrics.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use hyper::body::Incoming;
use quillet_core::ErrorCode;
use quillet_core::budget::charge_to;
use tower::Service;

use crate::api::{langfuse, mlflow, openai};
use crate::app::App;
use crate::budget;
use crate::caller::Caller;
use crate::error::{ApiError, problem};
use crate::fast_router::FastRouter;
use crate::health;
use crate::inflate::inflate_body;
use crate::rate::RateKey;
use crate::request_context::{Exchange, REQUEST_ID, RequestContext};

/// The maximum size of a request head in bytes. hyper returns 431 for larger ones.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// Handles one request. Dropping the future cancels its work.
pub(crate) async fn answer(
    app: &Arc<App>,
    mut entry: FastRouter,
    peer: SocketAddr,
    known: &CachedHost,
    request: Request<Incoming>,
) -> Response {
    let started = Instant::now();
    let head = HeaderScan::of(&request);
    let exchange = Exchange::new(head.id);
    let page = head
        .is_of_page
        .then(|| app.browsers.permitted(request.headers()));
    let page = page.flatten();
    let shape = openai::shape(&app.config.prefix, request.uri().path());
    // hyper prefers Transfer-Encoding if a request also has Content-Length. The connection must not
    // be reused, because a proxy may have used the other header (request smuggling).
    let close = head.has_transfer_encoding || app.is_stopping();
    let is_gzip = head.is_gzip();
    let is_logged = if app.config.access_log {
        tracing::enabled!(tracing::Level::INFO)
    } else {
        tracing::enabled!(tracing::Level::DEBUG)
    };
    // Copy the method and path only for the log, because the request is consumed before it is
    // logged.
    let (method, path) = is_logged
        .then(|| (request.method().clone(), request.uri().path().to_owned()))
        .unzip();
    let admitted = check_request(app, peer, &request, &head, known);
    // Rejected requests keep the unknown key, so that no client is charged for a wrong token.
    let client = *admitted.as_ref().unwrap_or(&RateKey::UNKNOWN);
    let exchange = Arc::new(exchange.with_client(client, peer.ip()));
    let payer = match &admitted {
        Ok(client) => app.request_accounts(*client, request.headers()),
        Err(_) => Ok(None),
    };
    let (admitted, payer) = match payer {
        Ok(payer) => (admitted, payer),
        Err(error) => (Err(Box::new(error.into_response())), None),
    };
    let answering = async {
        match admitted {
            Err(refusal) => *refusal,
            Ok(_) if is_gzip => {
                let mut request = request.map(inflate_body);
                request.headers_mut().remove(CONTENT_ENCODING);
                // The length is that of the compressed body, but readers expect the inflated
                // length.
                request.headers_mut().remove(CONTENT_LENGTH);
                request.extensions_mut().insert(exchange.clone());
                catch_panic(entry.router.call(request)).await
            }
            // The hottest routes bypass axum's router, which boxes a service, two futures and the
            // body of each request.
            Ok(_) => match entry.direct.find(request.method(), request.uri().path()) {
                Some(found) => {
                    let call = RequestContext::new(app.clone(), exchange.clone(), found.index);
                    catch_panic(found.answer(call, request)).await
                }
                None => {
                    let mut request = request.map(Body::new);
                    request.extensions_mut().insert(exchange.clone());
                    catch_panic(entry.router.call(request)).await
                }
            },
        }
    };
    let mut response = match payer {
        Some(payer) => budget::charge_body(payer.clone(), charge_to(payer, answering).await),
        None => answering.await,
    };
    // Handlers return a status with the error in the extensions. The request id and the error
    // format of the path are only known here.
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        response = write_error(app, error, &exchange, response.headers(), shape);
    }
    let headers = response.headers_mut();
    headers.insert(&REQUEST_ID, exchange.header());
    if close {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    app.browsers.add_cors_headers(page.as_ref(), &mut response);
    let status = response.status().as_u16();
    let time = started.elapsed();
    app.metrics.count_response(exchange.route(), status, time);
    if let (Some(method), Some(path)) = (method, path) {
        let (id, micros) = (
            exchange.id(),
            u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
        );
        if app.config.access_log {
            tracing::info!(request_id = id, %method, path, status, micros, %peer, "answered");
        } else {
            tracing::debug!(request_id = id, %method, path, status, micros, %peer, "answered");
        }
    }
    response
}

/// Returns the client, or the error response if the request is rejected before its route.
fn check_request(
    app: &App,
    peer: SocketAddr,
    request: &Request<Incoming>,
    head: &HeaderScan<'_>,
    known: &CachedHost,
) -> Result<RateKey, Box<Response>> {
    let refused = |error: ApiError| Box::new(error.into_response());
    let headers = request.headers();
    head.readable(request).map_err(refused)?;
    if head.is_of_page || !known.is(request, head) {
        let host = app.hosts.check(request.version(), request.uri(), headers);
        let host = host.map_err(refused)?;
        // Browsers send no token with a preflight, so answer it before authentication.
        if app.browsers.is_preflight(request.method(), headers) {
            return Err(Box::new(StatusCode::NO_CONTENT.into_response()));
        }
        let own = app.browsers.check(request.method(), headers, host);
        own.map_err(refused)?;
        // Cache the host only after both checks passed.
        known.keep(head);
    }
    admit(app, peer, request).map_err(refused)
}

/// The `Host` of the first request of a connection. Nearly all later requests have the same one and
/// skip the check.
#[derive(Debug, Default)]
pub(crate) struct CachedHost(OnceLock<HeaderValue>);

impl CachedHost {
    fn is(&self, request: &Request<Incoming>, head: &HeaderScan<'_>) -> bool {
        let alone = head.hosts == 1 && request.uri().authority().is_none();
        alone && self.0.get().is_some_and(|known| head.host == Some(known))
    }

    /// Caches a host that passed the check.
    fn keep(&self, head: &HeaderScan<'_>) {
        if let (Some(host), 1) = (head.host, head.hosts) {
            self.0.get_or_init(|| host.clone());
        }
    }
}

/// The headers that every request is checked for, found in one pass. A lookup for each of them
/// would hash its name every time.
#[derive(Debug, Default)]
struct HeaderScan<'a> {
    /// The size of all headers in bytes.
    bytes: usize,
    host: Option<&'a HeaderValue>,
    /// The number of `Host` headers.
    hosts: usize,
    id: Option<&'a HeaderValue>,
    encoding: Option<&'a HeaderValue>,
    has_transfer_encoding: bool,
    /// Whether the request names the page or site that sent it.
    is_of_page: bool,
}

impl<'a> HeaderScan<'a> {
    fn of(request: &'a Request<Incoming>) -> Self {
        let mut head = HeaderScan::default();
        for (name, value) in request.headers() {
            let text = name.as_str();
            head.bytes += text.len() + value.len() + ": \r\n".len();
            match text {
                "host" => {
                    head.host = head.host.or(Some(value));
                    head.hosts += 1;
                }
                "x-request-id" => head.id = head.id.or(Some(value)),
                "content-encoding" => head.encoding = head.encoding.or(Some(value)),
                "transfer-encoding" => head.has_transfer_encoding = true,
                "origin" | "sec-fetch-site" => head.is_of_page = true,
                _ => {}
            }
        }
        head
    }

    /// Checks the size of the head and the encoding of the body.
    fn readable(&self, request: &Request<Incoming>) -> Result<(), ApiError> {
        let target = request.uri().path_and_query();
        let target = target.map_or(0, |target| target.as_str().len());
        // hyper reads in chunks, so it detects that the limit is exceeded one chunk late.
        if self.bytes + target > HEAD_BYTES {
            let message = format!("the headers exceed the limit of {HEAD_BYTES} bytes");
            return Err(problem(ErrorCode::RequestHeaders, message));
        }
        match self.encoding {
            Some(encoding) if !self.is_gzip() && !is_called(encoding, &["identity"]) => {
                let encoding = String::from_utf8_lossy(encoding.as_bytes());
                let message = format!("unsupported Content-Encoding {encoding:?}");
                Err(problem(ErrorCode::RequestEncoding, message)
                    .with_hint("send the body as gzip, or unencoded without Content-Encoding"))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the body is gzip, under either of its names (RFC 9110, 8.4.1.3).
    fn is_gzip(&self) -> bool {
        let gzip = |encoding| is_called(encoding, &["gzip", "x-gzip"]);
        self.encoding.is_some_and(gzip)
    }
}

fn is_called(value: &HeaderValue, names: &[&str]) -> bool {
    let is = |name: &&str| value.as_bytes().eq_ignore_ascii_case(name.as_bytes());
    names.iter().any(is)
}

fn admit(app: &App, peer: SocketAddr, request: &Request<Incoming>) -> Result<RateKey, ApiError> {
    let (path, headers) = (request.uri().path(), request.headers());
    if health::is_public_route(&app.config, path) {
        return Ok(RateKey::new(Caller::Anyone, peer.ip()));
    }
    let caller = app.auth.check(headers)?;
    if app.is_stopping() {
        return Err(
            problem(ErrorCode::ServerStopping, "this server is shutting down")
                .with_retry_after(Duration::from_secs(1)),
        );
    }
    let client = RateKey::new(caller, peer.ip());
    let Some(rate) = &app.rate else {
        return Ok(client);
    };
    let taken = rate.take(client, Instant::now());
    taken.map(|()| client).map_err(|wait| {
        problem(
            ErrorCode::RateLimited,
            "rate limit exceeded (server.rate_limit)",
        )
        .with_retry_after(wait)
    })
}

/// Turns a panic of a handler into an error response.
async fn catch_panic<E: IntoResponse>(call: impl Future<Output = Result<Response, E>>) -> Response {
    // Shared state uses locks that recover from poisoning, so it stays usable after a panic.
    match AssertUnwindSafe(call).catch_unwind().await {
        Ok(answer) => answer.unwrap_or_else(IntoResponse::into_response),
        Err(_) => problem(ErrorCode::ServerDefect, "internal server error").into_response(),
    }
}

/// Writes the body of an error and counts the error.
fn write_error(
    app: &App,
    error: ApiError,
    exchange: &Exchange,
    headers: &HeaderMap,
    shape: openai::ErrorFormat,
) -> Response {
    app.metrics.errors.count(error.code());
    if error.is_server_side() {
        tracing::warn!(
            request_id = exchange.id(),
            code = %error.code(),
            "{}",
            error.message()
        );
    }
    let mut response = match shape {
        openai::ErrorFormat::Problem => error.into_problem_response(exchange.id()),
        openai::ErrorFormat::OpenAi => openai::answer(&error),
        openai::ErrorFormat::Langfuse => langfuse::answer(&error),
        openai::ErrorFormat::Mlflow => mlflow::answer(&error),
        openai::ErrorFormat::Databases => {
            error.for_databases().into_problem_response(exchange.id())
        }
    };
    // The router set Allow on the original response, and RFC 9110 requires this header with status
    // 405.
    if let Some(allow) = headers.get(axum::http::header::ALLOW) {
        response
            .headers_mut()
            .insert(axum::http::header::ALLOW, allow.clone());
    }
    response
}
