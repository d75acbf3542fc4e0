//! The SQL guard: parses a query in the dialect of its database and accepts only queries that read.
//!
//! Steps: raw checks ([`text`], [`nesting`]) → comments blanked → syntax tree of sqlparser
//! ([`parse`]) → effects ([`reading`], [`functions`]) → names ([`names`]) → row limit ([`limit`]).
//! The parsed text is the text that runs, byte for byte, except for the LIMIT.
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
/// The first problem, with its position and fix.
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
    // Without a catalogue every name passes; the database itself then reports unknown ones.
    let catalogue = catalogue.filter(|_| policy.check_names);
    // Whoever walks, compares or frees a tree calls itself for each of its levels, and the
    // parser's own walkers take kilobytes for each: their number is bounded by now.
    stacker::grow(STACK, || match policy.mode {
        GuardMode::Explore if explore::is_explore_statement(&text) => {
            explore::check(&text, catalogue, policy)
        }
        _ => select::check(&text, catalogue, policy),
    })
}

/// Whether a function of PostgreSQL is on the list of those that only compute.
pub(crate) fn is_function_listed(name: &str) -> bool {
    functions::is_listed(SqlDialect::PostgreSql, name)
}

/// Whether a view of PostgreSQL's `information_schema` describes tables and nothing else.
pub(crate) fn describes_schema(name: &str) -> bool {
    let parts = ["information_schema".to_owned(), name.to_owned()];
    relations::class(SqlDialect::PostgreSql, &parts) == relations::RelationName::Schema
}

/// The byte at which the query behind PostgreSQL's EXPLAIN begins; `None` where it is no EXPLAIN,
/// or one that runs what it explains.
pub(crate) fn explained(sql: &str) -> Option<usize> {
    let policy = Policy {
        mode: GuardMode::Explore,
        // The length was limited when the text was checked; this only looks for the start of the
        // explained query.
        bytes: usize::MAX,
        ..Policy::default()
    };
    let text = TokenizedQuery::read(sql, SqlDialect::PostgreSql, &policy).ok()?;
    explore::explained_query(&text)
}

/// Bytes of stack for a tree as deep as may be; the system gives only those that are used.
const STACK: usize = 32 << 20;
