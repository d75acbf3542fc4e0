//! Tree of a YAML document.

use std::sync::Arc;

use quillet_core::{Map, Span, Value};

/// A value and its location.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Span in the user's file, excluding the tag.
    pub span: Span,
    /// Tag without the leading `!`, such as `fn` or `fn#`; tags of the core schema are resolved and
    /// not included.
    pub tag: Option<Arc<str>>,
    /// Data of the node.
    pub data: NodeData,
}

/// The data of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeData {
    /// A string, number, boolean or null.
    Scalar(Scalar),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the file.
    Map(Vec<MapEntry>),
}

/// A scalar, which has a value, a text and a style.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// Value according to YAML 1.2's core schema.
    pub value: Value,
    /// Text after escapes and folding are resolved.
    pub text: Arc<str>,
    /// Style in the source.
    pub style: ScalarFormat,
}

/// Style of a scalar in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarFormat {
    /// Without quotes.
    Plain,
    /// `'…'`.
    SingleQuoted,
    /// `"…"`.
    DoubleQuoted,
    /// `|`.
    Literal,
    /// `>`.
    Folded,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct MapEntry {
    /// The key, which is a scalar in every valid mapping.
    pub key: Node,
    /// The value.
    pub value: Node,
}

impl MapEntry {
    /// Returns the key's text, which is empty if the key is not a scalar.
    #[must_use]
    pub fn name(&self) -> &str {
        self.key.text().unwrap_or_default()
    }
}

impl Node {
    /// Creates a node without a tag.
    #[must_use]
    pub fn new(span: Span, data: NodeData) -> Self {
        Node {
            span,
            tag: None,
            data,
        }
    }

    /// Creates the null node for an omitted value.
    #[must_use]
    pub fn nothing(span: Span) -> Self {
        let scalar = Scalar {
            value: Value::Null,
            text: "".into(),
            style: ScalarFormat::Plain,
        };
        Node::new(span, NodeData::Scalar(scalar))
    }

    /// Returns the node's text, if the node is a scalar.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.data {
            NodeData::Scalar(scalar) => Some(&scalar.text),
            NodeData::List(_) | NodeData::Map(_) => None,
        }
    }

    /// Returns the node's text, if the node is a string according to the core schema.
    ///
    /// # Examples
    ///
    /// ```
    /// # use quillet_core::Span;
    /// use quillet_yaml::{Options, parse};
    ///
    /// let text = "quoted: '36'\nplain: 36\n";
    /// # let whole = Span { start: 0, end: text.len() };
    /// let (node, _) = parse("texts.yaml", text, whole, &Options::default());
    /// let node = node.unwrap();
    /// assert_eq!(node.get("quoted").and_then(|node| node.as_str()), Some("36"));
    /// assert_eq!(node.get("plain").and_then(|node| node.as_str()), None);
    /// assert_eq!(node.get("plain").and_then(|node| node.text()), Some("36"));
    /// ```
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            NodeData::Scalar(scalar) => scalar.value.as_str(),
            NodeData::List(_) | NodeData::Map(_) => None,
        }
    }

    /// Returns the node's entries, if the node is a mapping.
    #[must_use]
    pub fn entries(&self) -> Option<&[MapEntry]> {
        match &self.data {
            NodeData::Map(entries) => Some(entries),
            NodeData::Scalar(_) | NodeData::List(_) => None,
        }
    }

    /// Returns the node's items, if the node is a sequence.
    #[must_use]
    pub fn items(&self) -> Option<&[Node]> {
        match &self.data {
            NodeData::List(items) => Some(items),
            NodeData::Scalar(_) | NodeData::Map(_) => None,
        }
    }

    /// Returns the value of a key, if the node is a mapping that contains the key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        let found = |entry: &&MapEntry| entry.name() == key;
        Some(&self.entries()?.iter().find(found)?.value)
    }

    /// Returns whether the node is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.data, NodeData::Scalar(scalar) if scalar.value == Value::Null)
    }

    /// Converts the node to a value without locations and tags.
    #[must_use]
    pub fn value(&self) -> Value {
        match &self.data {
            NodeData::Scalar(scalar) => scalar.value.clone(),
            NodeData::List(items) => Value::from(items.iter().map(Node::value).collect::<Vec<_>>()),
            NodeData::Map(entries) => {
                let pairs = entries
                    .iter()
                    .map(|entry| (entry.name(), entry.value.value()));
                Value::Map(pairs.collect::<Map>())
            }
        }
    }

    /// Returns the name of the node's type, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.data {
            NodeData::List(_) => "a list",
            NodeData::Map(_) => "an object",
            NodeData::Scalar(scalar) => match scalar.value {
                Value::Null => "nothing",
                Value::Bool(_) => "true or false",
                Value::Int(_) | Value::Float(_) => "a number",
                _ => "a string",
            },
        }
    }
}
