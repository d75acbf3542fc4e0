//! The guard of SQL.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use quillet::sql::guard::{self, Policy};
use quillet::sql::{Catalogue, Column, Dialect, Table};
use quillet_python_values::error::{Said, of_option};

/// Whether a query only reads, and what of. `tables` are the tables that it may read, as a dict of
/// names (`table` or `schema.table`) to lists of columns.
#[pyfunction]
#[pyo3(signature = (sql, dialect = "postgresql", tables = None, *, rows = 1000, functions = None))]
pub(crate) fn check_query<'py>(
    py: Python<'py>,
    sql: &str,
    dialect: &str,
    tables: Option<&Bound<'py, PyDict>>,
    rows: Option<u64>,
    functions: Option<Vec<String>>,
) -> PyResult<Bound<'py, PyDict>> {
    let Some(dialect) = Dialect::named(dialect) else {
        let names = Dialect::ALL.map(Dialect::name).join(", ");
        let message = format!("there is no dialect {dialect:?}");
        return Err(of_option(py, &message, &format!("dialects are {names}")));
    };
    let catalogue = tables
        .map(|tables| catalogue(dialect, tables))
        .transpose()?;
    let policy = Policy {
        rows,
        functions: functions.unwrap_or_default(),
        ..Policy::default()
    };
    let checked = py.detach(|| guard::check(sql, dialect, catalogue.as_ref(), &policy));
    let approved = checked.map_err(|error| {
        Said {
            class: "QueryError",
            code: error.code.as_str(),
            message: &error.message,
            source: "",
            position: error.position,
            hint: error.help.as_deref(),
            diagnostics: &[],
        }
        .raise(py)
    })?;
    let given = PyDict::new(py);
    given.set_item("sql", &approved.shown)?;
    given.set_item("tables", &approved.tables)?;
    given.set_item("limited", approved.limited)?;
    Ok(given)
}

fn catalogue(dialect: Dialect, tables: &Bound<'_, PyDict>) -> PyResult<Catalogue> {
    let home = match dialect {
        Dialect::PostgreSql => "public",
        Dialect::MySql => "db",
        Dialect::Sqlite => "main",
    };
    let mut read = Vec::new();
    for (name, columns) in tables {
        let name = name.cast::<PyString>()?.to_str()?.to_owned();
        let (schema, table) = name.split_once('.').unwrap_or((home, &name));
        let columns: Vec<String> = columns.extract()?;
        let columns = columns.into_iter().map(|name| Column {
            name,
            ..Column::default()
        });
        read.push(Table {
            schema_name: schema.to_owned(),
            table_name: table.to_owned(),
            columns: columns.collect(),
            ..Table::default()
        });
    }
    Ok(Catalogue::new(
        dialect,
        String::new(),
        vec![home.to_owned()],
        read,
        String::new(),
    ))
}
