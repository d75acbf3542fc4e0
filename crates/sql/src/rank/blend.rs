//! Combines the ranking by words with a ranking by embeddings.

use foldhash::{HashMap, HashMapExt};

use super::index::RankIndex;
use super::ranked_table::RankedTable;
use super::split::{TextRun, pieces};
use crate::catalogue::DatabaseTable;

/// Constant of reciprocal rank fusion, which lowers the weight of the first ranks. This is the
/// usual value.
const FLATTEN: f32 = 60.0;
/// Number of tables ranked by words that are considered.
pub(crate) const DEPTH: usize = 200;
/// Maximum characters of a table's text.
const LONGEST_TEXT: usize = 2_000;

impl RankIndex {
    /// Returns the texts to embed, one for each table in the catalogue's order. A text contains the
    /// words of the table's name, comment and columns.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.catalogue.tables.iter().map(text).collect()
    }

    /// Returns the best `most` tables by words and by similarity to the question's vector. `tables`
    /// contains the vectors of [`RankIndex::texts`]. Vectors whose length differs from the
    /// question's vector are ignored.
    #[must_use]
    pub fn blend(
        &self,
        question: &str,
        vector: &[f32],
        tables: &[Vec<f32>],
        most: usize,
    ) -> Vec<RankedTable> {
        self.blend_with(self.rank(question, DEPTH), vector, tables, most)
    }

    /// Like [`RankIndex::blend`], but for tables already ranked by words, at least [`DEPTH`] of
    /// them.
    pub(crate) fn blend_with(
        &self,
        by_words: Vec<RankedTable>,
        vector: &[f32],
        tables: &[Vec<f32>],
        most: usize,
    ) -> Vec<RankedTable> {
        let mut found: HashMap<usize, RankedTable> = HashMap::new();
        for (place, ranked) in (0u16..).zip(by_words.into_iter().take(DEPTH)) {
            found.insert(
                ranked.table,
                RankedTable {
                    score: share(place),
                    ..ranked
                },
            );
        }
        for (place, table) in (0u16..).zip(self.nearest(vector, tables)) {
            let new = || RankedTable {
                table,
                score: 0.0,
                why: vec!["meaning".to_owned()],
            };
            found.entry(table).or_insert_with(new).score += share(place);
        }
        let mut all: Vec<RankedTable> = found.into_values().collect();
        all.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.table.cmp(&b.table)));
        all.truncate(most);
        all
    }

    /// Returns the indexes of tables by similarity to a vector, most similar first.
    fn nearest(&self, vector: &[f32], tables: &[Vec<f32>]) -> Vec<usize> {
        let known = tables.iter().take(self.catalogue.tables.len()).enumerate();
        let fitting = known.filter(|(i, _)| !self.families.is_older(*i));
        let near = fitting.filter_map(|(i, table)| Some((cosine(vector, table)?, i)));
        let mut near: Vec<(f32, usize)> = near.collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        near.into_iter().take(DEPTH).map(|(_, i)| i).collect()
    }
}

/// Returns the score of a rank.
fn share(place: u16) -> f32 {
    1.0 / (FLATTEN + f32::from(place))
}

fn cosine(a: &[f32], b: &[f32]) -> Option<f32> {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let cosine = dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
    (a.len() == b.len() && cosine.is_finite()).then_some(cosine)
}

fn text(table: &DatabaseTable) -> String {
    let mut text = words(&table.table_name);
    if let Some(comment) = &table.comment {
        text.push_str(": ");
        text.push_str(comment);
    }
    for (i, column) in table.columns.iter().enumerate() {
        text.push_str(if i == 0 { ". Columns: " } else { ", " });
        text.push_str(&words(&column.name));
        if let Some(comment) = &column.comment {
            text.push_str(" (");
            text.push_str(comment);
            text.push(')');
        }
    }
    text.chars().take(LONGEST_TEXT).collect()
}

fn words(name: &str) -> String {
    let word = |piece| match piece {
        TextRun::Word(text) | TextRun::Number(text) => text,
        TextRun::Characters(run) => run.into_iter().collect(),
    };
    let words: Vec<String> = pieces(name).into_iter().map(word).collect();
    words.join(" ")
}
