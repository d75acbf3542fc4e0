//! Selects the column values that a model sees: those named in the question, and columns with few
//! distinct values.
//!
//! A value that the question names is shown in the database's spelling, so it reveals nothing new.
//! Columns with few, often repeated values are listed completely, since "unpaid" does not name any
//! of `OPEN`, `PAID` and `VOID`. Both share a token budget; named values come first.

use foldhash::HashMap;
use quillet_core::chat::TokenCounter;

use super::context::literal;
use crate::SqlDialect;
use crate::values::ValueIndex;

/// Maximum number of named values shown for one column.
const MOST_NAMED: usize = 8;
/// Maximum number of enum labels shown besides the named ones.
const MOST_LABELS: usize = 24;

/// Value hints by table index and column index.
#[derive(Debug, Default)]
pub(super) struct ValueHints(HashMap<(usize, usize), String>);

impl ValueHints {
    /// Returns the hint for a column.
    pub(super) fn of(&self, table: usize, column: usize) -> Option<String> {
        self.0.get(&(table, column)).cloned()
    }
}

/// Returns the hints for these tables and a question, within `budget` tokens.
pub(super) fn shown(
    known: &ValueIndex,
    question: &str,
    tables: &[usize],
    dialect: SqlDialect,
    tokens: &dyn TokenCounter,
    budget: u64,
) -> ValueHints {
    let mut shown = ValueHints::default();
    let mut left = budget;
    let mut say = |place: (usize, usize), text: String, left: &mut u64| {
        // A hint that does not fit is omitted completely, because a partial list would look
        // complete.
        let cost = tokens.count_text(&text) + 1;
        if !text.is_empty() && cost <= *left && !shown.0.contains_key(&place) {
            *left -= cost;
            shown.0.insert(place, text);
        }
    };
    let mentions = known.mentioned(question);
    for (place, named) in &mentions.columns {
        let Some(column) = known.column(place.0, place.1) else {
            continue;
        };
        if !tables.contains(&place.0) {
            continue;
        }
        let mut order: Vec<usize> = named.iter().copied().take(MOST_NAMED).collect();
        let rest = (0..column.values.len()).filter(|i| !named.contains(i));
        if column.is_choice {
            order.extend(rest);
        } else if column.is_declared {
            if column.values.len() <= MOST_LABELS {
                // The schema already lists all values of this column, in their declared order.
                continue;
            }
            order.extend(rest.take(MOST_LABELS.saturating_sub(named.len())));
        }
        let values = order.iter().filter_map(|i| column.values.get(*i));
        let text = list(values, column.values.len(), column.is_declared, dialect);
        say(*place, text, &mut left);
    }
    for column in tables.iter().flat_map(|table| known.of_table(*table)) {
        if column.is_choice {
            let all = column.values.len();
            let text = list(column.values.iter(), all, false, dialect);
            say((column.table, column.column), text, &mut left);
        }
    }
    shown
}

/// Formats `in ('a', 'b')` for values declared in the schema, and `e.g. 'a', 'b'` for sampled ones.
fn list<'a>(
    values: impl Iterator<Item = &'a String>,
    all: usize,
    is_declared: bool,
    dialect: SqlDialect,
) -> String {
    let mut shown: Vec<String> = values.filter_map(|it| literal(it, dialect)).collect();
    if shown.is_empty() {
        return String::new();
    }
    if shown.len() < all {
        shown.push("…".to_owned());
    }
    if is_declared {
        format!("in ({})", shown.join(", "))
    } else {
        format!("e.g. {}", shown.join(", "))
    }
}
