//! How much of what a table is called a question says.
//!
//! Sums of words cannot tell `orders` from a wide table that has the word in many columns, or from
//! `order_return_reasons`, for all of them hold it. A question for orders has all words of the
//! first name and some of the last one.

use super::postings::{Posting, Postings};

/// What a table gains that is called by nothing but words of the question; half of them give a
/// quarter, for half a name is mostly what many tables are called.
const WHOLE: f32 = 0.4;

/// What is said of a table's name and of its comment.
pub(super) type NameCoverage = [f32; 2];

/// What the words of each table's name weigh together, and those of its comment.
#[derive(Debug, Default)]
pub(super) struct NameCoverageIndex(Vec<NameCoverage>);

impl NameCoverageIndex {
    /// Reads tables that were read before.
    pub(super) fn read(postings: &Postings, tables: usize) -> Self {
        let mut wholes = vec![NameCoverage::default(); tables];
        for (_, term) in postings.terms().filter(|(text, _)| !is_ending(text)) {
            for holder in postings.of(term) {
                holder.add_coverage(&mut wholes, postings.rarity(term));
            }
        }
        NameCoverageIndex(wholes)
    }

    /// What a table's score is multiplied by where this much of it is said.
    pub(super) fn gain(&self, table: usize, said: NameCoverage) -> f32 {
        let whole = self.0[table];
        let part = |i: usize| (said[i] / whole[i].max(f32::MIN_POSITIVE)).min(1.0);
        let most = part(0).max(part(1));
        1.0 + WHOLE * most * most
    }
}

impl Posting {
    /// Adds the weight of a word where the table's name or comment has it.
    pub(super) fn add_coverage(&self, said: &mut [NameCoverage], weight: f32) {
        if let [false, false] = self.is_called {
            return;
        }
        let said = &mut said[self.table as usize];
        said[0] += if self.is_called[0] { weight } else { 0.0 };
        said[1] += if self.is_called[1] { weight } else { 0.0 };
    }
}

/// The pair of characters that ends `订单表`, which nobody asks for.
fn is_ending(text: &str) -> bool {
    text.ends_with('表') && text.chars().count() == 2
}
