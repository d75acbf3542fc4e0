//! A streamed reply as server-sent events in any format.
//!
//! All received events are sent immediately. The next event is requested only after the connection
//! accepted the previous bytes, so a slow reader slows the provider and does not fill memory. A
//! client that disconnects drops the body, and with it the model call.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use futures_util::{FutureExt, Stream, StreamExt};
use quillet_core::BoxFuture;
use quillet_core::chat::{ChatEvent, ChatStream};
use tokio::time::{Instant, Sleep};

use crate::app::App;
use crate::error::ApiError;
use crate::request_context::{Exchange, RequestContext};

const PING: &[u8] = b": ping\n\n";
use crate::warning::Warning;

/// The approximate maximum size of a write in bytes.
const MOST_AT_ONCE: usize = 16 << 10;

/// A reply that has begun.
pub(crate) struct StreamingReply<S = ChatStream> {
    /// Events of the model or of the script.
    pub(crate) stream: S,
    /// Tool calls that failed while a prompt was rendered.
    pub(crate) warnings: Vec<Warning>,
}

/// A pending request to a model. Dropping it cancels the call.
pub(crate) type PendingReply<S = ChatStream> =
    BoxFuture<'static, Result<StreamingReply<S>, ApiError>>;

/// Encodes a reply as events; each method writes complete events.
pub(crate) trait EventEncoder<E = ChatEvent>: Send + Unpin + 'static {
    /// Handles the start of the reply.
    fn begin(&mut self, warnings: Vec<Warning>, out: &mut Vec<u8>);

    /// Handles an event of the reply.
    fn event(&mut self, event: E, out: &mut Vec<u8>);

    /// Ends the reply. If a future is returned, the last events are sent after it completes.
    fn end(&mut self, out: &mut Vec<u8>) -> Option<BoxFuture<'static, ()>>;

    /// Reports a failure. No other method is called afterwards.
    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>);
}

/// Returns a stream. Until the model starts to reply or the first ping is sent, a failure still
/// gets its own HTTP status.
pub(crate) async fn answer<S, E, X, T>(
    call: &RequestContext,
    mut asking: PendingReply<S>,
    tell: T,
) -> Result<Response, ApiError>
where
    S: Stream<Item = Result<E, X>> + Send + Unpin + 'static,
    X: Into<ApiError>,
    T: EventEncoder<E>,
{
    let ping = call.app.config.ping_time;
    let mut feed = Feed {
        stage: FeedState::Ended,
        tell,
        out: Vec::new(),
        ping,
        silence: Box::pin(tokio::time::sleep(ping)),
        last: Instant::now(),
        exchange: call.exchange.clone(),
        count: StreamCount::new(&call.app),
    };
    // The status line is held back until the model starts or a ping is due. After that the status
    // is fixed at 200, and failures become events.
    match tokio::time::timeout(ping, &mut asking).await {
        Ok(answer) => feed.begin(answer?),
        Err(_) => {
            feed.stage = FeedState::Asking(asking);
            feed.out.extend_from_slice(PING);
        }
    }
    Ok(response(Body::from_stream(feed)))
}

/// Returns a response whose body is a stream of events.
pub(crate) fn response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx buffers responses unless this header disables it.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

enum FeedState<S> {
    Asking(PendingReply<S>),
    Answering(S),
    /// The last events wait until the reply is stored.
    Keeping(BoxFuture<'static, ()>, Vec<u8>),
    Ended,
}

struct Feed<S, T> {
    stage: FeedState<S>,
    tell: T,
    /// Encoded events that are not sent yet.
    out: Vec<u8>,
    ping: Duration,
    /// Fires when a ping may be due. It is reset only then, because a reset for every event would
    /// be expensive.
    silence: Pin<Box<Sleep>>,
    /// The time of the last write.
    last: Instant,
    exchange: Arc<Exchange>,
    count: StreamCount,
}

impl<S, E, X, T> Feed<S, T>
where
    S: Stream<Item = Result<E, X>> + Unpin,
    X: Into<ApiError>,
    T: EventEncoder<E>,
{
    fn begin(&mut self, answer: StreamingReply<S>) {
        self.stage = FeedState::Answering(answer.stream);
        self.tell.begin(answer.warnings, &mut self.out);
    }

    /// Processes the next received event. Returns `false` if none is ready.
    fn advance(&mut self, cx: &mut Context<'_>) -> bool {
        match &mut self.stage {
            FeedState::Ended => return false,
            FeedState::Asking(asking) => match asking.poll_unpin(cx) {
                Poll::Pending => return false,
                Poll::Ready(Ok(answer)) => self.begin(answer),
                Poll::Ready(Err(error)) => self.fail(&error),
            },
            FeedState::Answering(stream) => match stream.poll_next_unpin(cx) {
                Poll::Pending => return false,
                Poll::Ready(Some(Ok(event))) => self.tell.event(event, &mut self.out),
                Poll::Ready(Some(Err(error))) => self.fail(&error.into()),
                Poll::Ready(None) => self.end(),
            },
            FeedState::Keeping(keeping, last) => match keeping.poll_unpin(cx) {
                Poll::Pending => return false,
                Poll::Ready(()) => {
                    self.out.append(last);
                    self.stage = FeedState::Ended;
                }
            },
        }
        true
    }

    fn end(&mut self) {
        let mut last = Vec::new();
        // The client can use `previous_response_id` as soon as it sees the end, so the response
        // must be stored first.
        let keeping = self.tell.end(&mut last);
        self.stage = match keeping {
            Some(keeping) => FeedState::Keeping(keeping, last),
            None => {
                self.out.append(&mut last);
                FeedState::Ended
            }
        };
    }

    fn fail(&mut self, error: &ApiError) {
        self.stage = FeedState::Ended;
        self.count.app().metrics.errors.count(error.code());
        tracing::warn!(
            request_id = self.exchange.id(),
            code = %error.code(),
            "stream failed: {}",
            error.message()
        );
        self.tell.fail(error, &mut self.out);
    }

    fn sent(&mut self) -> Poll<Option<Result<Bytes, Infallible>>> {
        self.last = Instant::now();
        Poll::Ready(Some(Ok(std::mem::take(&mut self.out).into())))
    }
}

impl<S, E, X, T> Stream for Feed<S, T>
where
    S: Stream<Item = Result<E, X>> + Unpin,
    X: Into<ApiError>,
    T: EventEncoder<E>,
{
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let feed = self.get_mut();
        // Collect all ready events into one write. The limit bounds the buffer if the model is
        // fast.
        while feed.out.len() < MOST_AT_ONCE && feed.advance(cx) {}
        if !feed.out.is_empty() {
            return feed.sent();
        }
        if matches!(feed.stage, FeedState::Ended) {
            return Poll::Ready(None);
        }
        // A loop, because a reset timer must be polled again to register the waker.
        while feed.silence.as_mut().poll(cx).is_ready() {
            let due = feed.last + feed.ping;
            let now = Instant::now();
            if due > now {
                feed.silence.as_mut().reset(due);
            } else {
                feed.silence.as_mut().reset(now + feed.ping);
                feed.out.extend_from_slice(PING);
                return feed.sent();
            }
        }
        Poll::Pending
    }
}

/// Counts an open stream until it is dropped.
#[derive(Debug)]
struct StreamCount(Arc<App>);

impl StreamCount {
    fn new(app: &Arc<App>) -> Self {
        app.metrics.streams.fetch_add(1, Ordering::Relaxed);
        StreamCount(app.clone())
    }

    fn app(&self) -> &App {
        &self.0
    }
}

impl Drop for StreamCount {
    fn drop(&mut self) {
        self.0.metrics.streams.fetch_sub(1, Ordering::Relaxed);
    }
}
