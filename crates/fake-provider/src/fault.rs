//! What can go wrong.

use std::time::Duration;

/// What goes wrong with an answer. `after` counts deltas: pieces of text, of
/// reasoning and of arguments that are written before it happens. Gemini's last event
/// holds its last delta and its end, so a cut after the last delta is none there.
#[derive(Clone, Debug, PartialEq)]
pub enum InjectedFault {
    /// The provider refuses, in its wire's own words.
    Refuse(ErrorResponse),
    /// The connection is reset before the head of an answer.
    ResetBeforeHead,
    /// Nothing is said, not even a head, until the client leaves.
    SilentBeforeHead,
    /// The answer breaks off.
    Cut {
        /// Deltas before it.
        after: usize,
        /// How the connection ends.
        how: ConnectionEnd,
    },
    /// The answer breaks off inside the event with the last piece of the first
    /// call's arguments.
    CutInArguments,
    /// An event that is no JSON; then the answer goes on.
    Malformed {
        /// Deltas before it.
        after: usize,
    },
    /// The wire's error event (`overloaded`), and the end of the body.
    ErrorEvent {
        /// Deltas before it.
        after: usize,
    },
    /// Nothing more is said until the client leaves.
    Silent {
        /// Deltas before it.
        after: usize,
    },
    /// Everything is said so many bytes at a time, with a pause after each.
    Drip {
        /// Bytes at a time.
        bytes: usize,
        /// The pause after them.
        pause: Duration,
    },
    /// The answer's first delta again and again, up to so many bytes (default 100 MB).
    Endless {
        /// Bytes in all.
        bytes: usize,
    },
    /// One line, never ended, of so many bytes.
    LongLine {
        /// Bytes in all.
        bytes: usize,
    },
}

impl InjectedFault {
    /// The answer ends after so many deltas, as if that were all.
    #[must_use]
    pub fn cut(after: usize) -> Self {
        InjectedFault::Cut {
            after,
            how: ConnectionEnd::Whole,
        }
    }

    /// The connection is reset after so many deltas; with 0, after the head.
    #[must_use]
    pub fn reset(after: usize) -> Self {
        InjectedFault::Cut {
            after,
            how: ConnectionEnd::Reset,
        }
    }

    /// 100 MB of text.
    #[must_use]
    pub fn endless() -> Self {
        InjectedFault::Endless { bytes: 100 << 20 }
    }
}

/// How a connection ends in the middle of an answer: as if it were whole, closed, or reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// As a good HTTP body: a proxy lost its upstream and does not tell.
    Whole,
    /// The connection is closed inside the HTTP body.
    Closed,
    /// The connection is reset.
    Reset,
}

/// How a provider refuses, each in its wire's own words.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorResponse {
    /// 429. The wait goes into `Retry-After`, for Gemini into `RetryInfo` of the body.
    RateLimited(Option<Duration>),
    /// The account has nothing left: 429, for Anthropic 402.
    Quota,
    /// 500.
    Server,
    /// Too much to do: 529 for Anthropic, else 503.
    Overloaded,
    /// A wrong key, which OpenAI repeats in its message: 401, for Gemini 400.
    Auth,
    /// 403.
    Forbidden,
    /// No such model: 404.
    NotFound,
    /// The conversation is too long: 400.
    ContextLength,
    /// Something else is wrong with the request: 400.
    Invalid,
    /// What a proxy says in place of the provider: 502 and HTML.
    Html,
    /// Anything.
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
    /// The refusal that usually comes with a status.
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
