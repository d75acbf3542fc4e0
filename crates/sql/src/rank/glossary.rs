//! The user's glossary.

/// A glossary: terms of questions and the terms of the schema that they stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glossary {
    /// Each term and what it stands for, both as people write them.
    pub entries: Vec<(String, Vec<String>)>,
}
