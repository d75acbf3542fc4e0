//! Events of a streamed response, as every provider API writes them.

use hyper::body::Bytes;
use serde_json::Value;

/// The creation time of every response, in seconds since 1970.
pub(super) const CREATED: u64 = 1_760_000_001;

/// The bytes and kind of an event in a stream.
#[derive(Debug)]
pub(crate) struct StreamEvent {
    pub(crate) bytes: Bytes,
    pub(crate) mark: EventKind,
}

/// The content of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A part of text, reasoning or arguments.
    Delta,
    /// The last part of a call's arguments.
    LastArguments,
    /// Any other event.
    Other,
}

impl StreamEvent {
    /// Creates an event with only a `data:` line.
    pub(super) fn data(mark: EventKind, data: &Value) -> Self {
        StreamEvent {
            bytes: format!("data: {data}\n\n").into(),
            mark,
        }
    }

    /// Creates an event with `event:` and `data:` lines. Its name is the `type` of the data.
    pub(super) fn typed(mark: EventKind, data: &Value) -> Self {
        let name = data["type"].as_str().unwrap_or_default();
        StreamEvent {
            bytes: format!("event: {name}\ndata: {data}\n\n").into(),
            mark,
        }
    }
}

/// Returns the kind of the event with this part of the arguments.
pub(super) fn arguments_mark(index: usize, of: usize) -> EventKind {
    if index + 1 == of {
        EventKind::LastArguments
    } else {
        EventKind::Delta
    }
}
