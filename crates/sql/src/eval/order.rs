//! How good an order of tables is.

use foldhash::HashSet;
use serde::Serialize;

/// How many of the best tables are looked at.
pub const DEPTHS: [usize; 5] = [5, 10, 15, 20, 50];

/// What the best `k` tables hold, in shares from 0 to 1, as means over the questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RecallAtK {
    /// How many of the best tables.
    pub k: usize,
    /// Share of the right tables that are among them.
    pub recall: f64,
    /// Share of the questions all of whose tables are among them.
    pub complete: f64,
    /// Share of them that are right.
    pub precision: f64,
}

/// What orders of tables hold, as means over the questions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// One for each of [`DEPTHS`].
    pub at: Vec<RecallAtK>,
    /// One divided by the place of the first right table (MRR): 0 where the deepest of
    /// [`DEPTHS`] does not reach it.
    pub first: f64,
}

impl Order {
    /// Adds what one order holds; sums until [`Order::mean`].
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

    /// The sums as means over this many questions.
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
