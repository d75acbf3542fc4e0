//! Injected faults.

use std::time::Duration;

/// A fault of a response. `after` counts deltas, which are parts of text, reasoning or arguments,
/// sent before the fault. Gemini's last event contains both the last delta and the end, so a cut
/// after the last delta has no effect there.
#[derive(Clone, Debug, PartialEq)]
pub enum InjectedFault {
    /// An error response in the format of the provider API.
    Refuse(ErrorResponse),
    /// A connection reset before the response head.
    ResetBeforeHead,
    /// No bytes at all, until the client disconnects.
    SilentBeforeHead,
    /// A response that ends early.
    Cut {
        /// The number of deltas sent before the fault.
        after: usize,
        /// How the connection ends.
        how: ConnectionEnd,
    },
    /// A response that ends inside the event with the last part of the first call's arguments.
    CutInArguments,
    /// An event with invalid JSON, followed by the remaining response.
    Malformed {
        /// The number of deltas sent before the fault.
        after: usize,
    },
    /// An error event of the provider API (`overloaded`), followed by the end of the body.
    ErrorEvent {
        /// The number of deltas sent before the fault.
        after: usize,
    },
    /// A stream that pauses until the client disconnects.
    Silent {
        /// The number of deltas sent before the fault.
        after: usize,
    },
    /// A response in small chunks with a pause after each.
    Drip {
        /// Bytes per chunk.
        bytes: usize,
        /// The pause after each chunk.
        pause: Duration,
    },
    /// The first delta repeated up to a total size, 100 MB by default.
    Endless {
        /// The total size in bytes.
        bytes: usize,
    },
    /// One line without an end.
    LongLine {
        /// The total size in bytes.
        bytes: usize,
    },
}

impl InjectedFault {
    /// Returns a fault that ends the response after `after` deltas. The HTTP body looks complete.
    #[must_use]
    pub fn cut(after: usize) -> Self {
        InjectedFault::Cut {
            after,
            how: ConnectionEnd::Whole,
        }
    }

    /// Creates a fault that resets the connection after this many deltas, or after the head if
    /// `after` is 0.
    #[must_use]
    pub fn reset(after: usize) -> Self {
        InjectedFault::Cut {
            after,
            how: ConnectionEnd::Reset,
        }
    }

    /// Creates a fault that repeats the first delta up to a total of 100 MB.
    #[must_use]
    pub fn endless() -> Self {
        InjectedFault::Endless { bytes: 100 << 20 }
    }
}

/// How a connection ends in the middle of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// A complete HTTP body, like that of a proxy that hides the loss of its upstream.
    Whole,
    /// The connection closes inside the HTTP body.
    Closed,
    /// The connection is reset.
    Reset,
}

/// An error response, in the format of each provider API.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorResponse {
    /// Rate limit: 429. The delay is in `Retry-After`, and for Gemini in `RetryInfo` of the body.
    RateLimited(Option<Duration>),
    /// Exhausted quota: 429, for Anthropic 402.
    Quota,
    /// Internal error: 500.
    Server,
    /// Overload: 529 for Anthropic, 503 for the others.
    Overloaded,
    /// Invalid API key: 401, for Gemini 400. OpenAI repeats the key in its message.
    Auth,
    /// Missing permission: 403.
    Forbidden,
    /// Unknown model: 404.
    NotFound,
    /// Conversation above the context length: 400.
    ContextLength,
    /// Any other invalid request: 400.
    Invalid,
    /// The HTML error page of a proxy: 502.
    Html,
    /// A custom response.
    Other {
        /// HTTP status.
        status: u16,
        /// Content type of the body.
        content_type: String,
        /// The body.
        body: String,
    },
}

impl ErrorResponse {
    /// Returns the usual error response for a status.
    #[must_use]
    pub fn of_status(status: u16) -> Self {
        match status {
            400 => ErrorResponse::Invalid,
            401 => ErrorResponse::Auth,
            402 => ErrorResponse::Quota,
            403 => ErrorResponse::Forbidden,
            404 => ErrorResponse::NotFound,
            429 => ErrorResponse::RateLimited(Some(Duration::from_secs(1))),
            500 => ErrorResponse::Server,
            502 => ErrorResponse::Html,
            503 | 529 => ErrorResponse::Overloaded,
            _ => ErrorResponse::Other {
                status,
                content_type: "text/plain".to_owned(),
                body: format!("the script says {status}"),
            },
        }
    }
}
