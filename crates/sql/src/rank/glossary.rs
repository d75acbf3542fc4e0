//! The user's glossary.

/// What a user says about words: a term of questions and the terms of the schema that it stands
/// for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glossary {
    /// Each term and what it stands for, both as people write them.
    pub entries: Vec<(String, Vec<String>)>,
}
