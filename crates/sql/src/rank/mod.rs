//! Ranks tables for a question by words alone, without a model or network.
//!
//! The words of a question become terms of the schema (`question`, `terms`, `words`). Tables with
//! these terms get scores (`postings`), and higher ones if the question mentions more of their name
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
    /// Returns the best `most` tables for a question, best first. Tables that do not match are
    /// omitted.
    #[must_use]
    pub fn rank(&self, question: &str, most: usize) -> Vec<RankedTable> {
        self.rank_knowing(question, &[], most, &|_| true)
    }

    /// Returns the best `most` tables among those accepted by `fits`, which receives indexes into
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

    /// Like [`RankIndex::rank_among`], but also uses known column values that the question
    /// mentions.
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

    /// Returns the members of a table's family that the question refers to.
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
