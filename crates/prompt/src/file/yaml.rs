//! YAML with places: every key and value knows where it stands in the file,
//! so that a finding about one can name its line and column.

use std::fmt;

use quillet_core::{Diagnostic, Position, Span};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map as Object, Number, Value as Tree};
use serde_saphyr::{Budget, Location, Spanned};

/// A YAML value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Byte in the user's file.
    pub(super) at: usize,
    pub(super) data: Data,
}

#[derive(Clone, Debug)]
pub(super) enum Data {
    Scalar(Tree),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key, where it stands, and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: usize,
    pub(super) value: Node,
}

/// The most that a file's YAML may hold: aliases count as often as they stand.
const MOST_NODES: usize = 20_000;

/// The deepest that it may be nested.
const MOST_DEPTH: usize = 60;

/// Reads the YAML that begins at a byte of a file and ends at another. Nothing
/// but comments is an empty map.
///
/// # Errors
/// What is wrong, with its place in the file.
pub(super) fn parse(source: &str, text: &str, range: Span) -> Result<Node, Vec<Diagnostic>> {
    let yaml = text.get(range.start..range.end).unwrap_or_default();
    let mut budget = Budget::default();
    budget.max_depth = MOST_DEPTH;
    budget.max_nodes = MOST_NODES;
    budget.max_events = 4 * MOST_NODES;
    budget.max_documents = 1;
    let options = serde_saphyr::options! { budget: Some(budget) };
    let read: Result<Spanned<Raw>, _> = serde_saphyr::from_str_with_options(yaml, options);
    match read {
        Ok(read) => Ok(settle(read, yaml, range.start)),
        Err(error) => Err(vec![problem(source, text, range, &error)]),
    }
}

fn problem(source: &str, text: &str, range: Span, error: &serde_saphyr::Error) -> Diagnostic {
    let message = error.without_snippet().to_string();
    let first = message.lines().next().unwrap_or_default();
    // The reader says its own place, which counts from where the YAML begins.
    let first = first.split(" at line ").next().unwrap_or(first);
    let found = Diagnostic::error("file.yaml", source, format!("not YAML: {first}"));
    let yaml = text.get(range.start..range.end).unwrap_or_default();
    let at = error.location().map(|at| byte_of(yaml, &at)).unwrap_or(0);
    let start = range.start + at;
    found.at(text, Span { start, end: start })
}

/// The byte of a place; the reader counts lines and characters from one.
fn byte_of(yaml: &str, at: &Location) -> usize {
    if let Some(byte) = at.span().byte_offset() {
        return usize::try_from(byte).unwrap_or(usize::MAX).min(yaml.len());
    }
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let before = number(at.line()).saturating_sub(1);
    let line = yaml.split_inclusive('\n').take(before).map(str::len).sum();
    let rest = yaml.get(line..).unwrap_or_default();
    let inside = rest.chars().take(number(at.column()).saturating_sub(1));
    line + inside.map(char::len_utf8).sum::<usize>()
}

fn settle(read: Spanned<Raw>, yaml: &str, start: usize) -> Node {
    let at = start + byte_of(yaml, &read.referenced);
    let data = match read.value {
        Raw::Scalar(scalar) => Data::Scalar(scalar),
        Raw::List(items) => Data::List(
            items
                .into_iter()
                .map(|item| settle(item, yaml, start))
                .collect(),
        ),
        Raw::Map(pairs) => Data::Map(
            pairs
                .into_iter()
                .map(|(key, value)| Entry {
                    at: start + byte_of(yaml, &key.referenced),
                    key: key.value.0,
                    value: settle(value, yaml, start),
                })
                .collect(),
        ),
    };
    Node { at, data }
}

/// The tree as the YAML reader hands it out.
enum Raw {
    Scalar(Tree),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Key>, Spanned<Raw>)>),
}

/// A key: YAML has keys of any kind, and people write numbers and booleans.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Key)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Tree::Null))
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Tree::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Scalar(Tree::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    /// JSON has no infinity: it stays as the text that people know.
    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        let number = Number::from_f64(value).map(Tree::Number);
        Ok(Raw::Scalar(
            number.unwrap_or_else(|| Tree::String(value.to_string())),
        ))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Scalar(Tree::from(value)))
    }

    fn visit_string<E>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::Scalar(Tree::String(value)))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(pair) = pairs.next_entry()? {
            map.push(pair);
        }
        Ok(Raw::Map(map))
    }
}

impl Node {
    /// The value without its places.
    pub(super) fn tree(&self) -> Tree {
        match &self.data {
            Data::Scalar(scalar) => scalar.clone(),
            Data::List(items) => Tree::Array(items.iter().map(Node::tree).collect()),
            Data::Map(_) => Tree::Object(self.object()),
        }
    }

    /// The object; empty if it is none.
    pub(super) fn object(&self) -> Object<String, Tree> {
        let pair = |entry: &Entry| (entry.key.clone(), entry.value.tree());
        self.entries().iter().map(pair).collect()
    }

    /// The keys and values of a map; nothing if it is none.
    pub(super) fn entries(&self) -> &[Entry] {
        match &self.data {
            Data::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The value of a key; `null` counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let entry = self.entries().iter().rev().find(|entry| entry.key == key);
        entry
            .map(|entry| &entry.value)
            .filter(|node| !node.is_null())
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.data, Data::Scalar(Tree::Null))
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::Scalar(Tree::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_bool(&self) -> Option<bool> {
        match &self.data {
            Data::Scalar(Tree::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    /// What it is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match &self.data {
            Data::Scalar(Tree::Null) => "nothing",
            Data::Scalar(Tree::Bool(_)) => "a boolean",
            Data::Scalar(Tree::Number(_)) => "a number",
            Data::Scalar(_) => "a text",
            Data::List(_) => "a list",
            Data::Map(_) => "an object",
        }
    }
}

/// More findings than these about one file help nobody, and each costs a search
/// for its place.
const MOST_FINDINGS: usize = 100;

/// Findings about one file.
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

    /// The text of a key, or an error that it is none.
    pub(super) fn text(&mut self, map: &Node, key: &str) -> Option<String> {
        let node = map.get(key)?;
        if let Some(text) = node.as_str() {
            return Some(text.to_owned());
        }
        self.error(
            node.at,
            format!("{key} must be a text, not {}", node.kind()),
            None,
        );
        None
    }

    /// Complains of a key whose value is a list or an object.
    pub(super) fn scalar(&mut self, map: &Node, key: &str) {
        let wrong = |node: &&Node| !matches!(node.data, Data::Scalar(_));
        if let Some(node) = map.get(key).filter(wrong) {
            let message = format!("{key} must be a text, not {}", node.kind());
            self.error(node.at, message, None);
        }
    }

    /// The object of a key, or an error that it is none.
    pub(super) fn map<'n>(&mut self, map: &'n Node, key: &str) -> Option<&'n Node> {
        let node = map.get(key)?;
        if matches!(node.data, Data::Map(_)) {
            return Some(node);
        }
        self.error(
            node.at,
            format!("{key} must be an object, not {}", node.kind()),
            None,
        );
        None
    }

    /// The truth of a key, or an error that it is none.
    pub(super) fn truth(&mut self, map: &Node, key: &str) -> Option<bool> {
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

    /// The line and column of a byte.
    pub(super) fn position(&self, at: usize) -> Position {
        Position::of(self.text, at)
    }
}
