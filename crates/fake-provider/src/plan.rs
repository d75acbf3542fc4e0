//! A response as bytes and pauses, including faults.

use std::time::Duration;

use hyper::body::Bytes;

use crate::content_type::json_type;
use crate::fault::{ConnectionEnd, InjectedFault};
use crate::provider_api::ProviderApi;
use crate::request::RecordedRequest;
use crate::turn::ScriptedReply;
use crate::wire::event::{EventKind, StreamEvent};

/// A response: its head and the steps of its body.
#[derive(Debug)]
pub(crate) struct ResponsePlan {
    /// The action before the head.
    pub(crate) before: PreResponseAction,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) steps: Vec<BodyAction>,
    /// The length of the body, if it is known and the body is complete.
    pub(crate) length: Option<u64>,
}

/// An action before the response head.
#[derive(Debug)]
pub(crate) enum PreResponseAction {
    Wait(Duration),
    Hang,
    Reset,
}

/// A step of a response body.
#[derive(Debug)]
pub(crate) enum BodyAction {
    Send(Bytes),
    /// Sends the same bytes this many times.
    Repeat(Bytes, usize),
    Wait(Duration),
    Hang,
    Close,
    Reset,
}

/// The client needs this time to read the sent bytes before a reset discards them.
const BEFORE_RESET: Duration = Duration::from_millis(30);

impl ResponsePlan {
    /// Plans the response to a request.
    pub(crate) fn new(wire: ProviderApi, turn: &ScriptedReply, asked: &RecordedRequest) -> Self {
        match &turn.fault {
            Some(InjectedFault::ResetBeforeHead) => {
                return ResponsePlan::before(PreResponseAction::Reset);
            }
            Some(InjectedFault::SilentBeforeHead) => {
                return ResponsePlan::before(PreResponseAction::Hang);
            }
            Some(InjectedFault::Refuse(refusal)) => {
                let (status, headers, body) = wire.refuse(refusal, asked);
                return ResponsePlan::json(status, headers, body.into()).after(turn);
            }
            _ => {}
        }
        if !asked.streaming || turn.whole {
            let body = wire.whole(turn, asked);
            let headers = vec![json_type()];
            return ResponsePlan::json(200, headers, body.into())
                .broken(turn)
                .after(turn);
        }
        let frames = wire.stream(turn, asked);
        ResponsePlan {
            before: PreResponseAction::Wait(turn.delay),
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            steps: steps(wire, turn, &frames),
            length: None,
        }
        .after(turn)
    }

    /// Creates a response with a body of known length.
    pub(crate) fn json(status: u16, headers: Vec<(String, String)>, body: Bytes) -> Self {
        ResponsePlan {
            before: PreResponseAction::Wait(Duration::ZERO),
            status,
            headers,
            length: Some(body.len() as u64),
            steps: vec![BodyAction::Send(body)],
        }
    }

    fn before(before: PreResponseAction) -> Self {
        ResponsePlan {
            before,
            status: 200,
            headers: Vec::new(),
            steps: Vec::new(),
            length: Some(0),
        }
    }

    /// Adds the headers and the delay of the reply.
    fn after(mut self, turn: &ScriptedReply) -> Self {
        self.before = PreResponseAction::Wait(turn.delay);
        self.headers.extend(turn.headers.iter().cloned());
        self
    }

    /// Cuts a complete response in the middle of its body if the reply has a fault.
    fn broken(mut self, turn: &ScriptedReply) -> Self {
        let Some(BodyAction::Send(body)) = self.steps.first() else {
            return self;
        };
        // A complete JSON body has no events to count, so each fault cuts the body in the middle.
        let half = body.slice(..body.len() / 2);
        let end = match &turn.fault {
            None
            | Some(
                InjectedFault::Drip { .. }
                | InjectedFault::Endless { .. }
                | InjectedFault::LongLine { .. },
            ) => {
                return self;
            }
            Some(InjectedFault::Silent { .. }) => BodyAction::Hang,
            Some(InjectedFault::Cut {
                how: ConnectionEnd::Reset,
                ..
            }) => BodyAction::Reset,
            Some(InjectedFault::Malformed { .. } | InjectedFault::CutInArguments) => {
                self.length = None;
                self.steps = vec![BodyAction::Send(half)];
                return self;
            }
            Some(_) => BodyAction::Close,
        };
        self.steps = vec![BodyAction::Send(half), BodyAction::Wait(BEFORE_RESET), end];
        self
    }
}

fn steps(wire: ProviderApi, turn: &ScriptedReply, frames: &[StreamEvent]) -> Vec<BodyAction> {
    let (before, then) = match &turn.fault {
        Some(InjectedFault::Cut { after, how }) => (place(frames, *after), ending(*how)),
        Some(InjectedFault::CutInArguments) => half_arguments(frames),
        Some(InjectedFault::Malformed { after }) => {
            let at = place(frames, *after);
            let mut rest = vec![BodyAction::Send(Bytes::from_static(
                b"data: {\"oops\": \n\n",
            ))];
            rest.extend(paced(turn, &frames[at..]));
            (at, rest)
        }
        Some(InjectedFault::ErrorEvent { after }) => {
            let at = place(frames, *after);
            (at, vec![BodyAction::Send(wire.error_event(at).into())])
        }
        Some(InjectedFault::Silent { after }) => (place(frames, *after), vec![BodyAction::Hang]),
        Some(InjectedFault::Drip { bytes, pause }) => (0, drip(frames, (*bytes).max(1), *pause)),
        Some(InjectedFault::Endless { bytes }) => (place(frames, 1), endless(frames, *bytes)),
        Some(InjectedFault::LongLine { bytes }) => (0, long_line(*bytes)),
        _ => (frames.len(), Vec::new()),
    };
    let mut steps = paced(turn, &frames[..before]);
    steps.extend(then);
    steps
}

/// Returns the steps for these events, with the pause of the reply before each delta.
fn paced(turn: &ScriptedReply, frames: &[StreamEvent]) -> Vec<BodyAction> {
    let mut steps = Vec::with_capacity(frames.len());
    for frame in frames {
        if frame.mark != EventKind::Other && !turn.pause.is_zero() {
            steps.push(BodyAction::Wait(turn.pause));
        }
        steps.push(BodyAction::Send(frame.bytes.clone()));
    }
    steps
}

fn ending(how: ConnectionEnd) -> Vec<BodyAction> {
    match how {
        ConnectionEnd::Whole => Vec::new(),
        ConnectionEnd::Closed => vec![BodyAction::Wait(BEFORE_RESET), BodyAction::Close],
        ConnectionEnd::Reset => vec![BodyAction::Wait(BEFORE_RESET), BodyAction::Reset],
    }
}

/// Returns the index of the event with the last part of the first arguments, and the steps up to
/// the middle of that event.
fn half_arguments(frames: &[StreamEvent]) -> (usize, Vec<BodyAction>) {
    let is_last = |frame: &StreamEvent| frame.mark == EventKind::LastArguments;
    let last = frames.iter().position(is_last).unwrap_or(frames.len() - 1);
    let bytes = &frames[last].bytes;
    (last, vec![BodyAction::Send(bytes.slice(..inside(bytes)))])
}

fn long_line(bytes: usize) -> Vec<BodyAction> {
    let part = Bytes::from_static(&[b'x'; 1 << 16]);
    let begin = BodyAction::Send(Bytes::from_static(b"data: "));
    vec![begin, BodyAction::Repeat(part, bytes.div_ceil(1 << 16))]
}

/// Returns an offset inside the arguments of an event. Gemini's event contains more than them.
fn inside(frame: &[u8]) -> usize {
    const OPENING: &[u8] = b"\"args\":{";
    let opening = frame
        .windows(OPENING.len())
        .position(|part| part == OPENING);
    opening.map_or(frame.len() / 2, |at| at + OPENING.len())
}

/// Returns the index of the event after this many deltas.
fn place(frames: &[StreamEvent], after: usize) -> usize {
    if after == 0 {
        return 0;
    }
    let mut deltas = frames
        .iter()
        .enumerate()
        .filter(|(_, frame)| frame.mark != EventKind::Other);
    let last = deltas.nth(after - 1);
    last.map_or(frames.len(), |(index, _)| index + 1)
}

fn drip(frames: &[StreamEvent], size: usize, pause: Duration) -> Vec<BodyAction> {
    let all: Vec<u8> = frames
        .iter()
        .flat_map(|frame| frame.bytes.to_vec())
        .collect();
    let pieces = all.chunks(size).map(Bytes::copy_from_slice);
    pieces
        .flat_map(|piece| [BodyAction::Send(piece), BodyAction::Wait(pause)])
        .collect()
}

/// Repeats the first delta.
fn endless(frames: &[StreamEvent], bytes: usize) -> Vec<BodyAction> {
    let Some(delta) = place(frames, 1).checked_sub(1).map(|at| &frames[at].bytes) else {
        return Vec::new();
    };
    let many = delta.repeat((1 << 16) / delta.len() + 1);
    let times = bytes.div_ceil(many.len());
    vec![BodyAction::Repeat(many.into(), times)]
}
