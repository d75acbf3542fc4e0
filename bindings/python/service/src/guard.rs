//! The SQL guard.

use pyo3::prelude::*;
use quillet_bindings::{GuardQuery, check};

use crate::error::raised;

/// The text to run, the tables it reads, whether a row limit was set, and the text for display.
type CheckedQuery = (String, Vec<String>, bool, String);

/// Checks a query. `tables` are pairs of a name and columns.
#[pyfunction]
pub(crate) fn check_query(
    py: Python<'_>,
    sql: String,
    dialect: String,
    tables: Option<Vec<(String, Vec<String>)>>,
    rows: Option<u64>,
    functions: Vec<String>,
    mode: String,
) -> PyResult<CheckedQuery> {
    let query = GuardQuery {
        sql,
        dialect,
        tables,
        rows,
        functions,
        mode,
    };
    let checked = py.detach(|| check(&query));
    let checked = checked.map_err(|refusal| raised(py, &refusal))?;
    Ok((checked.sql, checked.tables, checked.limited, checked.shown))
}
