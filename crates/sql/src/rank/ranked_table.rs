//! A ranked table, and a value that a question names.

/// A table that fits.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedTable {
    /// Its place in [`Catalogue::tables`].
    pub table: usize,
    /// How well it fits; comparable within one answer, never negative.
    pub score: f32,
    /// The words that it was found by, and `joins orders` for a table that others led to.
    pub why: Vec<String>,
}

/// A value of columns that a question names, with the tables that have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedValue {
    /// The words of the value.
    pub(crate) words: Vec<String>,
    /// Places of the tables.
    pub(crate) tables: Vec<usize>,
}
