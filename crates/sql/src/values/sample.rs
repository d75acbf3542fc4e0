//! Queries that sample a table, and the evaluation of their rows.
//!
//! A sample consists of the first rows in the database's order. In larger tables it also includes
//! the last rows by primary key, whose index provides them without a table scan. Otherwise, a
//! status that only new rows have would never be seen.

use foldhash::HashMap;
use quillet_core::BoxFuture;

use super::{SampledColumn, ValuesConfig};
use crate::catalogue::DatabaseTable;
use crate::chain::quoted;
use crate::stream::{RowSink, SinkClosed};
use crate::{Cell, ColumnInfo, SqlDialect};

/// Maximum number of values of a column that is always shown completely.
const CHOICE: usize = 10;

/// Returns the query for these columns of a table. The server truncates values to one character
/// more than the limit, so that long texts are not transferred.
pub(crate) fn query(
    table: &DatabaseTable,
    columns: &[usize],
    dialect: SqlDialect,
    config: &ValuesConfig,
    newest: bool,
) -> Option<String> {
    let name = |name: &str| quoted(name, dialect);
    let cut = config.characters.saturating_add(1);
    let fields = columns.iter().zip(1..).filter_map(|(i, n)| {
        let column = table.columns.get(*i)?;
        Some(format!("substr({}, 1, {cut}) AS v{n}", name(&column.name)))
    });
    let fields: Vec<String> = fields.collect();
    let mut sql = format!(
        "SELECT {} FROM {}.{}",
        fields.join(", "),
        name(&table.schema_name),
        name(&table.table_name)
    );
    if newest {
        let keys = table.columns.iter().filter(|column| column.is_primary_key);
        let keys: Vec<String> = keys
            .map(|key| format!("{} DESC", name(&key.name)))
            .collect();
        if keys.is_empty() {
            return None;
        }
        sql.push_str(&format!(" ORDER BY {}", keys.join(", ")));
    }
    sql.push_str(&format!(" LIMIT {}", rows_per_query(config)));
    Some(sql)
}

/// Returns the rows of each of the two queries.
pub(crate) fn rows_per_query(config: &ValuesConfig) -> usize {
    config.rows.div_ceil(2).max(1)
}

/// Counts column values of the rows read so far.
#[derive(Debug)]
pub(crate) struct Tally {
    columns: Vec<ValueCounts>,
    characters: usize,
    /// Number of rows so far.
    pub(crate) rows: usize,
}

#[derive(Clone, Debug, Default)]
struct ValueCounts {
    /// Values within the limits, with their row counts.
    values: HashMap<String, u32>,
    /// Number of rows whose value is too long or does not fit on one line.
    other: u32,
}

impl Tally {
    pub(crate) fn new(columns: usize, config: &ValuesConfig) -> Self {
        Tally {
            columns: vec![ValueCounts::default(); columns],
            characters: config.characters,
            rows: 0,
        }
    }

    /// Merges the counts of another tally of the same table. The rows may overlap, so the higher
    /// count is used as a lower bound.
    pub(crate) fn merge(&mut self, other: Tally) {
        self.rows = self.rows.max(other.rows);
        for (mine, theirs) in self.columns.iter_mut().zip(other.columns) {
            mine.other = mine.other.max(theirs.other);
            for (value, count) in theirs.values {
                let known = mine.values.entry(value).or_default();
                *known = count.max(*known);
            }
        }
    }

    /// Returns the values of the columns, in order. Returns `None` for a column that contains prose
    /// or mostly unique values.
    pub(crate) fn read(
        self,
        table: &DatabaseTable,
        columns: &[usize],
        most: usize,
    ) -> Vec<SampledColumn> {
        let found = self.columns.into_iter().zip(columns);
        let found = found.filter_map(|(counted, i)| {
            let (values, is_choice) = counted.into_values(most)?;
            Some(SampledColumn {
                schema: table.schema_name.clone(),
                table: table.table_name.clone(),
                name: table.columns.get(*i)?.name.clone(),
                values,
                is_choice,
            })
        });
        found.collect()
    }
}

impl ValueCounts {
    fn count(&mut self, cell: &Cell, characters: usize) {
        let Cell::Text(text) = cell else {
            return;
        };
        let is_plain = |text: &str| {
            !text.chars().any(crate::chain::is_unseen) && text.chars().count() <= characters
        };
        match text.as_str() {
            text if text.trim().is_empty() => {}
            text if !is_plain(text) => self.other += 1,
            text => match self.values.get_mut(text) {
                Some(count) => *count += 1,
                None => {
                    self.values.insert(text.to_owned(), 1);
                }
            },
        }
    }

    fn into_values(self, most: usize) -> Option<(Vec<String>, bool)> {
        let rows: u32 = self.values.values().sum();
        if rows == 0 || self.other >= rows {
            return None;
        }
        let distinct = self.values.len();
        let is_choice = distinct <= CHOICE && self.other == 0 && rows as usize >= 2 * distinct;
        let comes_again = |(_, count): &(String, u32)| distinct <= most || *count > 1;
        let mut values: Vec<(String, u32)> = self.values.into_iter().filter(comes_again).collect();
        values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        values.truncate(most);
        let values: Vec<String> = values.into_iter().map(|(value, _)| value).collect();
        (!values.is_empty()).then_some((values, is_choice))
    }
}

impl RowSink for Tally {
    fn columns<'a>(&'a mut self, _: Vec<ColumnInfo>) -> BoxFuture<'a, Result<(), SinkClosed>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn rows<'a>(&'a mut self, rows: Vec<Vec<Cell>>) -> BoxFuture<'a, Result<(), SinkClosed>> {
        self.rows += rows.len();
        for row in rows {
            for (counted, cell) in self.columns.iter_mut().zip(&row) {
                counted.count(cell, self.characters);
            }
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(values: &[&str]) -> Option<(Vec<String>, bool)> {
        let mut counted = ValueCounts::default();
        for value in values {
            counted.count(&Cell::Text((*value).to_owned()), 10);
        }
        counted.into_values(3)
    }

    #[test]
    fn what_comes_again_is_kept_and_prose_is_not() {
        let kept = |values: &[&str], is_choice| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            Some((values, is_choice))
        };
        for (values, expected) in [
            (&["b", "a", "b", "a", "b"][..], kept(&["b", "a"], true)),
            (&["Ann", "Bob", "Cai"], kept(&["Ann", "Bob", "Cai"], false)),
            (&["Ann", "Bob", "Cai", "Dan"], None),
            (&["a", "Bob", "Cai", "Dan", "a"], kept(&["a"], false)),
            (&["a", "a", "a text that is long"], kept(&["a"], false)),
            (&["a", "a text that is long"], None),
            (&["a\nb", "a\nb", "a\u{202e}b"], None),
            (&["", " ", ""], None),
            (&[], None),
        ] {
            assert_eq!(counted(values), expected, "{values:?}");
        }
    }

    #[test]
    fn rows_that_two_queries_saw_count_once() {
        let config = ValuesConfig::default();
        let tally = |names: &[&str]| {
            let mut tally = Tally::new(1, &config);
            for name in names {
                tally.columns[0].count(&Cell::Text((*name).to_owned()), 40);
            }
            tally
        };
        let mut first = tally(&["Ann", "Bob"]);
        first.merge(tally(&["Bob", "Cai"]));
        assert!(first.columns[0].values.values().all(|count| *count == 1));
    }
}
