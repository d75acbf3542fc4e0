//! From the bytes of one answer to its events, for every wire: finds out whether
//! the body is a stream or one object, frames it, feeds the wire's decoder and
//! holds the bounds. Pure: where the bytes come from is not its business, so
//! recorded answers go the same way as live ones.

use quillet_core::chat::{ChatEvent, ModelError, ModelErrorKind, PassthroughState};
use quillet_core::sse::{SseDecoder, SseEvent, TooLong};

use crate::protocol::{Decoder, PassthroughCheck};

/// Bounds on an answer, in bytes.
///
/// # Examples
///
/// ```
/// use quillet_core::chat::ModelErrorKind;
/// use quillet_llm::{AnswerLimits, OpenAiChat, Protocol, ResponseDecoder};
///
/// let limits = AnswerLimits { body_bytes: 8, ..AnswerLimits::default() };
/// let mut decoder = ResponseDecoder::new(OpenAiChat::default().decoder("gpt-4o"), limits);
/// let error = decoder.take(br#"{"id": "too long"}"#, &mut Vec::new()).unwrap_err();
/// assert_eq!(error.kind, ModelErrorKind::Protocol);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLimits {
    /// One line of a stream. Default 4 MiB.
    pub line_bytes: usize,
    /// One event of a stream. Default 8 MiB.
    pub event_bytes: usize,
    /// An answer that is not a stream. Default 16 MiB.
    pub body_bytes: usize,
    /// Everything that a stream sends. Default 64 MiB.
    pub stream_bytes: usize,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        AnswerLimits {
            line_bytes: 4 << 20,
            event_bytes: 8 << 20,
            body_bytes: 16 << 20,
            stream_bytes: 64 << 20,
        }
    }
}

impl AnswerLimits {
    fn passed(&self, bound: TooLong) -> ModelError {
        match bound {
            TooLong::Line => too_long("line_bytes", self.line_bytes),
            TooLong::Event => too_long("event_bytes", self.event_bytes),
        }
    }
}

/// How a body is read. Its first byte decides, whatever the content type says.
enum BodyDecoder {
    Unknown,
    Stream(SseDecoder),
    Whole(Vec<u8>),
}

/// One answer while its bytes come.
pub struct ResponseDecoder {
    decoder: Box<dyn Decoder>,
    limits: AnswerLimits,
    body: BodyDecoder,
    taken: usize,
    frames: usize,
    /// Frames that say something: no sign of life alone.
    telling: usize,
    passing: PassthroughMode,
    /// Whether a piece that only reports usage is passed on too.
    tells_usage: bool,
}

/// Whether what comes is searched for pieces that can be passed on as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PassthroughMode {
    No,
    /// It is; nothing has been passed on yet.
    Ready,
    /// It is; something has been passed on.
    Begun,
}

/// What some bytes of an answer say: words come before events.
#[derive(Debug, Default)]
pub(crate) struct DecodedChunk {
    /// What can be passed on as it is.
    pub(crate) words: Vec<u8>,
    /// What has been passed on as bytes, where events follow.
    pub(crate) turn: Option<PassthroughState>,
    pub(crate) events: Vec<ChatEvent>,
}

/// What can end the reading of a piece.
enum DecodeError {
    Long(TooLong),
    Failed(ModelError),
}

impl From<TooLong> for DecodeError {
    fn from(bound: TooLong) -> Self {
        DecodeError::Long(bound)
    }
}

impl ResponseDecoder {
    /// Reads one answer with this decoder.
    #[must_use]
    pub fn new(decoder: Box<dyn Decoder>, limits: AnswerLimits) -> Self {
        ResponseDecoder {
            decoder,
            limits,
            body: BodyDecoder::Unknown,
            taken: 0,
            frames: 0,
            telling: 0,
            passing: PassthroughMode::No,
            tells_usage: false,
        }
    }

    /// The same for a client that may get the provider's own bytes, and the usage if it asks for
    /// it.
    pub(crate) fn with_passthrough(self, usage: bool) -> Self {
        ResponseDecoder {
            passing: PassthroughMode::Ready,
            tells_usage: usage,
            ..self
        }
    }

    /// Whether the answer is complete, so that what follows need not be waited for.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.decoder.is_done()
    }

    /// Whether anything has come that looks like an answer of a model.
    pub(crate) fn has_begun(&self) -> bool {
        self.frames > 0 || matches!(self.body, BodyDecoder::Whole(_))
    }

    /// How many events of the answer have come. Comments and pings, with which providers keep
    /// a connection open, are none.
    pub(crate) fn event_count(&self) -> usize {
        self.telling
    }

    /// The next bytes, cut anywhere. Events that came before an error are in `events`.
    ///
    /// # Errors
    /// What the decoder says, or a bound that is passed ([`ModelErrorKind::Protocol`]).
    pub fn take(&mut self, piece: &[u8], events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        self.all_events(events, |intake, told| intake.read(piece, told))
    }

    /// Reads where nobody asks for words.
    fn all_events(
        &mut self,
        events: &mut Vec<ChatEvent>,
        read: impl FnOnce(&mut Self, &mut DecodedChunk) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        let mut told = DecodedChunk {
            events: std::mem::take(events),
            ..DecodedChunk::default()
        };
        let done = read(self, &mut told);
        *events = told.events;
        done
    }

    /// The next bytes, for a client that may get them as they are.
    pub(crate) fn read(
        &mut self,
        mut piece: &[u8],
        told: &mut DecodedChunk,
    ) -> Result<(), ModelError> {
        self.taken = self.taken.saturating_add(piece.len());
        if let BodyDecoder::Unknown = self.body {
            // White space before everything is nothing, however it is cut.
            piece = piece.trim_ascii_start();
            let Some(first) = piece.first() else {
                return Ok(());
            };
            // Some servers send JSON errors as `text/event-stream` and streams as
            // `application/json`, so the first byte decides. No SSE line starts with a brace.
            self.body = match first {
                b'{' | b'[' => BodyDecoder::Whole(Vec::new()),
                _ => BodyDecoder::Stream(SseDecoder::new(
                    self.limits.line_bytes,
                    self.limits.event_bytes,
                )),
            };
        }
        match &mut self.body {
            BodyDecoder::Unknown => Ok(()),
            // Checked before the bytes are stored, so the limit bounds memory.
            BodyDecoder::Whole(_) if self.taken > self.limits.body_bytes => {
                Err(too_long("body_bytes", self.limits.body_bytes))
            }
            BodyDecoder::Stream(_) if self.taken > self.limits.stream_bytes => {
                Err(too_long("stream_bytes", self.limits.stream_bytes))
            }
            BodyDecoder::Whole(body) => {
                body.extend_from_slice(piece);
                Ok(())
            }
            BodyDecoder::Stream(frames) => {
                let mut reader = FrameSink {
                    decoder: &mut *self.decoder,
                    count: &mut self.frames,
                    passing: &mut self.passing,
                    tells_usage: self.tells_usage,
                };
                let telling = &mut self.telling;
                let fed = frames.feed(piece, &mut |frame| {
                    if reader.pass(&frame, told) {
                        *telling += 1;
                        Ok(())
                    } else {
                        *telling += usize::from(!is_ping(&frame));
                        reader.decode(frame, told)
                    }
                });
                self.limit_error(fed)
            }
        }
    }

    /// The body has ended.
    ///
    /// # Errors
    /// [`ModelErrorKind::Cut`] if the answer has not.
    pub fn end(&mut self, events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        self.all_events(events, Self::finish)
    }

    /// The body has ended, for a client that may get bytes as they are.
    pub(crate) fn finish(&mut self, told: &mut DecodedChunk) -> Result<(), ModelError> {
        match std::mem::replace(&mut self.body, BodyDecoder::Unknown) {
            BodyDecoder::Unknown => {}
            BodyDecoder::Whole(body) => {
                // Only if nothing was sent as bytes yet: a body is one unit.
                if self.passing == PassthroughMode::Ready && self.decoder.accept_whole(&body) {
                    told.words = body;
                    return Ok(());
                }
                self.decoder.decode_body(&body, &mut told.events)?;
            }
            BodyDecoder::Stream(mut frames) => {
                let mut reader = FrameSink {
                    decoder: &mut *self.decoder,
                    count: &mut self.frames,
                    passing: &mut self.passing,
                    tells_usage: self.tells_usage,
                };
                // Half an event at the end is a cut, not a bad event.
                let mut is_cut = false;
                let read = frames.finish(&mut |frame| {
                    if is_whole(frame.data) {
                        if reader.pass(&frame, told) {
                            Ok(())
                        } else {
                            reader.decode(frame, told)
                        }
                    } else {
                        // A truncated `[DONE]` loses nothing: the answer before it is complete.
                        is_cut = !b"[DONE]".starts_with(frame.data.trim_ascii());
                        Ok(())
                    }
                });
                self.limit_error(read)?;
                // Trailing garbage after the end of the answer is ignored.
                if is_cut && !self.decoder.is_done() {
                    let cause = "the answer is incomplete: it ended in the middle of an event";
                    return Err(ModelError::new(ModelErrorKind::Cut, cause));
                }
            }
        }
        self.decoder.end(&mut told.events)
    }

    fn limit_error(&self, read: Result<(), DecodeError>) -> Result<(), ModelError> {
        read.map_err(|stop| match stop {
            DecodeError::Long(bound) => self.limits.passed(bound),
            DecodeError::Failed(error) => error,
        })
    }
}

impl std::fmt::Debug for ResponseDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Intake")
            .field("limits", &self.limits)
            .field("taken", &self.taken)
            .finish_non_exhaustive()
    }
}

/// What frames go to.
struct FrameSink<'a> {
    decoder: &'a mut dyn Decoder,
    count: &'a mut usize,
    passing: &'a mut PassthroughMode,
    tells_usage: bool,
}

impl FrameSink<'_> {
    /// Whether a frame was passed on as it is, or needs no passing on. The first one that cannot be
    /// ends that for good, so that words always come before events.
    fn pass(&mut self, frame: &SseEvent<'_>, told: &mut DecodedChunk) -> bool {
        if *self.passing == PassthroughMode::No {
            return false;
        }
        match self.decoder.pass(frame.name, frame.data) {
            PassthroughCheck::No => return false,
            PassthroughCheck::Usage if !self.tells_usage => {}
            PassthroughCheck::Yes | PassthroughCheck::Usage => {
                *self.passing = PassthroughMode::Begun;
                // Written again as one `data:` line: the original framing (comments, CRLF) is not
                // part of the API.
                told.words.reserve(frame.data.len() + "data: \n\n".len());
                told.words.extend_from_slice(b"data: ");
                told.words.extend_from_slice(frame.data);
                told.words.extend_from_slice(b"\n\n");
            }
        }
        *self.count += 1;
        true
    }

    fn decode(&mut self, frame: SseEvent<'_>, told: &mut DecodedChunk) -> Result<(), DecodeError> {
        *self.count += 1;
        if self.decoder.is_done() {
            return Ok(());
        }
        // A ping is dropped and does not end pass-through.
        if !is_ping(&frame) {
            if *self.passing == PassthroughMode::Begun {
                told.turn = Some(self.decoder.passthrough_state());
            }
            // Never switched back: the client's events would change their format in the middle of
            // an answer.
            *self.passing = PassthroughMode::No;
        }
        let read = self.decoder.event(frame.name, frame.data, &mut told.events);
        read.map_err(DecodeError::Failed)
    }
}

/// Whether an event only says that the provider is still there: Anthropic's `ping`, OpenAI's
/// `keepalive`, the `null` of some gateways.
fn is_ping(frame: &SseEvent<'_>) -> bool {
    // By name, or `{"type": "ping"}` with a number at most.
    const MOST: usize = 64;
    let data = frame.data.trim_ascii();
    matches!(frame.name, Some("ping" | "keepalive"))
        || data == b"null"
        || (data.len() <= MOST
            && [&b"\"ping\""[..], b"\"keepalive\""]
                .iter()
                .any(|word| data.windows(word.len()).any(|seen| seen == *word)))
}

fn is_whole(data: &[u8]) -> bool {
    data.trim_ascii() == b"[DONE]" || serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok()
}

fn too_long(limit: &str, bytes: usize) -> ModelError {
    ModelError::new(
        ModelErrorKind::Protocol,
        format!("the answer exceeds the limit {limit} ({bytes} bytes)"),
    )
}
