//! Values against JSON Schemas, with findings in plain data.
//!
//! The one home of the validator. Its code is generic, so that each crate which named it compiled a
//! copy of its own, over a megabyte each; here it is compiled once, behind functions that are not.
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

/// Steps back that one pattern of a schema may take on one text. Schemas come from untrusted
/// clients, and texts from models; only patterns with look-around or back-references step back at
/// all.
const MOST_BACKTRACKS: usize = 100_000;

/// The draft of a schema that names none by `$schema`.
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
    /// Draft-07, which definitions of tools and prompts are written in.
    Seven,
    /// 2020-12, the current one.
    #[default]
    Current,
}

/// How a schema is read, and what findings say about values.
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
    /// The draft where the schema names none.
    pub draft: SchemaDraft,
    /// Whether `format` is checked; else it only describes.
    pub formats: bool,
    /// Whether messages say `value` in place of what stands there: for readers who have it.
    pub masked: bool,
}

/// A schema, ready to be held against values. Nothing is ever fetched for one.
#[derive(Debug)]
pub struct Validator {
    inner: jsonschema::Validator,
    masked: bool,
}

/// The error of a schema that cannot be used.
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
    /// Where in the schema, as a JSON pointer; empty at its root.
    pub pointer: String,
    /// In words, with what stands there.
    pub message: String,
}

impl fmt::Display for InvalidSchemaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for InvalidSchemaError {}

/// A place where a value does not match its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaViolation {
    /// Where in the value, as a JSON pointer; empty at its root.
    pub pointer: String,
    /// In words.
    pub message: String,
    /// What it is, for those who say it in words of their own.
    pub kind: ViolationKind,
}

/// Kinds of findings that callers tell apart.
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
    /// A property is missing.
    Missing(String),
    /// Properties that the schema does not allow.
    Unknown(Vec<String>),
    /// A value of another type.
    Type,
    /// Anything else.
    Other,
}

impl Validator {
    /// Reads a schema.
    ///
    /// # Errors
    /// It is not a schema.
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

    /// Whether a value fits. Quicker than [`findings`](Self::findings).
    #[must_use]
    pub fn accepts(&self, value: &Json) -> bool {
        self.inner.is_valid(value)
    }

    /// What does not fit, at most so many findings; none where the value fits.
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
