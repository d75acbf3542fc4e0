//! Compares the rows of a query with those of the reference query.

use serde::Serialize;

use crate::database::{Database, DatabaseError, QueryLimits};
use crate::rows::{Cell, RowSet};

/// Significant digits that must be equal in two numbers.
const DIGITS: usize = 9;

/// Outcome of one query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutionOutcome {
    /// The rows are the same.
    Same,
    /// The rows differ.
    Different,
    /// The query does not run.
    Failed(DatabaseError),
}

/// Counts of outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Accuracy {
    /// Queries that return the same rows as the reference query.
    pub same: usize,
    /// Queries that return different rows than the reference query.
    pub different: usize,
    /// Queries that failed.
    pub failed: usize,
}

impl Accuracy {
    /// Counts an outcome.
    pub fn add(&mut self, outcome: &ExecutionOutcome) {
        let count = match outcome {
            ExecutionOutcome::Same => &mut self.same,
            ExecutionOutcome::Different => &mut self.different,
            ExecutionOutcome::Failed(_) => &mut self.failed,
        };
        *count += 1;
    }

    /// Returns the share of queries that return the same rows, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        let all = self.same + self.different + self.failed;
        self.same as f64 / all.max(1) as f64
    }
}

/// Runs the reference query and the tested query, and compares their rows.
///
/// # Errors
/// Fails if the reference query fails, because there is nothing to compare with.
pub async fn execution(
    database: &dyn Database,
    gold: &str,
    query: &str,
    limits: &QueryLimits,
) -> Result<ExecutionOutcome, DatabaseError> {
    let right = database.query(gold, limits).await?;
    Ok(match database.query(query, limits).await {
        Err(error) => ExecutionOutcome::Failed(error),
        Ok(rows) if same_rows(&right, &rows, is_ordered(gold)) => ExecutionOutcome::Same,
        Ok(_) => ExecutionOutcome::Different,
    })
}

/// Returns whether two results are equal. Columns are compared by position, ignoring names. Row
/// order matters only if `ordered` is set. Numbers are compared by value, ignoring their database
/// types.
#[must_use]
pub fn same_rows(right: &RowSet, rows: &RowSet, ordered: bool) -> bool {
    if right.columns.len() != rows.columns.len() || right.truncated != rows.truncated {
        return false;
    }
    let texts = |rows: &RowSet| {
        let texts = rows.rows.iter().map(|row| row.iter().map(plain).collect());
        let mut texts: Vec<Vec<String>> = texts.collect();
        if !ordered {
            texts.sort_unstable();
        }
        texts
    };
    right.rows.len() == rows.rows.len() && texts(right) == texts(rows)
}

/// Returns whether the last ORDER BY is the outermost one, which means that no bracket closes after
/// it.
fn is_ordered(sql: &str) -> bool {
    let folded = sql.to_ascii_lowercase();
    let words: Vec<&str> = folded.split_whitespace().collect();
    let text = words.join(" ");
    let Some(at) = text.rfind("order by") else {
        return false;
    };
    let after = &text[at..];
    after.matches(')').count() <= after.matches('(').count()
}

/// Formats a value in a canonical form, so that equal values have equal texts.
fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Null => "null".to_owned(),
        Cell::Bool(truth) => number(f64::from(u8::from(*truth))),
        Cell::Int(value) => whole(&value.to_string()),
        Cell::UInt(value) => whole(&value.to_string()),
        Cell::Float(value) => number(*value),
        Cell::Text(text) | Cell::Json(text) => whole(text),
        Cell::Bytes(bytes) => format!("bytes {bytes:?}"),
        Cell::Array(cells) => {
            let cells: Vec<String> = cells.iter().map(plain).collect();
            format!("[{}]", cells.join(", "))
        }
    }
}

/// Normalizes numeric text, because drivers return decimals as text.
fn whole(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => number(value),
        _ => format!("text {text}"),
    }
}

fn number(value: f64) -> String {
    // Negative zero prints differently but is equal to zero.
    let value = if value == 0.0 { 0.0 } else { value };
    format!("{value:.DIGITS$e}")
}
