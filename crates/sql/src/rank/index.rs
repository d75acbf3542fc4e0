//! The index for ranking the tables of one catalogue.

use std::ops::Range;
use std::sync::Arc;

use super::coverage::NameCoverageIndex;
use super::glossary::Glossary;
use super::joins::Joins;
use super::partitions::Families;
use super::postings::Postings;
use super::small_schemas::small_schemas;
use super::terms::Terms;
use super::thesaurus::Thesaurus;
use crate::Catalogue;

/// Rank index of one catalogue. The index is built once and shared by all questions.
#[derive(Debug)]
pub struct RankIndex {
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) terms: Terms,
    pub(super) thesaurus: Thesaurus,
    pub(super) postings: Postings,
    pub(super) wholes: NameCoverageIndex,
    pub(super) joins: Joins,
    pub(super) families: Families,
    pub(super) small_schemas: Vec<Range<usize>>,
}

impl RankIndex {
    /// Indexes the names and comments of a catalogue.
    #[must_use]
    pub fn build(catalogue: Arc<Catalogue>, glossary: &Glossary) -> Self {
        let terms = Terms::of_tables(&catalogue.tables);
        let families = Families::read(&catalogue.tables);
        let postings = Postings::read(&catalogue.tables, &terms, |i| families.is_older(i));
        let wholes = NameCoverageIndex::read(&postings, catalogue.tables.len());
        let thesaurus = Thesaurus::new(glossary, &terms);
        let joins = Joins::read(&catalogue.tables);
        let small_schemas = small_schemas(&catalogue.tables);
        RankIndex {
            catalogue,
            terms,
            thesaurus,
            postings,
            wholes,
            joins,
            families,
            small_schemas,
        }
    }
}
