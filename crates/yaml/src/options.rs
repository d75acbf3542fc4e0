//! Options of the reader.

/// Limits on the text of a file, and how strictly it is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Code that every diagnostic gets.
    pub code: &'static str,
    /// Maximum number of values; each use of an alias counts as a value, and an anchor counts
    /// twice.
    pub most_nodes: usize,
    /// Maximum nesting depth, which can be at most 250. The depth of `[[]]` is 2.
    pub most_depth: usize,
    /// Maximum size of the text in bytes. This is also the maximum total size of all scalars,
    /// including those that aliases repeat.
    pub most_bytes: usize,
    /// How tags outside the core schema, such as `!fn`, are handled.
    pub tags: Tags,
    /// How duplicate keys in one mapping are handled.
    pub duplicates: Duplicates,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            code: "yaml.syntax",
            most_nodes: 20_000,
            most_depth: 60,
            most_bytes: 8 << 20,
            tags: Tags::Refuse,
            duplicates: Duplicates::Refuse,
        }
    }
}

/// How custom tags are handled. Tags of a programming language (`!!python/…`) are always errors,
/// because the reader never constructs objects.
///
/// # Examples
///
/// ```
/// use quillet_core::Span;
/// use quillet_yaml::{Options, Tags, parse};
///
/// let text = "greet: !fn hello";
/// let whole = Span { start: 0, end: text.len() };
/// let options = Options { tags: Tags::Keep, ..Options::default() };
/// let (node, _) = parse("tags.yaml", text, whole, &options);
/// let node = node.unwrap();
/// assert_eq!(node.get("greet").and_then(|greet| greet.tag.as_deref()), Some("fn"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    /// Stores them in [`crate::Node::tag`].
    Keep,
    /// Reports them as errors.
    Refuse,
}

/// How duplicate keys are handled.
///
/// # Examples
///
/// ```
/// use quillet_yaml::{Duplicates, Options, value};
///
/// let text = "n: 1\nn: 2\n";
/// let findings = value(text, &Options::default()).unwrap_err();
/// assert_eq!(findings[0].message, "duplicate key `n`: first on line 1");
///
/// let options = Options { duplicates: Duplicates::Last, ..Options::default() };
/// assert!(value(text, &options).is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// An error that names both locations; the tree keeps the first.
    Refuse,
    /// The last one wins, as in JSON.
    Last,
}
