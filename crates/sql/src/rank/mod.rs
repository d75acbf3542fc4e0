//! Which tables a question is about, by words alone: no model, no network.
//!
//! The way of a question: its words become terms of the schema (`question`, `terms`, `words`),
//! tables that hold them get scores (`postings`), the more the larger the part of their names that
//! was said (`coverage`), and tables that are joined to those or stand in the same small schema get
//! their share (`score`, `joins`). Copies and pieces of one table are ranked as one (`families`).

mod blend;
mod copies;
mod coverage;
mod dictionary;
mod joins;
mod partitions;
mod postings;
mod question;
mod score;
mod split;
mod stem;
mod terms;
mod thesaurus;

use std::ops::Range;
use std::sync::Arc;

pub(crate) use self::blend::DEPTH;
use self::coverage::NameCoverageIndex;
use self::joins::Joins;
use self::partitions::Families;
use self::postings::Postings;
pub(crate) use self::question::{content_words, is_empty};
pub(crate) use self::split::words;
pub(crate) use self::terms::Terms;
use self::thesaurus::Thesaurus;
use crate::Catalogue;

/// What a user says about words: a term of questions and the terms of the schema that it stands
/// for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glossary {
    /// Each term and what it stands for, both as people write them.
    pub entries: Vec<(String, Vec<String>)>,
}

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

/// Tables of one catalogue, ready to be ranked. Built once, shared between questions.
#[derive(Debug)]
pub struct RankIndex {
    catalogue: Arc<Catalogue>,
    terms: Terms,
    thesaurus: Thesaurus,
    postings: Postings,
    wholes: NameCoverageIndex,
    joins: Joins,
    families: Families,
    small_schemas: Vec<Range<usize>>,
}

impl RankIndex {
    /// Reads the names and comments of a catalogue.
    #[must_use]
    pub fn build(catalogue: Arc<Catalogue>, glossary: &Glossary) -> Self {
        let terms = Terms::of_tables(&catalogue.tables);
        let families = Families::read(&catalogue.tables);
        let postings = Postings::read(&catalogue.tables, &terms, |i| families.is_older(i));
        let wholes = NameCoverageIndex::read(&postings, catalogue.tables.len());
        let thesaurus = Thesaurus::new(glossary, &terms);
        let joins = Joins::read(&catalogue.tables);
        let small_schemas = score::small_schemas(&catalogue.tables);
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

    /// The best `most` tables for a question, best first; all others that fit not at all are left
    /// out.
    #[must_use]
    pub fn rank(&self, question: &str, most: usize) -> Vec<RankedTable> {
        self.rank_knowing(question, &[], most, &|_| true)
    }

    /// The best `most` of the tables that `fits` takes, which is given places in
    /// [`Catalogue::tables`].
    #[must_use]
    pub fn rank_among(
        &self,
        question: &str,
        most: usize,
        fits: &dyn Fn(usize) -> bool,
    ) -> Vec<RankedTable> {
        self.rank_knowing(question, &[], most, fits)
    }

    /// The same for a question that names values which tables are known to have.
    pub(crate) fn rank_knowing(
        &self,
        question: &str,
        named: &[NamedValue],
        most: usize,
        fits: &dyn Fn(usize) -> bool,
    ) -> Vec<RankedTable> {
        let asked = question::read(question, &self.terms, &self.thesaurus, &self.postings);
        let best = score::best(self, &asked, named, most, fits);
        let marks = copies::NamedMarks::read(question);
        let members = best
            .into_iter()
            .flat_map(|ranked| self.members(ranked, &marks))
            .filter(|ranked| fits(ranked.table));
        members.take(most).collect()
    }

    /// The tables that a table of a family stands for.
    fn members(&self, ranked: RankedTable, marks: &copies::NamedMarks) -> Vec<RankedTable> {
        let size = self.families.size(ranked.table);
        if size == 1 {
            return vec![ranked];
        }
        let tables = &self.catalogue.tables;
        let meant = self.families.meant(ranked.table, tables, marks);
        let mut why = ranked.why;
        why.push(format!("one of {size} alike"));
        let member = |table| RankedTable {
            table,
            score: ranked.score,
            why: why.clone(),
        };
        meant.into_iter().map(member).collect()
    }
}
