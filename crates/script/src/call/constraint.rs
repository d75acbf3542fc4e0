//! Required forms of an answer.

use crate::answer::{AnswerFormat, ChoiceConstraint};

/// The required form of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    /// One or more of these options.
    Choice(ChoiceConstraint),
    /// A value that is valid for a schema.
    Schema {
        /// The JSON Schema, as written in the script's `output`.
        schema: serde_json::Value,
        /// The format of the value.
        format: AnswerFormat,
        /// Whether an unreadable answer is an error (`forceJson`). Otherwise the text is the
        /// answer.
        force: bool,
    },
    /// Any value in a format.
    Format {
        /// The format of the value.
        format: AnswerFormat,
        /// Whether an unreadable answer is an error, as for a schema.
        force: bool,
    },
}
