//! The user's glossary.

/// A glossary that maps terms of questions to terms of the schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glossary {
    /// The terms and the meanings of each term, in natural spelling.
    pub entries: Vec<(String, Vec<String>)>,
}
