//! The front matter of a `SKILL.md`: between two lines of three dashes, YAML.

use std::collections::BTreeMap;

use quillet_core::{Diagnostic, Span};
use quillet_yaml::{MapEntry, Node, NodeData, Options};
use serde_json::{Map, Value};

/// The most that a front matter's YAML may hold; aliases count as often as they stand.
const MOST_NODES: usize = 5_000;
/// The deepest that it may be nested.
const MOST_DEPTH: usize = 40;

/// What a front matter says. Fields of Chat Shell's skills and of agentskills.io stand side by
/// side.
#[derive(Clone, Debug, Default)]
pub(super) struct FrontMatter {
    /// Each with the byte of the file at which it stands.
    fields: BTreeMap<String, (Value, usize)>,
    start: usize,
}

impl FrontMatter {
    /// Fields of an object of a request, which have no places.
    pub(super) fn of_object(object: &Map<String, Value>) -> Self {
        let field = |(name, value): (&String, &Value)| (name.clone(), (value.clone(), 0));
        FrontMatter {
            fields: object.iter().map(field).collect(),
            start: 0,
        }
    }

    /// Where the front matter begins.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Where a field stands, else where the front matter begins.
    pub(super) fn place(&self, name: &str) -> usize {
        self.fields.get(name).map_or(self.start, |(_, at)| *at)
    }

    /// A text field; a number or a boolean counts as the text that is written there.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, (usize, String)> {
        match self.fields.get(name) {
            None | Some((Value::Null, _)) => Ok(None),
            Some((Value::String(text), _)) => Ok(Some(text.trim().to_owned())),
            Some((value @ (Value::Number(_) | Value::Bool(_)), _)) => Ok(Some(value.to_string())),
            Some((_, at)) => Err((*at, format!("{name} has to be a text"))),
        }
    }

    /// A field of any kind, with its place.
    pub(super) fn value(&self, name: &str) -> Option<&(Value, usize)> {
        self.fields.get(name).filter(|(value, _)| !value.is_null())
    }

    /// Names that no reader of skills knows, with their places.
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

/// Divides a file into its front matter and its body, both as ranges of bytes.
/// Without a front matter the whole file is body.
///
/// # Errors
/// The front matter has no end.
pub(super) fn divide(text: &str) -> Result<(Option<Span>, usize), usize> {
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

/// Reads a front matter.
///
/// # Errors
/// It is not YAML, or no map; with the place.
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
        let message = format!("a front matter is `name: value` lines, not {}", node.kind());
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
