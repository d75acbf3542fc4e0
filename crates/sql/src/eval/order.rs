//! Quality measures of a table ranking.

use foldhash::HashSet;
use serde::Serialize;

/// Numbers of top-ranked tables for which the quality is measured.
pub const DEPTHS: [usize; 5] = [5, 10, 15, 20, 50];

/// Quality of the top `k` tables, from 0 to 1, averaged over the questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RecallAtK {
    /// Number of top-ranked tables.
    pub k: usize,
    /// Share of the right tables that are in the top `k`.
    pub recall: f64,
    /// Share of questions whose right tables are all in the top `k`.
    pub complete: f64,
    /// Share of the top `k` tables that are right.
    pub precision: f64,
}

/// Quality of a ranking, averaged over the questions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// One entry for each of [`DEPTHS`].
    pub at: Vec<RecallAtK>,
    /// Mean reciprocal rank (MRR) of the first right table. A table that is ranked below the
    /// largest of [`DEPTHS`] counts as 0.
    pub first: f64,
}

impl Order {
    /// Adds the figures of one ranking to the sums, which [`Order::mean`] divides.
    pub(super) fn add(&mut self, order: &[usize], right: &HashSet<usize>) {
        if self.at.is_empty() {
            self.at = DEPTHS
                .map(|k| RecallAtK {
                    k,
                    ..RecallAtK::default()
                })
                .to_vec();
        }
        for sum in &mut self.at {
            let shown = order.iter().take(sum.k);
            let found = shown.filter(|table| right.contains(table)).count();
            sum.recall += found as f64 / right.len().max(1) as f64;
            sum.complete += f64::from(u8::from(found == right.len()));
            sum.precision += found as f64 / order.len().clamp(1, sum.k) as f64;
        }
        if let Some(place) = order.iter().position(|table| right.contains(table)) {
            self.first += 1.0 / (place + 1) as f64;
        }
    }

    /// Returns the sums divided by this number of questions.
    pub(super) fn mean(mut self, questions: usize) -> Self {
        let count = questions.max(1) as f64;
        for sum in &mut self.at {
            sum.recall /= count;
            sum.complete /= count;
            sum.precision /= count;
        }
        self.first /= count;
        self
    }
}
