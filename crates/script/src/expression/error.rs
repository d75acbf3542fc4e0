//! Errors of parsing and evaluating expressions.

use std::sync::Arc;

use quillet_core::Span;

/// A syntax error of an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// The problem in one sentence without a full stop.
    pub message: String,
    /// The location of the error, as a byte range of the expression.
    pub span: Span,
}

/// An error while evaluating an expression. Locations are byte ranges of the expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// An unknown bare name.
    #[error("`{name}` is not defined")]
    Unknown {
        /// The name.
        name: Arc<str>,
        /// Its location.
        span: Span,
    },
    /// The expression needs the JavaScript engine, which was found only during evaluation.
    #[error("this needs JavaScript")]
    JavaScript,
    /// JavaScript would throw an exception here.
    #[error("{message}")]
    Throws {
        /// The message of the exception.
        message: String,
        /// The part of the expression that throws.
        span: Span,
    },
    /// The result would exceed the limit that the message names.
    #[error("{message}")]
    Limit {
        /// The limit, with its value.
        message: String,
        /// The part of the expression that exceeds it.
        span: Span,
    },
}

/// The reason why the parser does not accept a text.
#[derive(Debug)]
pub(super) enum ParseRefusal {
    JavaScript,
    Invalid(SyntaxError),
}

pub(super) type ParseResult<T> = Result<T, ParseRefusal>;
