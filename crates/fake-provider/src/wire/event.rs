//! Events of a streamed response, as every provider API writes them.

use hyper::body::Bytes;
use serde_json::Value;

/// When every answer was made, in seconds since 1970.
pub(super) const CREATED: u64 = 1_760_000_001;

/// One event of a stream, as bytes.
#[derive(Debug)]
pub(crate) struct StreamEvent {
    pub(crate) bytes: Bytes,
    pub(crate) mark: EventKind,
}

/// What an event brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A piece of text, of reasoning, of arguments.
    Delta,
    /// The last piece of a call's arguments.
    LastArguments,
    /// None of these.
    Other,
}

impl StreamEvent {
    /// `data:` alone.
    pub(super) fn data(mark: EventKind, data: &Value) -> Self {
        StreamEvent {
            bytes: format!("data: {data}\n\n").into(),
            mark,
        }
    }

    /// `event:` and `data:`; the name is the data's type.
    pub(super) fn typed(mark: EventKind, data: &Value) -> Self {
        let name = data["type"].as_str().unwrap_or_default();
        StreamEvent {
            bytes: format!("event: {name}\ndata: {data}\n\n").into(),
            mark,
        }
    }
}

/// The mark of one of so many pieces of arguments.
pub(super) fn arguments_mark(index: usize, of: usize) -> EventKind {
    if index + 1 == of {
        EventKind::LastArguments
    } else {
        EventKind::Delta
    }
}
