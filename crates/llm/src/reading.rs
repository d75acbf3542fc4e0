//! One answer while it is read: bytes from a connection, events out, under bounds
//! of time. Knows nothing of how the request was made.

use std::collections::VecDeque;

use bytes::Bytes;
use futures_util::stream;
use quillet_core::chat::{ChatEvent, ChatStream, ModelError, ModelErrorKind};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::{Duration, Instant, timeout_at};

use crate::encoding::Unpack;
use crate::failure::{Teller, clip};
use crate::intake::Intake;
use crate::provider::Timeouts;

/// How long the end of a body may take after the end of its answer.
const TAIL: Duration = Duration::from_millis(250);

/// Reads what follows the end of an answer, usually the end of the body in the
/// next packet, so that the connection can serve the next request.
fn release(mut response: Response) {
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
    pub(crate) fn no_first_byte(&self, teller: &Teller) -> ModelError {
        let after = self.timeouts.first_byte.min(self.timeouts.total);
        teller.late("no answer", "first_byte", after)
    }
}

/// An answer while it is read.
pub(crate) struct Reading {
    /// `None` when everything has been read.
    response: Option<Response>,
    content_type: String,
    unpack: Unpack,
    intake: Intake,
    /// Events, and at last the error that followed them, not yet handed out.
    queue: VecDeque<Result<ChatEvent, ModelError>>,
    /// Scratch for the events of a piece.
    events: Vec<ChatEvent>,
    has_bytes: bool,
    done: bool,
    /// When the next bytes have to be there.
    next: Instant,
    /// When the next event of the answer has to be there, however often the provider says
    /// that it is still alive.
    next_event: Instant,
    deadlines: Deadlines,
    teller: Teller,
}

impl Reading {
    /// An answer that has begun with a good status.
    ///
    /// # Errors
    /// It is packed in a way that is not read.
    pub(crate) fn new(
        response: Response,
        intake: Intake,
        deadlines: Deadlines,
        teller: Teller,
    ) -> Result<Self, ModelError> {
        let value = response.headers().get(CONTENT_TYPE);
        let text = value.and_then(|value| value.to_str().ok());
        let unpack = Unpack::of(response.headers()).map_err(|error| teller.tell(error))?;
        Ok(Reading {
            content_type: clip(text.unwrap_or("no content type")).to_owned(),
            response: Some(response),
            unpack,
            intake,
            queue: VecDeque::new(),
            events: Vec::new(),
            has_bytes: false,
            done: false,
            next: deadlines.first_byte,
            next_event: Instant::now() + deadlines.timeouts.silence(),
            deadlines,
            teller,
        })
    }

    /// Waits for the first event; an error that comes in its place is this
    /// function's, so that the request may be made again.
    pub(crate) async fn begin(&mut self) -> Result<(), ModelError> {
        let first = self.next().await.unwrap_or_else(|| Err(self.strange()))?;
        self.queue.push_front(Ok(first));
        Ok(())
    }

    /// The rest of the answer.
    pub(crate) fn into_stream(self) -> ChatStream {
        Box::pin(stream::unfold(self, |mut reading| async {
            let item = reading.next().await?;
            Some((item, reading))
        }))
    }

    /// The next event; `None` after the end or an error.
    async fn next(&mut self) -> Option<Result<ChatEvent, ModelError>> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            let mut response = self.response.take()?;
            match self.advance(&mut response).await {
                Ok(()) if self.done => release(response),
                Ok(()) => self.response = Some(response),
                Err(error) => self.queue.push_back(Err(error)),
            }
        }
    }

    async fn advance(&mut self, response: &mut Response) -> Result<(), ModelError> {
        let wait = self.next.min(self.next_event).min(self.deadlines.total);
        let piece = timeout_at(wait, response.chunk()).await;
        let piece = piece.map_err(|_| self.late())?;
        match piece.map_err(|error| self.teller.broken(error))? {
            Some(piece) => {
                let told = self.intake.told();
                self.take(&piece)?;
                let times = self.deadlines.timeouts;
                let now = Instant::now();
                self.next = now + times.idle;
                if self.intake.told() > told {
                    self.next_event = now + times.silence();
                }
                Ok(())
            }
            None => self.finish(),
        }
    }

    fn late(&self) -> ModelError {
        let times = self.deadlines.timeouts;
        if Instant::now() >= self.deadlines.total {
            return self
                .teller
                .late("the answer was not complete", "total", times.total);
        }
        if !self.has_bytes {
            return self.deadlines.no_first_byte(&self.teller);
        }
        if Instant::now() >= self.next_event {
            let what = "no event of the answer came, only signs of life,";
            return self.teller.late(what, "first_byte", times.silence());
        }
        self.teller.late("nothing more came", "idle", times.idle)
    }

    fn take(&mut self, piece: &Bytes) -> Result<(), ModelError> {
        self.has_bytes |= !piece.is_empty();
        let (intake, events) = (&mut self.intake, &mut self.events);
        let taken = self.unpack.feed(piece, |piece| intake.take(piece, events));
        self.queue.extend(self.events.drain(..).map(Ok));
        self.done = self.intake.is_done();
        taken.map_err(|error| self.teller.tell(error))
    }

    /// The body has ended.
    fn finish(&mut self) -> Result<(), ModelError> {
        let has_begun = self.intake.has_begun() || self.content_type.contains("event-stream");
        let ended = self.intake.end(&mut self.events);
        self.queue.extend(self.events.drain(..).map(Ok));
        self.done = true;
        ended.map_err(|error| match error.kind {
            // What was no answer at all cannot have been cut.
            ModelErrorKind::Cut if !has_begun => self.strange(),
            _ => self.teller.tell(error),
        })
    }

    /// A good status, and nothing in it that a model would say.
    fn strange(&self) -> ModelError {
        let cause = format!(
            "answered without an answer of a model in it ({}); is the base URL right? It looks like {}",
            self.content_type, self.teller.home.base_url
        );
        self.teller.error(ModelErrorKind::Protocol, cause)
    }
}
