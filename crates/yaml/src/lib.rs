//! YAML whose keys and values know where they stand in the file.
//!
//! The one home of YAML events. It reads one document into a tree of [`Node`]s
//! with spans, tags and styles, within limits, and knows nothing of what the
//! tree means: prompt files, agents, scripts and fixtures read it each in its way.
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
mod reader;
mod rejected;
mod scalar;
mod tokens;

use quillet_core::{Diagnostic, Span, Value};

pub use mapped_text::MappedText;
pub use node::{MapEntry, Node, NodeData, Scalar, ScalarFormat};
pub use options::{Duplicates, Options, Tags};
pub use reader::{Reader, YamlProblem};
pub use tokens::tokens;

/// Reads the document that stands in a part of a file; `None` where there is
/// nothing but comments, or no tree could be made. The tree is whole if there
/// are no findings.
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

/// Reads a text that nobody needs places of, such as a model's answer. Of keys
/// that stand twice the last counts; a text of nothing is `null`.
///
/// # Errors
/// What is not YAML, over a limit of [`Options::default`], or has a tag of its own.
pub fn parse_value(text: &str) -> Result<Value, Vec<Diagnostic>> {
    value(
        text,
        &Options {
            duplicates: Duplicates::Last,
            ..Options::default()
        },
    )
}

/// Reads a text whose findings need no name of a file; a text of nothing is `null`.
///
/// # Errors
/// What is not YAML, or not what the options take.
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
