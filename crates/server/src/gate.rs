//! What every request passes on its way in and out: who calls, how often, with
//! which id; what became of it goes to the log and the counters.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONNECTION, CONTENT_ENCODING, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use hyper::body::Incoming;
use tower::Service;

use crate::api::openai;
use crate::app::App;
use crate::auth::Caller;
use crate::connection::HEAD_BYTES;
use crate::error::{ApiError, problem};
use crate::exchange::{Exchange, REQUEST_ID};
use crate::health;
use crate::rate::Client;

/// Answers one request. Dropping the future ends everything done for it.
pub(crate) async fn answer(
    app: &App,
    mut router: Router,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Response {
    let started = Instant::now();
    let exchange = Arc::new(Exchange::new(request.headers()));
    let page = app.browsers.permitted(request.headers());
    let shape = openai::shape(&app.config.prefix, request.uri().path());
    // hyper prefers Transfer-Encoding to Content-Length where a request has
    // both and does not tell; such a connection must not be used again, since a
    // proxy before us may have read the request the other way.
    let close = request.headers().contains_key(TRANSFER_ENCODING) || app.is_stopping();
    let is_logged = match app.config.access_log {
        true => tracing::enabled!(tracing::Level::INFO),
        false => tracing::enabled!(tracing::Level::DEBUG),
    };
    let (method, path) = is_logged
        .then(|| (request.method().clone(), request.uri().path().to_owned()))
        .unzip();
    let mut response = match admitted(app, peer, &request) {
        Err(refusal) => *refusal,
        Ok(client) => {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(exchange.clone());
            request.extensions_mut().insert(client);
            caught(router.call(request)).await
        }
    };
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        response = explain(app, error, &exchange, response.headers(), shape);
    }
    let headers = response.headers_mut();
    headers.insert(&REQUEST_ID, exchange.header());
    if close {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    app.browsers.tell(page.as_ref(), &mut response);
    let status = response.status().as_u16();
    let time = started.elapsed();
    app.metrics.answered(exchange.route(), status, time);
    if let (Some(method), Some(path)) = (method, path) {
        let (id, micros) = (
            exchange.id(),
            u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
        );
        match app.config.access_log {
            true => {
                tracing::info!(request_id = id, %method, path, status, micros, %peer, "answered");
            }
            false => {
                tracing::debug!(request_id = id, %method, path, status, micros, %peer, "answered");
            }
        }
    }
    response
}

/// Who asks, or the answer to a request that does not get to its route.
fn admitted(
    app: &App,
    peer: SocketAddr,
    request: &Request<Incoming>,
) -> Result<Client, Box<Response>> {
    let refused = |error: ApiError| Box::new(error.into_response());
    let headers = request.headers();
    readable(request).map_err(refused)?;
    let host = app.hosts.check(request.version(), request.uri(), headers);
    let host = host.map_err(refused)?;
    if app.browsers.is_preflight(request.method(), headers) {
        return Err(Box::new(StatusCode::NO_CONTENT.into_response()));
    }
    let own = app.browsers.check(request.method(), headers, host);
    own.map_err(refused)?;
    admit(app, peer, request).map_err(refused)
}

/// Whether the head is small enough, and the body written in a way that is read here.
fn readable(request: &Request<Incoming>) -> Result<(), ApiError> {
    let lines = request.headers().iter();
    let lines = lines.map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    let target = request
        .uri()
        .path_and_query()
        .map_or(0, |target| target.as_str().len());
    // hyper reads in pieces, and so looks at the bound a piece too late.
    if lines.sum::<usize>() + target > HEAD_BYTES {
        let message = format!("the headers are larger than {HEAD_BYTES} bytes");
        return Err(problem(431, "request.headers", message));
    }
    match request.headers().get(CONTENT_ENCODING) {
        Some(encoding) if !encoding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            let encoding = String::from_utf8_lossy(encoding.as_bytes());
            let message = format!("the body is encoded as {encoding:?}, which is not read here");
            Err(problem(415, "request.encoding", message)
                .hint("send it as it is, without Content-Encoding"))
        }
        _ => Ok(()),
    }
}

fn admit(app: &App, peer: SocketAddr, request: &Request<Incoming>) -> Result<Client, ApiError> {
    let (path, headers) = (request.uri().path(), request.headers());
    if health::is_open(&app.config, path) {
        return Ok(Client::new(Caller::Anyone, peer.ip()));
    }
    let caller = app.auth.check(headers)?;
    if app.is_stopping() {
        return Err(
            problem(503, "server.stopping", "this server is shutting down")
                .retry_after(Duration::from_secs(1)),
        );
    }
    let client = Client::new(caller, peer.ip());
    let Some(rate) = &app.rate else {
        return Ok(client);
    };
    let taken = rate.take(client, Instant::now());
    taken.map(|()| client).map_err(|wait| {
        problem(
            429,
            "rate.limited",
            "more requests than the limit on rate permits",
        )
        .retry_after(wait)
    })
}

/// A handler that panics is our defect; the client gets an answer all the same.
async fn caught(
    call: impl Future<Output = Result<Response, std::convert::Infallible>>,
) -> Response {
    match AssertUnwindSafe(call).catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        Err(_) => {
            problem(500, "server.defect", "the server met a defect of its own").into_response()
        }
    }
}

/// Writes the body of an error, and counts it.
fn explain(
    app: &App,
    error: ApiError,
    exchange: &Exchange,
    headers: &HeaderMap,
    shape: openai::Shape,
) -> Response {
    app.metrics.errors.count(error.code());
    if error.is_server_side() {
        tracing::warn!(
            request_id = exchange.id(),
            code = error.code(),
            "{}",
            error.message()
        );
    }
    let mut response = match shape {
        openai::Shape::Problem => error.into_answer(exchange.id()),
        openai::Shape::OpenAi => openai::answer(&error),
        openai::Shape::Databases => error.of_databases().into_answer(exchange.id()),
    };
    if let Some(allow) = headers.get(axum::http::header::ALLOW) {
        response
            .headers_mut()
            .insert(axum::http::header::ALLOW, allow.clone());
    }
    response
}
