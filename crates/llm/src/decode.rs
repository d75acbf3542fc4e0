//! Decodes the bytes of one answer into events, for every provider API. Detects whether the body is
//! a stream or one object, splits it into frames, feeds the decoder and enforces size limits. The
//! module performs no I/O, so recorded answers are decoded exactly like live ones.

use quillet_core::chat::{ChatEvent, ModelError, ModelErrorKind, PassthroughState};
use quillet_core::sse::{SseDecoder, SseEvent, TooLong};

use crate::protocol::{Decoder, PassthroughCheck};

/// Size limits of an answer, in bytes.
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
    /// Maximum length of a line in a stream. Default 4 MiB.
    pub line_bytes: usize,
    /// Maximum length of an event in a stream. Default 8 MiB.
    pub event_bytes: usize,
    /// Maximum length of an unstreamed answer. Default 16 MiB.
    pub body_bytes: usize,
    /// Maximum total length of a stream. Default 64 MiB.
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

/// Decoder of the body. The first byte selects it, not the content type.
enum BodyDecoder {
    Unknown,
    Stream(SseDecoder),
    Whole(Vec<u8>),
}

/// Decoder for the bytes of one answer.
pub struct ResponseDecoder {
    decoder: Box<dyn Decoder>,
    limits: AnswerLimits,
    body: BodyDecoder,
    taken: usize,
    frames: usize,
    /// Frames with content, without pings.
    telling: usize,
    passing: PassthroughMode,
    /// Whether a chunk that contains only the usage is passed through as well.
    tells_usage: bool,
}

/// Whether chunks are checked for pass-through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PassthroughMode {
    No,
    /// Pass-through is possible, and nothing has been passed through yet.
    Ready,
    /// Pass-through is active.
    Begun,
}

/// Result of decoding some bytes of an answer. The bytes to pass through precede the events.
#[derive(Debug, Default)]
pub(crate) struct DecodedChunk {
    /// Bytes to pass through unchanged.
    pub(crate) words: Vec<u8>,
    /// State of the passed-through part, set when events follow it.
    pub(crate) turn: Option<PassthroughState>,
    pub(crate) events: Vec<ChatEvent>,
}

/// Reason to stop decoding.
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
    /// Creates a decoder for one answer.
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

    /// Enables pass-through of the provider's own bytes, including the usage if the client
    /// requested it.
    pub(crate) fn with_passthrough(self, usage: bool) -> Self {
        ResponseDecoder {
            passing: PassthroughMode::Ready,
            tells_usage: usage,
            ..self
        }
    }

    /// Whether the answer is complete, so the remaining bytes can be ignored.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.decoder.is_done()
    }

    /// Whether any part of a model's answer has arrived.
    pub(crate) fn has_begun(&self) -> bool {
        self.frames > 0 || matches!(self.body, BodyDecoder::Whole(_))
    }

    /// Number of events in the answer so far. Comments and pings that keep the connection open are
    /// not counted.
    pub(crate) fn event_count(&self) -> usize {
        self.telling
    }

    /// Decodes the next bytes, split anywhere. Events that precede an error are in `events`.
    ///
    /// # Errors
    /// The decoder's error, or [`ModelErrorKind::Protocol`] if a size limit is exceeded.
    pub fn take(&mut self, piece: &[u8], events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        self.all_events(events, |intake, told| intake.read(piece, told))
    }

    /// Decodes everything into events, without pass-through.
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

    /// Decodes the next bytes for a client that accepts pass-through.
    pub(crate) fn read(
        &mut self,
        mut piece: &[u8],
        told: &mut DecodedChunk,
    ) -> Result<(), ModelError> {
        self.taken = self.taken.saturating_add(piece.len());
        if let BodyDecoder::Unknown = self.body {
            // Leading white space is ignored, however the bytes are split.
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

    /// Processes the end of the body.
    ///
    /// # Errors
    /// [`ModelErrorKind::Cut`] if the answer is incomplete.
    pub fn end(&mut self, events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        self.all_events(events, Self::finish)
    }

    /// Ends the body for a client that accepts pass-through.
    pub(crate) fn finish(&mut self, told: &mut DecodedChunk) -> Result<(), ModelError> {
        match std::mem::replace(&mut self.body, BodyDecoder::Unknown) {
            BodyDecoder::Unknown => {}
            BodyDecoder::Whole(body) => {
                // A body is passed through only as a whole, so nothing may have been passed through
                // before.
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
                // An incomplete event at the end means truncation, not an invalid event.
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
                // Invalid data after the end of the answer is ignored.
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

/// Destination of the frames.
struct FrameSink<'a> {
    decoder: &'a mut dyn Decoder,
    count: &'a mut usize,
    passing: &'a mut PassthroughMode,
    tells_usage: bool,
}

impl FrameSink<'_> {
    /// Returns whether the frame was passed through or is a ping. The first other frame ends
    /// pass-through permanently, so passed-through bytes always precede events.
    fn pass(&mut self, frame: &SseEvent<'_>, told: &mut DecodedChunk) -> bool {
        if *self.passing == PassthroughMode::No {
            return false;
        }
        match self.decoder.pass(frame.name, frame.data) {
            PassthroughCheck::No => return false,
            PassthroughCheck::Usage if !self.tells_usage => {}
            PassthroughCheck::Yes | PassthroughCheck::Usage => {
                *self.passing = PassthroughMode::Begun;
                // The event is written again as one `data:` line, because the original framing
                // (comments, CRLF) is not part of the API.
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
            // Pass-through is never enabled again, because the format of the client's events would
            // change in the middle of an answer.
            *self.passing = PassthroughMode::No;
        }
        let read = self.decoder.event(frame.name, frame.data, &mut told.events);
        read.map_err(DecodeError::Failed)
    }
}

/// Whether an event is only a keep-alive: Anthropic's `ping`, OpenAI's `keepalive`, or the `null`
/// that some gateways send.
fn is_ping(frame: &SseEvent<'_>) -> bool {
    // A ping has an event name, or the body `{"type": "ping"}` with at most an additional number.
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
