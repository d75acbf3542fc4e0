//! Streams the rows of a query as a file.
//!
//! A slow client slows the database, and a disconnected one cancels the query. If a query fails
//! after the first part, the body is aborted, and HTTP clients detect that it is incomplete.

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, TE, TRAILER};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use quillet_core::{BoxFuture, ErrorCode};
use quillet_sql::export::{ByteSink, CsvOptions, ExportFormat, RowExport};
use quillet_sql::rows::TruncationReason;
use quillet_sql::stream::SinkClosed;
use quillet_sql::{Databases, RunOptions, SqlError, StreamResult};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::task::AbortOnDropHandle;
use tracing::warn;

use super::served::count;
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// The number of bytes buffered before streaming. A smaller result has complete headers, and an
/// early failure still determines the status.
const HEAD: usize = 256 << 10;

static TRUNCATED: HeaderName = HeaderName::from_static("quillet-truncated");
static ROW_COUNT: HeaderName = HeaderName::from_static("quillet-row-count");
static ROW_LIMIT: HeaderName = HeaderName::from_static("quillet-row-limit");
static EXECUTION_MS: HeaderName = HeaderName::from_static("quillet-execution-ms");

/// Fields that are only known at the end of a query.
const TRAILERS: &str = "quillet-truncated, quillet-row-count, quillet-execution-ms";

/// A file requested by a client.
pub(super) struct ExportRequest<'a> {
    pub(super) call: &'a RequestContext,
    pub(super) name: String,
    pub(super) sql: String,
    pub(super) options: RunOptions,
    pub(super) format: ExportFormat,
    /// Whether the client accepts trailers.
    pub(super) takes_trailers: bool,
}

/// Returns whether the client accepts trailers (RFC 9110, 10.1.4).
pub(super) fn takes_trailers(headers: &HeaderMap) -> bool {
    let values = headers.get_all(TE).into_iter();
    let mut tokens = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    tokens.any(|token| token.trim().eq_ignore_ascii_case("trailers"))
}

/// A message from the query task to the response.
enum ExportMessage {
    Bytes(Vec<u8>),
    Ended(Result<StreamResult, SqlError>),
}

/// Sends bytes from the task to the response. At most one chunk is buffered.
struct Out(Sender<ExportMessage>);

impl ByteSink for Out {
    fn bytes<'a>(&'a mut self, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), SinkClosed>> {
        Box::pin(async move {
            self.0
                .send(ExportMessage::Bytes(bytes))
                .await
                .map_err(|_| SinkClosed)
        })
    }
}

/// A query in a separate task. Dropping it cancels the query in the database.
struct QueryTask {
    said: Receiver<ExportMessage>,
    _task: AbortOnDropHandle<()>,
}

impl QueryTask {
    fn start(databases: &Databases, asked: &ExportRequest<'_>) -> Self {
        // With a capacity of one, a slow client slows the database instead of filling memory.
        let (sender, said) = channel(1);
        let (databases, format) = (databases.clone(), asked.format);
        let (name, sql, options) = (asked.name.clone(), asked.sql.clone(), asked.options.clone());
        let task = tokio::spawn(async move {
            let mut out = Out(sender.clone());
            let into = RowExport::new(format, CsvOptions::default(), &mut out);
            let ran = databases.export(&name, &sql, &options, into).await;
            // If the receiver is gone, it has also dropped this task.
            let _ = sender.send(ExportMessage::Ended(ran)).await;
        });
        QueryTask {
            said,
            _task: AbortOnDropHandle::new(task),
        }
    }
}

/// Runs the query and returns a file.
pub(super) async fn file(
    asked: ExportRequest<'_>,
    databases: &Databases,
) -> Result<Response, ApiError> {
    let mut running = QueryTask::start(databases, &asked);
    let mut head = Vec::new();
    // Results that fit into this buffer are sent with complete headers and their own error status.
    // Only larger results are streamed.
    while head.len() <= HEAD {
        match running.said.recv().await {
            Some(ExportMessage::Bytes(mut bytes)) => head.append(&mut bytes),
            Some(ExportMessage::Ended(ran)) => {
                let ran = ran?;
                count(asked.call, ran.execution_ms);
                let mut response = head.into_response();
                response.headers_mut().extend(end(&ran));
                return Ok(with_head(response, &asked));
            }
            None => {
                let message = "the query ended without a result";
                return Err(problem(ErrorCode::ServerDefect, message));
            }
        }
    }
    let mut response = Response::new(rest(head, running, &asked));
    if asked.takes_trailers {
        let trailers = HeaderValue::from_static(TRAILERS);
        response.headers_mut().insert(TRAILER, trailers);
    }
    Ok(with_head(response, &asked))
}

/// Returns the body of a file that has begun, up to the end or an error.
fn rest(head: Vec<u8>, running: QueryTask, asked: &ExportRequest<'_>) -> Body {
    let (app, name) = (asked.call.app.clone(), asked.name.clone());
    let id = asked.call.exchange.id().to_owned();
    let takes_trailers = asked.takes_trailers;
    let begun = (Some(head), Some(running));
    let frames = stream::unfold(begun, move |(head, running)| {
        let (app, name, id) = (app.clone(), name.clone(), id.clone());
        async move {
            let mut running = running?;
            if let Some(head) = head {
                return Some((data(head), (None, Some(running))));
            }
            let broken = match running.said.recv().await {
                Some(ExportMessage::Bytes(bytes)) => {
                    return Some((data(bytes), (None, Some(running))));
                }
                Some(ExportMessage::Ended(Ok(ran))) => {
                    let time = std::time::Duration::from_millis(ran.execution_ms);
                    app.metrics.queries.record(time);
                    return takes_trailers.then(|| (Ok(Frame::trailers(end(&ran))), (None, None)));
                }
                Some(ExportMessage::Ended(Err(error))) => error.to_string(),
                None => "the query ended without a result".to_owned(),
            };
            warn!(database = %name, id, error = %broken, "truncated a file because its query failed");
            Some((Err(std::io::Error::other(broken)), (None, None)))
        }
    });
    Body::new(StreamBody::new(frames))
}

fn data(bytes: Vec<u8>) -> std::io::Result<Frame<Bytes>> {
    Ok(Frame::data(bytes.into()))
}

/// Returns the fields that are known at the end of a query.
fn end(ran: &StreamResult) -> HeaderMap {
    let truncated = ran.truncated().map_or("none", TruncationReason::name);
    let mut fields = HeaderMap::new();
    fields.insert(&TRUNCATED, HeaderValue::from_static(truncated));
    fields.insert(&ROW_COUNT, HeaderValue::from(ran.row_count));
    fields.insert(&EXECUTION_MS, HeaderValue::from(ran.execution_ms));
    fields
}

/// Adds the headers that are known before the end of a query.
fn with_head(mut response: Response, asked: &ExportRequest<'_>) -> Response {
    let format = asked.format;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    if let Some(limits) = &asked.options.limits {
        headers.insert(&ROW_LIMIT, HeaderValue::from(limits.rows));
    }
    if let Ok(disposition) = HeaderValue::try_from(disposition(&asked.name, format)) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    response
}

fn disposition(name: &str, format: ExportFormat) -> String {
    // The name is from the path, and quotes or control characters would break the header.
    let safe = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '-' => c,
        _ => '_',
    };
    let name: String = name.chars().take(60).map(safe).collect();
    format!("attachment; filename=\"{name}.{}\"", format.ending())
}
