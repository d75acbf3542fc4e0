//! Textbook BM25F over the same words, as a baseline for the ranking.
//!
//! The baseline does not use synonyms, words of neighbouring tables or table families. The
//! difference from `rank` shows the benefit of these features.

use foldhash::HashMap;

use crate::catalogue::DatabaseTable;
use crate::rank::Terms;

/// The usual constants (Robertson and Zaragoza, 2009).
const SATURATION: f32 = 1.2;
const BY_LENGTH: f32 = 0.75;

/// Weights of table names, table comments, column names and column comments.
const WEIGHTS: [f32; 4] = [3.0, 3.0, 1.0, 1.0];

/// Number of occurrences of a word in each field of a table.
type TermCounts = [u16; WEIGHTS.len()];

/// An index that ranks tables only by BM25F.
#[derive(Debug, Default)]
pub struct Bm25Index {
    terms: Terms,
    holders: HashMap<String, Vec<(usize, TermCounts)>>,
    lengths: Vec<TermCounts>,
    means: [f32; WEIGHTS.len()],
}

impl Bm25Index {
    /// Indexes the names and comments of tables.
    #[must_use]
    pub fn new(tables: &[DatabaseTable]) -> Self {
        let mut plain = Bm25Index {
            terms: Terms::of_tables(tables),
            lengths: vec![TermCounts::default(); tables.len()],
            ..Bm25Index::default()
        };
        for (i, table) in tables.iter().enumerate() {
            plain.field(i, 0, &table.table_name);
            plain.field(i, 1, table.comment.as_deref().unwrap_or_default());
            for column in &table.columns {
                plain.field(i, 2, &column.name);
                plain.field(i, 3, column.comment.as_deref().unwrap_or_default());
            }
        }
        let count = tables.len().max(1) as f32;
        plain.means = std::array::from_fn(|field| {
            let whole: f32 = plain.lengths.iter().map(|l| f32::from(l[field])).sum();
            whole / count
        });
        plain
    }

    fn field(&mut self, table: usize, field: usize, text: &str) {
        let (holders, length) = (&mut self.holders, &mut self.lengths[table][field]);
        self.terms.of(text, |term| {
            let tables = holders.entry(term).or_default();
            if tables.last().is_none_or(|(last, _)| *last != table) {
                tables.push((table, TermCounts::default()));
            }
            if let Some((_, counts)) = tables.last_mut() {
                counts[field] = counts[field].saturating_add(1);
            }
            *length = length.saturating_add(1);
        });
    }

    /// Returns the indexes of the best `most` tables, best first; ties keep the catalogue's order.
    #[must_use]
    pub fn rank(&self, question: &str, most: usize) -> Vec<usize> {
        let mut asked = Vec::new();
        self.terms.of(question, |term| asked.push(term));
        asked.sort_unstable();
        asked.dedup();
        let mut scores = vec![0.0f32; self.lengths.len()];
        for holders in asked.iter().filter_map(|term| self.holders.get(term)) {
            let (all, some) = (self.lengths.len() as f32, holders.len() as f32);
            let rarity = ((all - some + 0.5) / (some + 0.5)).ln_1p();
            for (table, counts) in holders {
                let amount = self.amount(*table, counts);
                scores[*table] += rarity * amount * (SATURATION + 1.0) / (amount + SATURATION);
            }
        }
        let mut order: Vec<usize> = (0..scores.len()).filter(|i| scores[*i] > 0.0).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        order.truncate(most);
        order
    }

    fn amount(&self, table: usize, counts: &TermCounts) -> f32 {
        let of_field = |field: usize| {
            let relative = f32::from(self.lengths[table][field]) / self.means[field].max(0.01);
            let length = 1.0 - BY_LENGTH + BY_LENGTH * relative;
            WEIGHTS[field] * f32::from(counts[field]) / length
        };
        (0..WEIGHTS.len())
            .filter(|field| counts[*field] > 0)
            .map(of_field)
            .sum()
    }
}
