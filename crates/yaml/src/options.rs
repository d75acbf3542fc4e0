//! What a caller asks of the reader.

/// Limits of a text, and what is an error in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The code of every finding.
    pub code: &'static str,
    /// The most values; what an alias stands for counts each time, and an anchor counts twice.
    pub most_nodes: usize,
    /// The deepest nesting, at most 250: `[[]]` has 2 levels.
    pub most_depth: usize,
    /// The most bytes of text, and of all scalars together where aliases repeat them.
    pub most_bytes: usize,
    /// What becomes of tags that the core schema does not know, such as `!fn`.
    pub tags: Tags,
    /// What becomes of a key that stands twice in one mapping.
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

/// What becomes of a document's own tags. A tag of a programming language
/// (`!!python/…`) is an error in any case: nothing is ever constructed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    /// They stand in [`crate::Node::tag`].
    Keep,
    /// They are errors.
    Refuse,
}

/// How keys that stand twice are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// An error that names both places; the tree keeps the first.
    Refuse,
    /// The last one counts, as in JSON.
    Last,
}
