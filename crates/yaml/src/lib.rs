//! YAML reader whose keys and values record their location in the file.
//!
//! The only parser of YAML events in the workspace. It reads one document into a tree of [`Node`]s
//! with spans, tags and styles, within limits. The meaning of the tree is up to its callers: prompt
//! files, agents, scripts and fixtures.
//!
//! ```
//! use quillet_core::Value;
//!
//! let read = quillet_yaml::parse_value("name: Ada\ncity: Oslo\n").unwrap();
//! assert_eq!(read.as_map().and_then(|map| map.get("city")), Some(&Value::from("Oslo")));
//!
//! let wrong = quillet_yaml::parse_value("name: [Ada\n").unwrap_err();
//! assert!(wrong[0].position.is_some());
//! ```

mod mapped_text;
mod mapping;
mod node;
mod options;
mod problem;
mod reader;
mod rejected;
mod scalar;
mod tokens;

use quillet_core::{Diagnostic, Span, Value};

pub use mapped_text::MappedText;
pub use node::{MapEntry, Node, NodeData, Scalar, ScalarFormat};
pub use options::{Duplicates, Options, Tags};
pub use problem::YamlProblem;
pub use reader::Reader;
pub use tokens::tokens;

/// Parses the YAML document in a part of a file. Returns `None` if the part contains only comments,
/// or if no tree could be built. The tree is complete if there are no diagnostics.
///
/// # Examples
///
/// ```
/// use quillet_core::Span;
/// use quillet_yaml::{Options, parse};
///
/// let text = "name: Ada\nage: 36\n";
/// let whole = Span { start: 0, end: text.len() };
/// let (node, findings) = parse("user.yaml", text, whole, &Options::default());
/// assert!(findings.is_empty());
///
/// let node = node.unwrap();
/// let age = node.get("age").unwrap();
/// assert_eq!(&text[age.span.start..age.span.end], "36");
/// ```
#[must_use]
pub fn parse(
    source: &str,
    file: &str,
    part: Span,
    options: &Options,
) -> (Option<Node>, Vec<Diagnostic>) {
    let mut reader = Reader::new(source, file, *options);
    let node = match reader.read(&MappedText::of(file, part)) {
        Ok(node) => node,
        Err(problem) => {
            reader.report(problem);
            None
        }
    };
    (node, reader.finish())
}

/// Parses YAML when locations do not matter, such as a model's answer. If a key is repeated, its
/// last value is used. An empty string is `null`.
///
/// # Errors
/// Returns an error for invalid YAML, for a text above a limit of [`Options::default`], and for
/// custom tags.
///
/// # Examples
///
/// ```
/// use quillet_core::Value;
/// use quillet_yaml::parse_value;
///
/// let read = parse_value("n: 1\nn: 2\n").unwrap();
/// assert_eq!(read.as_map().and_then(|map| map.get("n")), Some(&Value::Int(2)));
/// assert_eq!(parse_value(""), Ok(Value::Null));
/// ```
pub fn parse_value(text: &str) -> Result<Value, Vec<Diagnostic>> {
    value(
        text,
        &Options {
            duplicates: Duplicates::Last,
            ..Options::default()
        },
    )
}

/// Parses YAML that has no file name, so diagnostics do not name a file. An empty string is `null`.
///
/// # Errors
/// Returns an error for invalid YAML, and for a text that the options reject.
///
/// # Examples
///
/// ```
/// use quillet_core::Value;
/// use quillet_yaml::{Options, value};
///
/// let options = Options { most_nodes: 2, ..Options::default() };
/// assert_eq!(value("36", &options), Ok(Value::Int(36)));
/// assert!(value("[1, 2, 3, 4]", &options).is_err());
/// ```
pub fn value(text: &str, options: &Options) -> Result<Value, Vec<Diagnostic>> {
    let whole = Span {
        start: 0,
        end: text.len(),
    };
    let (node, findings) = parse("text", text, whole, options);
    if !findings.is_empty() {
        return Err(findings);
    }
    Ok(node.map_or(Value::Null, |node| node.value()))
}
