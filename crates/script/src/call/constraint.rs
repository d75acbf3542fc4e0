//! The form that an answer must have.

use crate::answer::{AnswerFormat, ChoiceConstraint};

/// The form that an answer must have.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    /// Some of these texts.
    Choice(ChoiceConstraint),
    /// A value of this schema, written like this.
    Schema {
        /// JSON Schema, as the script's `output` has it.
        schema: serde_json::Value,
        /// How it is written.
        format: AnswerFormat,
        /// Whether text that cannot be read is an error (`forceJson`); else it is the answer.
        force: bool,
    },
    /// Any value, written like this.
    Format {
        /// How it is written.
        format: AnswerFormat,
        /// As for a schema.
        force: bool,
    },
}
