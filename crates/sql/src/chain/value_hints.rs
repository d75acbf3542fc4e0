//! Which values of columns a model is shown: those that the question names, and choices.
//!
//! A named value goes out as the database spells it: nothing that the question did not say. Columns
//! with few values that come again and again are listed whole, since "unpaid" names none of
//! `OPEN`, `PAID` and `VOID`. Both within a budget, named ones first.

use foldhash::HashMap;
use quillet_core::chat::TokenCounter;

use super::context::literal;
use crate::SqlDialect;
use crate::values::ValueIndex;

/// Most values of one column that a question names and that are shown.
const MOST_NAMED: usize = 8;
/// Labels of an enum besides those that are named.
const MOST_LABELS: usize = 24;

/// Words about values, by place of table and column.
#[derive(Debug, Default)]
pub(super) struct ValueHints(HashMap<(usize, usize), String>);

impl ValueHints {
    /// What is said of a column.
    pub(super) fn of(&self, table: usize, column: usize) -> Option<String> {
        self.0.get(&(table, column)).cloned()
    }
}

/// What there is to say about values of these tables for a question, within `budget` tokens.
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
        // A hint that does not fit is left out as a whole: a part of the values would look like all
        // of them.
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
                // All of them stand there in any case, in their own order.
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

/// `in ('a', 'b')` for what the schema says, `e.g. 'a', 'b'` for what was seen.
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
