//! A ranked table, and a value that a question names.

/// A table that matches a question.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedTable {
    /// Index in [`Catalogue::tables`].
    pub table: usize,
    /// Score, never negative. Scores are comparable only within one ranking.
    pub score: f32,
    /// Matching words, or `joins orders` for a table found through a join.
    pub why: Vec<String>,
}

/// A column value that a question mentions, with the tables that contain it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedValue {
    /// Words of the value.
    pub(crate) words: Vec<String>,
    /// Indexes of the tables.
    pub(crate) tables: Vec<usize>,
}
