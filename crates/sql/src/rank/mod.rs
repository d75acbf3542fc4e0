//! Ranking of tables for a question by words alone: no model, no network.
//!
//! The words of a question become terms of the schema (`question`, `terms`, `words`). Tables with
//! these terms get scores (`postings`), higher if a larger part of their names was mentioned
//! (`coverage`). Joined tables and tables of the same small schema get a share (`score`, `joins`).
//! Copies and partitions of one table are ranked as one (`partitions`).

mod blend;
mod copies;
mod coverage;
mod dictionary;
mod glossary;
mod index;
mod joins;
mod partitions;
mod postings;
mod question;
mod ranked_table;
mod score;
mod small_schemas;
mod split;
mod stem;
mod terms;
mod thesaurus;
mod words;

pub(crate) use self::blend::DEPTH;
pub use self::glossary::Glossary;
pub use self::index::RankIndex;
pub(crate) use self::question::{content_words, is_stop_word};
pub(crate) use self::ranked_table::NamedValue;
pub use self::ranked_table::RankedTable;
pub(crate) use self::terms::Terms;
pub(crate) use self::words::words;

impl RankIndex {
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
        let meant = self.families.named_members(ranked.table, tables, marks);
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
