//! An answer of a model as server-sent events, whatever the words for it.
//!
//! What the model has said is sent at once, with everything else that has come by then, and nothing
//! is read ahead: the next event of the model is asked for when the connection has taken what came
//! before, so a reader that stalls stalls the provider and not our memory. A client that leaves
//! drops the body, and with it the call.

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

use super::Warning;
use crate::app::App;
use crate::error::ApiError;
use crate::request_context::{Exchange, RequestContext};

const PING: &[u8] = b": ping\n\n";

/// About the most bytes that are sent at once.
const MOST_AT_ONCE: usize = 16 << 10;

/// An answer that has begun.
pub(crate) struct StreamingReply<S = ChatStream> {
    /// What the model says, or what a script does.
    pub(crate) stream: S,
    /// Tool calls that failed while a prompt was rendered.
    pub(crate) warnings: Vec<Warning>,
}

/// A question on its way. Dropping it ends the call to the model.
pub(crate) type PendingReply<S = ChatStream> =
    BoxFuture<'static, Result<StreamingReply<S>, ApiError>>;

/// The words for an answer: every method writes whole events of the wire.
pub(crate) trait EventEncoder<E = ChatEvent>: Send + Unpin + 'static {
    /// The model has begun to answer.
    fn begin(&mut self, warnings: Vec<Warning>, out: &mut Vec<u8>);

    /// The model says something.
    fn event(&mut self, event: E, out: &mut Vec<u8>);

    /// The answer is complete. Its events wait for the future, if there is one.
    fn end(&mut self, out: &mut Vec<u8>) -> Option<BoxFuture<'static, ()>>;

    /// The answer has failed; nothing comes after this.
    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>);
}

/// Answers with a stream. As long as the model has not begun to answer, and no sign of life had to
/// be sent, a failure still has its own status.
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
    match tokio::time::timeout(ping, &mut asking).await {
        Ok(answer) => feed.begin(answer?),
        Err(_) => {
            feed.stage = FeedState::Asking(asking);
            feed.out.extend_from_slice(PING);
        }
    }
    Ok(response(Body::from_stream(feed)))
}

/// An answer whose body are events.
pub(crate) fn response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx keeps answers back unless told not to.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

enum FeedState<S> {
    Asking(PendingReply<S>),
    Answering(S),
    /// The last events wait until the answer is stored.
    Keeping(BoxFuture<'static, ()>, Vec<u8>),
    Ended,
}

struct Feed<S, T> {
    stage: FeedState<S>,
    tell: T,
    /// What is to be sent next.
    out: Vec<u8>,
    ping: Duration,
    /// Runs out when a comment may be due. It is moved then, and not with every piece.
    silence: Pin<Box<Sleep>>,
    /// When something was sent last.
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

    /// Takes what has come; `false` where the rest has still to come.
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
        while feed.out.len() < MOST_AT_ONCE && feed.advance(cx) {}
        if !feed.out.is_empty() {
            return feed.sent();
        }
        if matches!(feed.stage, FeedState::Ended) {
            return Poll::Ready(None);
        }
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

/// Counts a stream for as long as it lives.
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
