//! Reads the response of a provider: bytes from a connection in, events out, within time limits.
//! Independent of how the request was sent.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use futures_util::stream;
use quillet_core::chat::{ChatStream, ModelError, ModelErrorKind, WireItem, WireStream};
use reqwest::header::CONTENT_TYPE;
use tokio::time::{Duration, Instant, Sleep, sleep_until};

use crate::answer::HttpResponse;
use crate::decode::{DecodedChunk, ResponseDecoder};
use crate::encoding::Unpack;
use crate::failure::{ErrorContext, clip};
use crate::timeouts::Timeouts;

/// How long the end of a body may take after the end of its answer.
// Usually only the final chunk of the body is missing. If the server continues to send, it is
// cheaper to open another connection.
const TAIL: Duration = Duration::from_millis(250);

/// Reads the remaining bytes after the end of an answer, usually only the end of the body, so the
/// connection can be reused.
fn release(mut response: HttpResponse) {
    // The rest is read in the background, because the caller already has the complete answer.
    tokio::spawn(async move {
        let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
        let _ = tokio::time::timeout(TAIL, rest).await;
    });
}

/// Deadlines for the parts of a response.
pub(crate) struct Deadlines {
    pub(crate) first_byte: Instant,
    pub(crate) total: Instant,
    pub(crate) timeouts: Timeouts,
}

impl Deadlines {
    /// Starts the deadlines; called when the request is sent.
    pub(crate) fn new(timeouts: Timeouts) -> Self {
        let now = Instant::now();
        let total = now + timeouts.total;
        Deadlines {
            first_byte: total.min(now + timeouts.first_byte),
            total,
            timeouts,
        }
    }

    /// Error for a missing first byte.
    pub(crate) fn no_first_byte(&self, teller: &ErrorContext) -> ModelError {
        let after = self.timeouts.first_byte.min(self.timeouts.total);
        teller.timeout_error("no answer", "first_byte", after)
    }
}

/// Whether the body is still open.
enum BodyState {
    Open,
    Ended,
}

/// Reads one response.
pub(crate) struct ResponseReader {
    /// `None` after everything has been read.
    response: Option<HttpResponse>,
    content_type: String,
    unpack: Unpack,
    intake: ResponseDecoder,
    /// Items that are ready to be returned; an error is always the last.
    queue: VecDeque<Result<WireItem, ModelError>>,
    /// Reused buffer for the decoded chunk.
    told: DecodedChunk,
    has_bytes: bool,
    done: bool,
    /// Created when the first wait is necessary.
    timer: Option<Pin<Box<Sleep>>>,
    /// Deadline of the next bytes.
    next: Instant,
    /// Deadline of the next event of the answer, regardless of pings.
    next_event: Instant,
    deadlines: Deadlines,
    teller: Arc<ErrorContext>,
    /// The provider's request id, for error messages.
    request_id: Option<String>,
}

impl ResponseReader {
    /// Creates a reader for a successful response.
    ///
    /// # Errors
    /// The content encoding is not supported.
    pub(crate) fn new(
        response: HttpResponse,
        intake: ResponseDecoder,
        deadlines: Deadlines,
        teller: Arc<ErrorContext>,
    ) -> Result<Self, ModelError> {
        let value = response.headers.get(CONTENT_TYPE);
        let text = value.and_then(|value| value.to_str().ok());
        let unpack = Unpack::of(&response.headers).map_err(|error| teller.with_context(error))?;
        Ok(ResponseReader {
            content_type: clip(text.unwrap_or("no content type")).to_owned(),
            response: Some(response),
            unpack,
            intake,
            queue: VecDeque::new(),
            told: DecodedChunk::default(),
            has_bytes: false,
            done: false,
            timer: None,
            next: deadlines.first_byte,
            next_event: Instant::now() + deadlines.timeouts.silence(),
            deadlines,
            teller,
            request_id: None,
        })
    }

    /// Waits for the first event. An error that comes instead is returned here, so the request can
    /// be retried.
    pub(crate) async fn begin(&mut self) -> Result<(), ModelError> {
        let first = self.next().await;
        let first = first.unwrap_or_else(|| Err(self.with_id(self.strange())))?;
        self.queue.push_front(Ok(first));
        Ok(())
    }

    /// Converts the reader into a stream of events; its decoder must not use pass-through.
    pub(crate) fn into_stream(self) -> ChatStream {
        Box::pin(stream::unfold(self, |mut reading| async {
            loop {
                match reading.next().await? {
                    Ok(WireItem::Event(event)) => return Some((Ok(event), reading)),
                    Ok(WireItem::Words(_) | WireItem::Turn(_)) => {}
                    Err(error) => return Some((Err(error), reading)),
                }
            }
        }))
    }

    /// Converts the reader into a stream of passed-through bytes, followed by events where
    /// pass-through ends.
    pub(crate) fn into_wire_stream(self) -> WireStream {
        Box::pin(stream::unfold(self, |mut reading| async {
            let item = reading.next().await?;
            Some((item, reading))
        }))
    }

    /// Adds the provider's request id to the error.
    fn with_id(&self, error: ModelError) -> ModelError {
        ModelError {
            request_id: error.request_id.or_else(|| self.request_id.clone()),
            ..error
        }
    }

    /// Returns the next item; `None` after the end or an error.
    async fn next(&mut self) -> Option<Result<WireItem, ModelError>> {
        loop {
            if let Some(item) = self.queue.pop_front() {
                return Some(item);
            }
            let mut response = self.response.take()?;
            match self.advance(&mut response).await {
                Ok(BodyState::Ended) if self.queue.is_empty() => {
                    self.request_id = response.request_id();
                }
                Ok(BodyState::Ended) => {}
                Ok(BodyState::Open) if self.done => release(response),
                Ok(BodyState::Open) => self.response = Some(response),
                Err(error) => {
                    self.request_id = response.request_id();
                    self.queue.push_back(Err(self.with_id(error)));
                }
            }
        }
    }

    /// Returns the next chunk of the body, within the time limits. All chunks share one timer,
    /// which is reset only when it expires, because resetting it for each chunk would be slower.
    async fn piece(&mut self, response: &mut HttpResponse) -> Result<Option<Bytes>, ModelError> {
        let wait = self.next.min(self.next_event).min(self.deadlines.total);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep_until(wait)));
        if timer.deadline() > wait {
            timer.as_mut().reset(wait);
        }
        let mut chunk = pin!(response.chunk());
        let piece = poll_fn(|cx| {
            if let Poll::Ready(piece) = chunk.as_mut().poll(cx) {
                return Poll::Ready(Some(piece));
            }
            while timer.as_mut().poll(cx).is_ready() {
                if timer.deadline() >= wait {
                    return Poll::Ready(None);
                }
                timer.as_mut().reset(wait);
            }
            Poll::Pending
        });
        match piece.await {
            Some(piece) => piece.map_err(|fault| self.teller.stream_error(fault)),
            None => Err(self.late()),
        }
    }

    async fn advance(&mut self, response: &mut HttpResponse) -> Result<BodyState, ModelError> {
        match self.piece(response).await? {
            Some(piece) => {
                let told = self.intake.event_count();
                self.take(&piece)?;
                let times = self.deadlines.timeouts;
                let now = Instant::now();
                self.next = now + times.idle;
                // Pings keep a connection open, but must not hide a model that has stopped.
                if self.intake.event_count() > told {
                    self.next_event = now + times.silence();
                }
                Ok(BodyState::Open)
            }
            None => self.finish().map(|()| BodyState::Ended),
        }
    }

    fn late(&self) -> ModelError {
        let times = self.deadlines.timeouts;
        // The total limit is checked first, because it is the one to raise if several have expired.
        if Instant::now() >= self.deadlines.total {
            return self
                .teller
                .timeout_error("the answer was incomplete", "total", times.total);
        }
        if !self.has_bytes {
            return self.deadlines.no_first_byte(&self.teller);
        }
        if Instant::now() >= self.next_event {
            let what = "no event of the answer, only pings,";
            return self
                .teller
                .timeout_error(what, "first_byte", times.silence());
        }
        self.teller
            .timeout_error("no more data", "idle", times.idle)
    }

    fn take(&mut self, piece: &Bytes) -> Result<(), ModelError> {
        self.has_bytes |= !piece.is_empty();
        let (intake, told) = (&mut self.intake, &mut self.told);
        let taken = self.unpack.feed(piece, |piece| intake.read(piece, told));
        self.hand_out();
        self.done = self.intake.is_done();
        taken.map_err(|error| self.teller.with_context(error))
    }

    fn hand_out(&mut self) {
        let told = &mut self.told;
        if !told.words.is_empty() {
            let words = std::mem::take(&mut told.words);
            self.queue.push_back(Ok(WireItem::Words(words)));
        }
        self.queue
            .extend(told.turn.take().map(WireItem::Turn).map(Ok));
        let events = told.events.drain(..).map(WireItem::Event);
        self.queue.extend(events.map(Ok));
    }

    /// Ends the response after its body.
    fn finish(&mut self) -> Result<(), ModelError> {
        let has_begun = self.intake.has_begun() || self.content_type.contains("event-stream");
        let ended = self.intake.finish(&mut self.told);
        self.hand_out();
        self.done = true;
        ended.map_err(|error| match error.kind {
            // A response without any part of an answer is invalid and not truncated.
            ModelErrorKind::Cut if !has_begun => self.strange(),
            _ => self.teller.with_context(error),
        })
    }

    /// Error for a successful response without any part of a model's answer.
    fn strange(&self) -> ModelError {
        let cause = format!(
            "the answer is not a model API response ({}); is the base URL right? It is normally {}",
            self.content_type, self.teller.home.base_url
        );
        self.teller.error(ModelErrorKind::Protocol, cause)
    }
}
