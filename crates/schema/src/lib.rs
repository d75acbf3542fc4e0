//! Validates values against JSON Schemas and returns violations as plain data.
//!
//! This is the only crate that depends on the validator. The validator is generic, so each crate
//! that used it directly would compile its own copy of over a megabyte. Here it is compiled once,
//! behind non-generic functions.
//!
//! ```
//! use quillet_schema::{Rules, Validator};
//! use serde_json::json;
//!
//! let schema = json!({"properties": {"age": {"type": "integer"}}, "required": ["age"]});
//! let validator = Validator::new(&schema, Rules::default())?;
//! assert!(validator.accepts(&json!({"age": 7})));
//!
//! let findings = validator.findings(&json!({"age": "seven"}), 5);
//! assert_eq!(findings[0].pointer, "/age");
//! assert_eq!(findings[0].message, r#""seven" is not of type "integer""#);
//! # Ok::<(), quillet_schema::InvalidSchemaError>(())
//! ```

use std::fmt;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError};
use serde_json::Value as Json;

/// Maximum backtracking steps of one pattern on one text. Schemas come from untrusted clients, and
/// texts from models. Only patterns with look-around or back-references backtrack.
const MOST_BACKTRACKS: usize = 100_000;

/// JSON Schema draft of a schema without `$schema`.
///
/// # Examples
///
/// ```
/// use quillet_schema::{Rules, SchemaDraft, Validator};
/// use serde_json::json;
///
/// // Draft-07 has no `prefixItems`, so it ignores the keyword.
/// let schema = json!({"prefixItems": [{"type": "string"}]});
/// let seven = Rules { draft: SchemaDraft::Seven, ..Rules::default() };
/// assert!(!Validator::new(&schema, Rules::default())?.accepts(&json!([7])));
/// assert!(Validator::new(&schema, seven)?.accepts(&json!([7])));
/// # Ok::<(), quillet_schema::InvalidSchemaError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaDraft {
    /// Draft-07, used by definitions of tools and prompts.
    Seven,
    /// 2020-12, the current draft.
    #[default]
    Current,
}

/// Options for parsing a schema and for reporting violations.
///
/// # Examples
///
/// ```
/// use quillet_schema::{Rules, Validator};
/// use serde_json::json;
///
/// let schema = json!({"format": "email"});
/// let rules = Rules { formats: true, ..Rules::default() };
/// assert!(Validator::new(&schema, Rules::default())?.accepts(&json!("nobody")));
/// assert!(!Validator::new(&schema, rules)?.accepts(&json!("nobody")));
/// # Ok::<(), quillet_schema::InvalidSchemaError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Draft of a schema without `$schema`.
    pub draft: SchemaDraft,
    /// Whether `format` is validated instead of only annotating.
    pub formats: bool,
    /// Whether messages contain the word `value` instead of the actual value, for readers who
    /// already have it.
    pub masked: bool,
}

/// A compiled schema. Compiling never fetches references.
#[derive(Debug)]
pub struct Validator {
    inner: jsonschema::Validator,
    masked: bool,
}

/// The error of an invalid schema.
///
/// # Examples
///
/// ```
/// use quillet_schema::{Rules, Validator};
/// use serde_json::json;
///
/// let schema = json!({"properties": {"a": {"type": "txet"}}});
/// let error = Validator::new(&schema, Rules::default()).unwrap_err();
/// assert_eq!(error.pointer, "/properties/a/type");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSchemaError {
    /// Location in the schema as a JSON pointer; empty at the root.
    pub pointer: String,
    /// Message, including the invalid value.
    pub message: String,
}

impl fmt::Display for InvalidSchemaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for InvalidSchemaError {}

/// A location where a value does not match its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaViolation {
    /// Location in the value as a JSON pointer; empty at the root.
    pub pointer: String,
    /// Message.
    pub message: String,
    /// Kind of violation, for callers with their own messages.
    pub kind: ViolationKind,
}

/// Kind of a schema violation.
///
/// # Examples
///
/// ```
/// use quillet_schema::{Rules, Validator, ViolationKind};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "required": ["age"]});
/// let validator = Validator::new(&schema, Rules::default())?;
/// let findings = validator.findings(&json!({}), 1);
/// assert_eq!(findings[0].kind, ViolationKind::Missing("age".to_owned()));
/// # Ok::<(), quillet_schema::InvalidSchemaError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ViolationKind {
    /// A required property is missing.
    Missing(String),
    /// The schema does not allow these properties.
    Unknown(Vec<String>),
    /// The value has the wrong type.
    Type,
    /// Any other violation.
    Other,
}

impl Validator {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Returns an error if the schema is invalid.
    pub fn new(schema: &Json, rules: Rules) -> Result<Self, InvalidSchemaError> {
        let patterns = PatternOptions::fancy_regex().backtrack_limit(MOST_BACKTRACKS);
        let mut options = jsonschema::options()
            .offline()
            .with_pattern_options(patterns);
        if rules.formats {
            options = options.should_validate_formats(true);
        }
        if rules.draft == SchemaDraft::Seven && schema.get("$schema").is_none() {
            options = options.with_draft(jsonschema::Draft::Draft7);
        }
        let inner = options.build(schema).map_err(|error| InvalidSchemaError {
            pointer: error.instance_path().to_string(),
            message: error.to_string(),
        })?;
        Ok(Validator {
            inner,
            masked: rules.masked,
        })
    }

    /// Returns whether a value matches the schema. Faster than [`findings`](Self::findings).
    #[must_use]
    pub fn accepts(&self, value: &Json) -> bool {
        self.inner.is_valid(value)
    }

    /// Returns at most this number of violations; empty if the value matches.
    #[must_use]
    pub fn findings(&self, value: &Json, most: usize) -> Vec<SchemaViolation> {
        let errors = self.inner.iter_errors(value).take(most);
        errors.map(|error| self.finding(&error)).collect()
    }

    fn finding(&self, error: &ValidationError<'_>) -> SchemaViolation {
        SchemaViolation {
            pointer: error.instance_path().to_string(),
            message: if self.masked {
                error.masked().to_string()
            } else {
                error.to_string()
            },
            kind: kind(error.kind()),
        }
    }
}

fn kind(kind: &ValidationErrorKind) -> ViolationKind {
    match kind {
        ValidationErrorKind::Required { property } => {
            ViolationKind::Missing(property.as_str().unwrap_or_default().to_owned())
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            ViolationKind::Unknown(unexpected.clone())
        }
        ValidationErrorKind::Type { .. } => ViolationKind::Type,
        _ => ViolationKind::Other,
    }
}
