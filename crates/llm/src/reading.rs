//! One answer while it is read: bytes from a connection, events out, under bounds
//! of time. Knows nothing of how the request was made.

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
// Usually only the final chunk of the body is missing. A server that keeps sending is not worth a
// connection.
const TAIL: Duration = Duration::from_millis(250);

/// Reads what follows the end of an answer, usually the end of the body in the
/// next packet, so that the connection can serve the next request.
fn release(mut response: HttpResponse) {
    // In the background: the caller already has the complete answer.
    tokio::spawn(async move {
        let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
        let _ = tokio::time::timeout(TAIL, rest).await;
    });
}

/// When what has to be there.
pub(crate) struct Deadlines {
    pub(crate) first_byte: Instant,
    pub(crate) total: Instant,
    pub(crate) timeouts: Timeouts,
}

impl Deadlines {
    /// Counted from now, when the request is sent.
    pub(crate) fn new(timeouts: Timeouts) -> Self {
        let now = Instant::now();
        let total = now + timeouts.total;
        Deadlines {
            first_byte: total.min(now + timeouts.first_byte),
            total,
            timeouts,
        }
    }

    /// What to say when the first byte has not come.
    pub(crate) fn no_first_byte(&self, teller: &ErrorContext) -> ModelError {
        let after = self.timeouts.first_byte.min(self.timeouts.total);
        teller.timeout_error("no answer", "first_byte", after)
    }
}

/// Whether there is more of a body.
enum BodyState {
    Open,
    Ended,
}

/// An answer while it is read.
pub(crate) struct ResponseReader {
    /// `None` when everything has been read.
    response: Option<HttpResponse>,
    content_type: String,
    unpack: Unpack,
    intake: ResponseDecoder,
    /// Events, and at last the error that followed them, not yet handed out.
    queue: VecDeque<Result<WireItem, ModelError>>,
    /// Scratch for what a piece says.
    told: DecodedChunk,
    has_bytes: bool,
    done: bool,
    /// Made when something has to be waited for.
    timer: Option<Pin<Box<Sleep>>>,
    /// When the next bytes have to be there.
    next: Instant,
    /// When the next event of the answer has to be there, however often the provider says
    /// that it is still alive.
    next_event: Instant,
    deadlines: Deadlines,
    teller: Arc<ErrorContext>,
    /// The provider's id of the request, once an error has to name it.
    request_id: Option<String>,
}

impl ResponseReader {
    /// An answer that has begun with a good status.
    ///
    /// # Errors
    /// It is packed in a way that is not read.
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

    /// Waits for the first event; an error that comes in its place is this
    /// function's, so that the request may be made again.
    pub(crate) async fn begin(&mut self) -> Result<(), ModelError> {
        let first = self.next().await;
        let first = first.unwrap_or_else(|| Err(self.with_id(self.strange())))?;
        self.queue.push_front(Ok(first));
        Ok(())
    }

    /// The rest of the answer, of an intake that does not pass words on.
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

    /// The rest of the answer, in words as far as they go.
    pub(crate) fn into_wire_stream(self) -> WireStream {
        Box::pin(stream::unfold(self, |mut reading| async {
            let item = reading.next().await?;
            Some((item, reading))
        }))
    }

    /// The same error with the provider's id of the request.
    fn with_id(&self, error: ModelError) -> ModelError {
        ModelError {
            request_id: error.request_id.or_else(|| self.request_id.clone()),
            ..error
        }
    }

    /// The next item; `None` after the end or an error.
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

    /// The next piece of the body, as long as one may take. The timer is the same for all
    /// pieces: moved when it runs out, and not with each of them.
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
        // Checked first: the total limit is what the user should raise if several have expired.
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

    /// The body has ended.
    fn finish(&mut self) -> Result<(), ModelError> {
        let has_begun = self.intake.has_begun() || self.content_type.contains("event-stream");
        let ended = self.intake.finish(&mut self.told);
        self.hand_out();
        self.done = true;
        ended.map_err(|error| match error.kind {
            // What was no answer at all cannot have been cut.
            ModelErrorKind::Cut if !has_begun => self.strange(),
            _ => self.teller.with_context(error),
        })
    }

    /// A good status, and nothing in it that a model would say.
    fn strange(&self) -> ModelError {
        let cause = format!(
            "the answer is not that of a model ({}); is the base URL right? It is normally {}",
            self.content_type, self.teller.home.base_url
        );
        self.teller.error(ModelErrorKind::Protocol, cause)
    }
}
