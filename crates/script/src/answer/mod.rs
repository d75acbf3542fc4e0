//! What a model answered, read as the script asked for it: JSON, YAML, NObj, choices, thinking; and
//! the words that ask a model for it.
//!
//! Everything here is a pure function of text. Asking the model, and asking again, is the part of
//! [`crate::call`].

mod choice;
mod coerce;
mod fence;
mod input;
mod json;
mod nobj;
mod output;
mod schema;
mod thinking;
mod yaml;

use quillet_core::{Position, Value};

pub use choice::{Choice, Random};
pub use coerce::coerce;
pub use input::{Bound, InputField, InputProblem, Inputs};
pub use output::{describe, section};
pub use schema::{Provided, Schema};
pub use thinking::{Mode, Split, Splitter, Tag, Thinking};

/// The format of a value in an answer (`response_format.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Natural Object: near to natural language.
    NObj,
}

impl Format {
    /// The format of a name. `json_object` and `json_schema` are JSON.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "json" | "json_object" | "json_schema" => Some(Format::Json),
            "yaml" => Some(Format::Yaml),
            "nobj" => Some(Format::NObj),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Yaml => "yaml",
            Format::NObj => "nobj",
        }
    }

    /// Its name for people and models.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Format::Json => "JSON",
            Format::Yaml => "YAML",
            Format::NObj => "NObj",
        }
    }
}

/// An answer that does not have its form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", place(*.position))]
pub struct Unreadable {
    /// What is wrong with it.
    pub message: String,
    /// Where in the answer.
    pub position: Option<Position>,
}

fn place(position: Option<Position>) -> String {
    position.map_or(String::new(), |at| {
        format!(" at line {} column {} of the answer", at.line, at.column)
    })
}

impl Unreadable {
    fn new(message: impl Into<String>) -> Self {
        Unreadable {
            message: message.into(),
            position: None,
        }
    }

    fn at(mut self, line: usize, column: usize) -> Self {
        self.position = Some(Position { line, column });
        self
    }
}

/// Reads an answer: one fence of code around it is taken off, whatever stands
/// before and behind it; scalars are values too. A schema says what NObj's words are.
///
/// # Errors
/// What cannot be read, and where.
pub fn read(
    format: Format,
    text: &str,
    schema: Option<&serde_json::Value>,
) -> Result<Value, Unreadable> {
    let value = match format {
        Format::Json => json::read(text)?,
        Format::Yaml => yaml::read(text)?,
        Format::NObj => return nobj::read(text, schema),
    };
    Ok(match schema {
        Some(schema) => coerce(value, schema),
        None => value,
    })
}

/// A text without the fence of code that models put around it, and without blanks at its ends.
#[must_use]
pub fn unfenced(text: &str) -> &str {
    fence::find(text).map_or(text, |fenced| fenced.text).trim()
}
