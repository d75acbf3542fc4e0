//! The SQL guard.

use std::collections::HashMap;

use quillet::sql::SqlDialect;
use quillet::sql::catalogue::{Catalogue, DatabaseTable, TableColumn};
use quillet::sql::guard::{self, GuardMode, Policy};

use crate::refusal::BindingError;

/// A query to check.
#[derive(Clone, Debug)]
pub struct GuardQuery {
    /// Text of the query.
    pub sql: String,
    /// Name of the SQL dialect; see [`SqlDialect::named`].
    pub dialect: String,
    /// Tables that the query may read (`table` or `schema.table`) and the columns of each; `None`
    /// allows any table.
    pub tables: Option<Vec<(String, Vec<String>)>>,
    /// Maximum number of rows; unlimited if `None`.
    pub rows: Option<u64>,
    /// Functions that the query may call in addition to those on the built-in allowlist.
    pub functions: Vec<String>,
    /// `select`, or `explore` to also allow SHOW, DESCRIBE, read-only PRAGMAs and EXPLAIN.
    pub mode: String,
}

/// A query that the guard accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedQuery {
    /// The text to run. It requests one row more than the limit, so a reader can detect truncation.
    pub sql: String,
    /// The query for display. It keeps the comments and contains the actual row limit.
    pub shown: String,
    /// The tables that the query reads, spelled as in [`GuardQuery::tables`].
    pub tables: Vec<String>,
    /// Whether the row limit was added or replaced the query's own LIMIT.
    pub limited: bool,
}

/// Checks whether a query may run.
///
/// # Errors
/// The first problem, with its location and a hint.
pub fn check(query: &GuardQuery) -> Result<CheckedQuery, BindingError> {
    let dialect = SqlDialect::from_name(&query.dialect).ok_or_else(|| {
        let names = SqlDialect::ALL.map(SqlDialect::name).join(", ");
        let message = format!("unknown dialect {:?}", query.dialect);
        BindingError::option(message, format!("dialects are {names}"))
    })?;
    let policy = Policy {
        mode: mode(&query.mode)?,
        rows: query.rows,
        functions: query
            .functions
            .iter()
            .map(|name| name.to_lowercase())
            .collect(),
        ..Policy::default()
    };
    let known = query
        .tables
        .as_deref()
        .map(|tables| TableNames::new(dialect, tables));
    let catalogue = known.as_ref().map(|known| &known.catalogue);
    let approved = guard::check(&query.sql, dialect, catalogue, &policy)?;
    let tables = approved.tables.into_iter();
    let tables = tables.map(
        |name| match known.as_ref().and_then(|known| known.names.get(&name)) {
            Some(given) => given.clone(),
            None => name,
        },
    );
    Ok(CheckedQuery {
        sql: approved.sql,
        shown: approved.shown,
        tables: tables.collect(),
        limited: approved.limited,
    })
}

fn mode(name: &str) -> Result<GuardMode, BindingError> {
    match name {
        "select" => Ok(GuardMode::Select),
        "explore" => Ok(GuardMode::Explore),
        other => {
            let message = format!("unknown mode {other:?}");
            Err(BindingError::option(
                message,
                "modes are select and explore",
            ))
        }
    }
}

/// The tables that the host program declares.
struct TableNames {
    catalogue: Catalogue,
    /// Original table names by catalogue name.
    names: HashMap<String, String>,
}

impl TableNames {
    fn new(dialect: SqlDialect, given: &[(String, Vec<String>)]) -> Self {
        // Placeholder schema for tables without a schema.
        let home = match dialect {
            SqlDialect::PostgreSql => "public",
            SqlDialect::MySql => "db",
            SqlDialect::Sqlite => "main",
        };
        let mut names = HashMap::new();
        let tables = given.iter().map(|(name, columns)| {
            let (schema, table) = name.split_once('.').unwrap_or((home, name));
            let columns = columns.iter().map(|name| TableColumn {
                name: name.clone(),
                ..TableColumn::default()
            });
            let table = DatabaseTable {
                schema_name: schema.to_owned(),
                table_name: table.to_owned(),
                columns: columns.collect(),
                ..DatabaseTable::default()
            };
            names.insert(table.qualified(), name.clone());
            table
        });
        let tables = tables.collect();
        let (version, fingerprint) = (String::new(), String::new());
        let path = vec![home.to_owned()];
        TableNames {
            catalogue: Catalogue::new(dialect, version, path, tables, fingerprint),
            names,
        }
    }
}
