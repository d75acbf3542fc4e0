//! YAML of a prompt file as JSON values with locations, so that a diagnostic about a key or a value
//! has a line and column. `quillet-yaml` does the parsing.

use quillet_core::{Diagnostic, LineColumn, Span};
use quillet_yaml::Options;
use serde_json::{Map as Object, Value as Tree};

/// A YAML value and its location.
#[derive(Clone, Debug)]
pub(crate) struct YamlNode {
    /// Byte offset in the file.
    pub(super) at: usize,
    pub(super) data: YamlData,
}

#[derive(Clone, Debug)]
pub(super) enum YamlData {
    Scalar(Tree),
    List(Vec<YamlNode>),
    Map(Vec<YamlEntry>),
}

/// A key, its location, and its value.
#[derive(Clone, Debug)]
pub(super) struct YamlEntry {
    pub(super) key: String,
    pub(super) at: usize,
    pub(super) value: YamlNode,
}

/// Parses the YAML in a byte range of a file. YAML with only comments is an empty map.
///
/// # Errors
/// Syntax errors with their locations in the file.
pub(crate) fn parse(source: &str, text: &str, range: Span) -> Result<YamlNode, Vec<Diagnostic>> {
    let options = Options {
        code: "file.yaml",
        ..Options::default()
    };
    let (node, findings) = quillet_yaml::parse(source, text, range, &options);
    if !findings.is_empty() {
        return Err(findings);
    }
    let nothing = || quillet_yaml::Node::nothing(range);
    Ok(settle(&node.unwrap_or_else(nothing)))
}

/// Converts the tree to JSON values, the data model of prompts and schemas.
fn settle(node: &quillet_yaml::Node) -> YamlNode {
    let entry = |entry: &quillet_yaml::MapEntry| YamlEntry {
        key: entry.name().to_owned(),
        at: entry.key.span.start,
        value: settle(&entry.value),
    };
    let data = match &node.data {
        quillet_yaml::NodeData::Scalar(scalar) => YamlData::Scalar(Tree::from(&scalar.value)),
        quillet_yaml::NodeData::List(items) => YamlData::List(items.iter().map(settle).collect()),
        quillet_yaml::NodeData::Map(entries) => YamlData::Map(entries.iter().map(entry).collect()),
    };
    YamlNode {
        at: node.span.start,
        data,
    }
}

impl YamlNode {
    /// Returns the value without locations.
    pub(crate) fn tree(&self) -> Tree {
        match &self.data {
            YamlData::Scalar(scalar) => scalar.clone(),
            YamlData::List(items) => Tree::Array(items.iter().map(YamlNode::tree).collect()),
            YamlData::Map(_) => Tree::Object(self.object()),
        }
    }

    /// Returns the value as an object, or an empty object if it is not a map.
    pub(super) fn object(&self) -> Object<String, Tree> {
        let pair = |entry: &YamlEntry| (entry.key.clone(), entry.value.tree());
        self.entries().iter().map(pair).collect()
    }

    /// Returns the entries of a map, or an empty slice if the value is not a map.
    pub(super) fn entries(&self) -> &[YamlEntry] {
        match &self.data {
            YamlData::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the value of a key; `null` counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<&YamlNode> {
        // If a key occurs twice, the last one applies, as in `object`.
        let entry = self.entries().iter().rev().find(|entry| entry.key == key);
        entry
            .map(|entry| &entry.value)
            .filter(|node| !node.is_null())
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.data, YamlData::Scalar(Tree::Null))
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match &self.data {
            YamlData::Scalar(Tree::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_bool(&self) -> Option<bool> {
        match &self.data {
            YamlData::Scalar(Tree::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    /// Returns the name of the value's type, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match &self.data {
            YamlData::Scalar(Tree::Null) => "nothing",
            YamlData::Scalar(Tree::Bool(_)) => "a boolean",
            YamlData::Scalar(Tree::Number(_)) => "a number",
            YamlData::Scalar(_) => "a string",
            YamlData::List(_) => "a list",
            YamlData::Map(_) => "an object",
        }
    }
}

/// Maximum number of diagnostics for one file. More of them would not help the author, and each
/// needs a search for its line.
const MOST_FINDINGS: usize = 100;

/// Diagnostics of one file.
pub(super) struct Report<'a> {
    source: &'a str,
    text: &'a str,
    pub(super) errors: Vec<Diagnostic>,
    pub(super) warnings: Vec<Diagnostic>,
}

impl<'a> Report<'a> {
    pub(super) fn new(source: &'a str, text: &'a str) -> Self {
        Report {
            source,
            text,
            errors: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn error(&mut self, at: usize, message: impl Into<String>, help: Option<String>) {
        if self.errors.len() >= MOST_FINDINGS {
            return;
        }
        let found = Diagnostic::error("prompt.definition", self.source, message);
        self.errors.push(self.placed(found, at, help));
    }

    pub(super) fn warning(&mut self, at: usize, message: impl Into<String>, help: Option<String>) {
        if self.warnings.len() >= MOST_FINDINGS {
            return;
        }
        let found = Diagnostic::warning("prompt.key", self.source, message);
        self.warnings.push(self.placed(found, at, help));
    }

    fn placed(&self, found: Diagnostic, at: usize, help: Option<String>) -> Diagnostic {
        let found = found.at(self.text, Span { start: at, end: at });
        match help {
            Some(help) => found.help(help),
            None => found,
        }
    }

    /// Returns the text of a key, or reports an error if the value is not a text.
    pub(super) fn text(&mut self, map: &YamlNode, key: &str) -> Option<String> {
        let node = map.get(key)?;
        if let Some(text) = node.as_str() {
            return Some(text.to_owned());
        }
        self.error(
            node.at,
            format!("{key} must be a string, not {}", node.kind()),
            None,
        );
        None
    }

    /// Reports an error if the value of a key is a list or an object.
    pub(super) fn scalar(&mut self, map: &YamlNode, key: &str) {
        let wrong = |node: &&YamlNode| !matches!(node.data, YamlData::Scalar(_));
        if let Some(node) = map.get(key).filter(wrong) {
            let message = format!("{key} must be a string, not {}", node.kind());
            self.error(node.at, message, None);
        }
    }

    /// Returns the map of a key, or reports an error if the value is not a map.
    pub(super) fn map<'n>(&mut self, map: &'n YamlNode, key: &str) -> Option<&'n YamlNode> {
        let node = map.get(key)?;
        if matches!(node.data, YamlData::Map(_)) {
            return Some(node);
        }
        self.error(
            node.at,
            format!("{key} must be an object, not {}", node.kind()),
            None,
        );
        None
    }

    /// Returns the boolean of a key, or reports an error if the value is not a boolean.
    pub(super) fn truth(&mut self, map: &YamlNode, key: &str) -> Option<bool> {
        let node = map.get(key)?;
        if node.as_bool().is_none() {
            self.error(
                node.at,
                format!("{key} must be true or false, not {}", node.kind()),
                None,
            );
        }
        node.as_bool()
    }

    /// Converts a byte offset to a line and column.
    pub(super) fn position(&self, at: usize) -> LineColumn {
        LineColumn::of(self.text, at)
    }
}
