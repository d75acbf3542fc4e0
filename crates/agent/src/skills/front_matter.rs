//! Front matter of a `SKILL.md`: YAML between two lines with three dashes.

use std::collections::BTreeMap;

use quillet_core::{Diagnostic, Span};
use quillet_yaml::{MapEntry, Node, NodeData, Options};
use serde_json::{Map, Value};

/// Maximum number of YAML nodes. Aliases count at each use.
const MOST_NODES: usize = 5_000;
/// Maximum nesting depth.
const MOST_DEPTH: usize = 40;

/// Parsed front matter with the fields of Chat Shell and agentskills.io.
#[derive(Clone, Debug, Default)]
pub(super) struct FrontMatter {
    /// Fields with their byte offsets in the file.
    fields: BTreeMap<String, (Value, usize)>,
    start: usize,
}

impl FrontMatter {
    /// Creates front matter from an object in a request, which has no locations.
    pub(super) fn of_object(object: &Map<String, Value>) -> Self {
        let field = |(name, value): (&String, &Value)| (name.clone(), (value.clone(), 0));
        FrontMatter {
            fields: object.iter().map(field).collect(),
            start: 0,
        }
    }

    /// Offset of the front matter.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Returns the offset of a field, or that of the front matter if the field is missing.
    pub(super) fn place(&self, name: &str) -> usize {
        self.fields.get(name).map_or(self.start, |(_, at)| *at)
    }

    /// Returns a string field. A number or boolean counts as its source text.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, (usize, String)> {
        match self.fields.get(name) {
            None | Some((Value::Null, _)) => Ok(None),
            Some((Value::String(text), _)) => Ok(Some(text.trim().to_owned())),
            Some((value @ (Value::Number(_) | Value::Bool(_)), _)) => Ok(Some(value.to_string())),
            Some((_, at)) => Err((*at, format!("{name} must be a string"))),
        }
    }

    /// Returns a field of any type, with its offset.
    pub(super) fn value(&self, name: &str) -> Option<&(Value, usize)> {
        self.fields.get(name).filter(|(value, _)| !value.is_null())
    }

    /// Returns unknown fields with their offsets.
    pub(super) fn unknown<'a>(
        &'a self,
        known: &'a [&str],
    ) -> impl Iterator<Item = (&'a str, usize)> {
        let fields = self.fields.iter();
        fields
            .filter(|(name, _)| !known.contains(&name.as_str()))
            .map(|(name, (_, at))| (name.as_str(), *at))
    }
}

/// Splits a file into the byte ranges of front matter and body. Without front matter, the whole
/// file is the body.
///
/// # Errors
/// The front matter is not closed.
pub(super) fn divide(text: &str) -> Result<(Option<Span>, usize), usize> {
    // Some editors write a byte order mark, which is three bytes long.
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut lines = text.get(start..).unwrap_or_default().split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Ok((None, start));
    }
    let begin = start + first.len();
    let mut at = begin;
    for line in lines {
        if line.trim_end() == "---" {
            return Ok((
                Some(Span {
                    start: begin,
                    end: at,
                }),
                at + line.len(),
            ));
        }
        at += line.len();
    }
    Err(start)
}

/// Parses a front matter.
///
/// # Errors
/// The front matter is not valid YAML or not a mapping. The error includes its location.
pub(super) fn read(source: &str, text: &str, range: Span) -> Result<FrontMatter, Vec<Diagnostic>> {
    let options = Options {
        code: "skill.yaml",
        most_nodes: MOST_NODES,
        most_depth: MOST_DEPTH,
        ..Options::default()
    };
    let (node, mut findings) = quillet_yaml::parse(source, text, range, &options);
    let node = node.unwrap_or_else(|| Node::nothing(range));
    let placed = |entry: &MapEntry| {
        let value = Value::from(&entry.value.value());
        (entry.name().to_owned(), (value, entry.value.span.start))
    };
    let fields = match &node.data {
        NodeData::Map(entries) => entries.iter().map(placed).collect(),
        _ => BTreeMap::new(),
    };
    if !node.is_null() && node.entries().is_none() {
        let message = format!(
            "front matter must be `name: value` lines, not {}",
            node.kind()
        );
        let found = Diagnostic::error("skill.yaml", source, message);
        findings.push(found.at(text, node.span));
    }
    if findings.is_empty() {
        Ok(FrontMatter {
            fields,
            start: range.start,
        })
    } else {
        Err(findings)
    }
}
