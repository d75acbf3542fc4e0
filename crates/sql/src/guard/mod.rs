//! The SQL guard: parses a query in the dialect of its database and accepts only queries that read.
//!
//! Steps: raw checks ([`text`], [`nesting`]) → comments blanked → syntax tree from sqlparser
//! ([`parse`]) → effects ([`reading`], [`functions`]) → names ([`names`]) → row limit ([`limit`]).
//! Except for the LIMIT, the text that runs is byte for byte the text that was parsed.
//!
//! It is not the only check: [`Database::query`](crate::Database::query) does not rely on it.

mod error;
mod explore;
mod fields;
mod functions;
pub(crate) mod lexer;
mod limit;
mod names;
mod nesting;
mod parse;
mod policy;
mod pragmas;
mod reading;
mod relations;
mod select;
mod spelling;
mod text;

use self::text::TokenizedQuery;
use crate::{Catalogue, SqlDialect};

pub use self::error::GuardError;
pub use self::policy::{ApprovedQuery, GuardMode, Policy};
pub(crate) use self::pragmas::PRAGMAS;
pub(crate) use self::text::STATEMENTS;

/// Checks whether a query may run.
///
/// # Errors
/// Returns the first problem, with its position and fix.
///
/// # Examples
/// ```
/// use quillet_core::ErrorCode;
/// use quillet_sql::SqlDialect::PostgreSql;
/// use quillet_sql::guard::{Policy, check};
///
/// let policy = Policy::default();
/// let approved = check("SELECT id FROM orders", PostgreSql, None, &policy).unwrap();
/// assert_eq!(approved.tables, ["orders"]);
///
/// let error = check("EXPLAIN SELECT 1", PostgreSql, None, &policy).unwrap_err();
/// assert_eq!(error.code, ErrorCode::GuardStatement);
/// ```
pub fn check(
    sql: &str,
    dialect: SqlDialect,
    catalogue: Option<&Catalogue>,
    policy: &Policy,
) -> Result<ApprovedQuery, GuardError> {
    let text = TokenizedQuery::read(sql, dialect, policy)?;
    // Without a catalogue every name passes, and the database itself reports unknown names.
    let catalogue = catalogue.filter(|_| policy.check_names);
    // Walking, comparing and dropping a tree recurse once per level, and the parser's own visitors
    // need kilobytes of stack per level. The depth is already limited here, so this stack is large
    // enough.
    stacker::grow(STACK, || match policy.mode {
        GuardMode::Explore if explore::is_explore_statement(&text) => {
            explore::check(&text, catalogue, policy)
        }
        _ => select::check(&text, catalogue, policy),
    })
}

/// Returns whether a PostgreSQL function is on the allowlist.
pub(crate) fn is_function_listed(name: &str) -> bool {
    functions::is_listed(SqlDialect::PostgreSql, name)
}

/// Returns whether a view of PostgreSQL's `information_schema` only describes tables.
pub(crate) fn describes_schema(name: &str) -> bool {
    let parts = ["information_schema".to_owned(), name.to_owned()];
    relations::class(SqlDialect::PostgreSql, &parts) == relations::RelationName::Schema
}

/// Returns the byte offset of the query after PostgreSQL's EXPLAIN. Returns `None` if the statement
/// is not an EXPLAIN, or if it also runs the query.
pub(crate) fn explained(sql: &str) -> Option<usize> {
    let policy = Policy {
        mode: GuardMode::Explore,
        // The length was checked before; this only looks for the start of the explained query.
        bytes: usize::MAX,
        ..Policy::default()
    };
    let text = TokenizedQuery::read(sql, SqlDialect::PostgreSql, &policy).ok()?;
    explore::explained_query(&text)
}

/// Stack size for the deepest allowed tree. The system allocates only the pages that are used.
const STACK: usize = 32 << 20;
