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
mod parse_error;
mod schema;
mod thinking;
mod yaml;

use quillet_core::Value;

pub use choice::{ChoiceConstraint, Random};
pub use coerce::coerce;
pub use input::{BoundArguments, InputField, InputProblem, Inputs};
pub use output::{describe, section};
pub use parse_error::AnswerParseError;
pub use schema::{AnswerSchema, ProviderSchema};
pub use thinking::{SplitAnswer, Splitter, ThinkingMode, ThinkingSettings, ThinkingTag};

/// The format of a value in an answer (`response_format.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnswerFormat {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Natural Object: near to natural language.
    NObj,
}

impl AnswerFormat {
    /// The format of a name. `json_object` and `json_schema` are JSON.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "json" | "json_object" | "json_schema" => Some(AnswerFormat::Json),
            "yaml" => Some(AnswerFormat::Yaml),
            "nobj" => Some(AnswerFormat::NObj),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            AnswerFormat::Json => "json",
            AnswerFormat::Yaml => "yaml",
            AnswerFormat::NObj => "nobj",
        }
    }

    /// Its name for people and models.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            AnswerFormat::Json => "JSON",
            AnswerFormat::Yaml => "YAML",
            AnswerFormat::NObj => "NObj",
        }
    }
}

/// Reads an answer: one fence of code around it is taken off, whatever stands
/// before and behind it; scalars are values too. A schema says what NObj's words are.
///
/// # Errors
/// What cannot be read, and where.
pub fn read(
    format: AnswerFormat,
    text: &str,
    schema: Option<&serde_json::Value>,
) -> Result<Value, AnswerParseError> {
    let value = match format {
        AnswerFormat::Json => json::read(text)?,
        AnswerFormat::Yaml => yaml::read(text)?,
        // NObj needs the schema while it reads, to find names and types, so it coerces by itself.
        AnswerFormat::NObj => return nobj::read(text, schema),
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
