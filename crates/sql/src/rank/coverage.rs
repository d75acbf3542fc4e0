//! Measures how much of a table's name and comment a question mentions.
//!
//! Summed word scores cannot distinguish `orders` from a wide table with that word in many columns,
//! or from `order_return_reasons`. A question about orders mentions all words of the first name but
//! only some of the last.

use super::postings::{Posting, Postings};

/// Gain for a table whose whole name is mentioned. Mentioning half the name gives only a quarter of
/// this, because half a name is usually common to many tables.
const WHOLE: f32 = 0.4;

/// Mentioned weight of a table's name and of its comment.
pub(super) type NameCoverage = [f32; 2];

/// Total weight of the words of each table's name and comment.
#[derive(Debug, Default)]
pub(super) struct NameCoverageIndex(Vec<NameCoverage>);

impl NameCoverageIndex {
    /// Computes the weights from the postings.
    pub(super) fn read(postings: &Postings, tables: usize) -> Self {
        let mut wholes = vec![NameCoverage::default(); tables];
        for (_, term) in postings.terms().filter(|(text, _)| !is_ending(text)) {
            for holder in postings.of(term) {
                holder.add_coverage(&mut wholes, postings.rarity(term));
            }
        }
        NameCoverageIndex(wholes)
    }

    /// Returns the factor for a table's score, given the mentioned weight.
    pub(super) fn gain(&self, table: usize, said: NameCoverage) -> f32 {
        let whole = self.0[table];
        let part = |i: usize| (said[i] / whole[i].max(f32::MIN_POSITIVE)).min(1.0);
        let most = part(0).max(part(1));
        1.0 + WHOLE * most * most
    }
}

impl Posting {
    /// Adds the weight of a word to its table, if the table's name or comment contains it.
    pub(super) fn add_coverage(&self, said: &mut [NameCoverage], weight: f32) {
        if let [false, false] = self.is_called {
            return;
        }
        let said = &mut said[self.table as usize];
        said[0] += if self.is_called[0] { weight } else { 0.0 };
        said[1] += if self.is_called[1] { weight } else { 0.0 };
    }
}

/// Returns whether it is the last pair of characters in `订单表`, which questions do not use.
fn is_ending(text: &str) -> bool {
    text.ends_with('表') && text.chars().count() == 2
}
