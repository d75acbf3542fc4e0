//! Parses model answers in the requested format (JSON, YAML, NObj, choices, thinking), and writes
//! the instructions that request a format.
//!
//! All functions here are pure functions of text. [`crate::call`] sends requests and repairs.

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
    /// Parses a format name. `json_object` and `json_schema` select JSON.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "json" | "json_object" | "json_schema" => Some(AnswerFormat::Json),
            "yaml" => Some(AnswerFormat::Yaml),
            "nobj" => Some(AnswerFormat::NObj),
            _ => None,
        }
    }

    /// Returns the format's name as written in scripts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            AnswerFormat::Json => "json",
            AnswerFormat::Yaml => "yaml",
            AnswerFormat::NObj => "nobj",
        }
    }

    /// Returns the name used in messages to people and models.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            AnswerFormat::Json => "JSON",
            AnswerFormat::Yaml => "YAML",
            AnswerFormat::NObj => "NObj",
        }
    }
}

/// Parses a model's answer in the given format. If the answer contains a code fence, only the code
/// inside is parsed. A scalar is a valid answer. The NObj parser takes names and types from the
/// schema.
///
/// # Errors
/// Returns the syntax error and its position.
pub fn read(
    format: AnswerFormat,
    text: &str,
    schema: Option<&serde_json::Value>,
) -> Result<Value, AnswerParseError> {
    let value = match format {
        AnswerFormat::Json => json::read(text)?,
        AnswerFormat::Yaml => yaml::read(text)?,
        // NObj needs the schema for names and types during parsing, so it also converts the values.
        AnswerFormat::NObj => return nobj::read(text, schema),
    };
    Ok(match schema {
        Some(schema) => coerce(value, schema),
        None => value,
    })
}

/// Removes a surrounding code fence, and leading and trailing white space.
#[must_use]
pub fn unfenced(text: &str) -> &str {
    fence::find(text).map_or(text, |fenced| fenced.text).trim()
}
