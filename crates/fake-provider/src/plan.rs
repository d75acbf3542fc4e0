//! An answer as bytes and pauses: what a wire's frames become, faults included.

use std::time::Duration;

use hyper::body::Bytes;

use crate::asked::Asked;
use crate::fault::{Ending, Fault};
use crate::turn::Turn;
use crate::wire::{Frame, Mark, Wire};

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What comes before the head.
    pub(crate) before: Before,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) steps: Vec<Step>,
    /// The body's length, if it is known and whole.
    pub(crate) length: Option<u64>,
}

/// What comes before the head of an answer.
#[derive(Debug)]
pub(crate) enum Before {
    Wait(Duration),
    Hang,
    Reset,
}

/// What is done in the body of an answer.
#[derive(Debug)]
pub(crate) enum Step {
    Send(Bytes),
    /// The same bytes, this many times.
    Repeat(Bytes, usize),
    Wait(Duration),
    Hang,
    Close,
    Reset,
}

/// Long enough for what was written to be read before a reset takes it away.
const BEFORE_RESET: Duration = Duration::from_millis(30);

impl Plan {
    /// The answer of this turn to this request.
    pub(crate) fn new(wire: Wire, turn: &Turn, asked: &Asked) -> Self {
        match &turn.fault {
            Some(Fault::ResetBeforeHead) => return Plan::before(Before::Reset),
            Some(Fault::SilentBeforeHead) => return Plan::before(Before::Hang),
            Some(Fault::Refuse(refusal)) => {
                let (status, headers, body) = wire.refuse(refusal, asked);
                return Plan::json(status, headers, body.into()).after(turn);
            }
            _ => {}
        }
        if !asked.streaming || turn.whole {
            let body = wire.whole(turn, asked);
            let headers = vec![json_type()];
            return Plan::json(200, headers, body.into())
                .broken(turn)
                .after(turn);
        }
        let frames = wire.stream(turn, asked);
        Plan {
            before: Before::Wait(turn.delay),
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            steps: steps(wire, turn, &frames),
            length: None,
        }
        .after(turn)
    }

    /// A body of known length.
    pub(crate) fn json(status: u16, headers: Vec<(String, String)>, body: Bytes) -> Self {
        Plan {
            before: Before::Wait(Duration::ZERO),
            status,
            headers,
            length: Some(body.len() as u64),
            steps: vec![Step::Send(body)],
        }
    }

    fn before(before: Before) -> Self {
        Plan {
            before,
            status: 200,
            headers: Vec::new(),
            steps: Vec::new(),
            length: Some(0),
        }
    }

    /// With the turn's headers and delay.
    fn after(mut self, turn: &Turn) -> Self {
        self.before = Before::Wait(turn.delay);
        self.headers.extend(turn.headers.iter().cloned());
        self
    }

    /// A whole answer whose turn has a fault breaks off in the middle of its body.
    fn broken(mut self, turn: &Turn) -> Self {
        let Some(Step::Send(body)) = self.steps.first() else {
            return self;
        };
        let half = body.slice(..body.len() / 2);
        let end = match &turn.fault {
            None | Some(Fault::Drip { .. } | Fault::Endless { .. } | Fault::LongLine { .. }) => {
                return self;
            }
            Some(Fault::Silent { .. }) => Step::Hang,
            Some(Fault::Cut {
                how: Ending::Reset, ..
            }) => Step::Reset,
            Some(Fault::Malformed { .. } | Fault::CutInArguments) => {
                self.length = None;
                self.steps = vec![Step::Send(half)];
                return self;
            }
            Some(_) => Step::Close,
        };
        self.steps = vec![Step::Send(half), Step::Wait(BEFORE_RESET), end];
        self
    }
}

pub(crate) fn json_type() -> (String, String) {
    ("content-type".to_owned(), "application/json".to_owned())
}

fn steps(wire: Wire, turn: &Turn, frames: &[Frame]) -> Vec<Step> {
    let (before, then) = match &turn.fault {
        Some(Fault::Cut { after, how }) => (place(frames, *after), ending(*how)),
        Some(Fault::CutInArguments) => half_arguments(frames),
        Some(Fault::Malformed { after }) => {
            let at = place(frames, *after);
            let mut rest = vec![Step::Send(Bytes::from_static(b"data: {\"oops\": \n\n"))];
            rest.extend(paced(turn, &frames[at..]));
            (at, rest)
        }
        Some(Fault::ErrorEvent { after }) => {
            let at = place(frames, *after);
            (at, vec![Step::Send(wire.error_event(at).into())])
        }
        Some(Fault::Silent { after }) => (place(frames, *after), vec![Step::Hang]),
        Some(Fault::Drip { bytes, pause }) => (0, drip(frames, (*bytes).max(1), *pause)),
        Some(Fault::Endless { bytes }) => (place(frames, 1), endless(frames, *bytes)),
        Some(Fault::LongLine { bytes }) => (0, long_line(*bytes)),
        _ => (frames.len(), Vec::new()),
    };
    let mut steps = paced(turn, &frames[..before]);
    steps.extend(then);
    steps
}

/// These frames, with the turn's pause before each delta.
fn paced(turn: &Turn, frames: &[Frame]) -> Vec<Step> {
    let mut steps = Vec::with_capacity(frames.len());
    for frame in frames {
        if frame.mark != Mark::Other && !turn.pause.is_zero() {
            steps.push(Step::Wait(turn.pause));
        }
        steps.push(Step::Send(frame.bytes.clone()));
    }
    steps
}

fn ending(how: Ending) -> Vec<Step> {
    match how {
        Ending::Whole => Vec::new(),
        Ending::Closed => vec![Step::Wait(BEFORE_RESET), Step::Close],
        Ending::Reset => vec![Step::Wait(BEFORE_RESET), Step::Reset],
    }
}

/// The frame with the last piece of the first arguments, and its first half.
fn half_arguments(frames: &[Frame]) -> (usize, Vec<Step>) {
    let is_last = |frame: &Frame| frame.mark == Mark::LastArguments;
    let last = frames.iter().position(is_last).unwrap_or(frames.len() - 1);
    let bytes = &frames[last].bytes;
    (last, vec![Step::Send(bytes.slice(..inside(bytes)))])
}

fn long_line(bytes: usize) -> Vec<Step> {
    let part = Bytes::from_static(&[b'x'; 1 << 16]);
    let begin = Step::Send(Bytes::from_static(b"data: "));
    vec![begin, Step::Repeat(part, bytes.div_ceil(1 << 16))]
}

/// A place inside the arguments that a frame holds: Gemini's frame holds more.
fn inside(frame: &[u8]) -> usize {
    const OPENING: &[u8] = b"\"args\":{";
    let opening = frame
        .windows(OPENING.len())
        .position(|part| part == OPENING);
    opening.map_or(frame.len() / 2, |at| at + OPENING.len())
}

/// The frame that follows so many deltas.
fn place(frames: &[Frame], after: usize) -> usize {
    if after == 0 {
        return 0;
    }
    let mut deltas = frames
        .iter()
        .enumerate()
        .filter(|(_, frame)| frame.mark != Mark::Other);
    let last = deltas.nth(after - 1);
    last.map_or(frames.len(), |(index, _)| index + 1)
}

fn drip(frames: &[Frame], size: usize, pause: Duration) -> Vec<Step> {
    let all: Vec<u8> = frames
        .iter()
        .flat_map(|frame| frame.bytes.to_vec())
        .collect();
    let pieces = all.chunks(size).map(Bytes::copy_from_slice);
    pieces
        .flat_map(|piece| [Step::Send(piece), Step::Wait(pause)])
        .collect()
}

/// The first delta again and again.
fn endless(frames: &[Frame], bytes: usize) -> Vec<Step> {
    let Some(delta) = place(frames, 1).checked_sub(1).map(|at| &frames[at].bytes) else {
        return Vec::new();
    };
    let many = delta.repeat((1 << 16) / delta.len() + 1);
    let times = bytes.div_ceil(many.len());
    vec![Step::Repeat(many.into(), times)]
}
