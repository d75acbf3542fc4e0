//! The text layer of safety: reads a query as the database's dialect and lets only
//! reading pass.
//!
//! The way of a text: raw checks ([`text`], [`nesting`]) → comments blanked → sqlparser's tree
//! ([`parse`]) → what it does ([`reading`], [`functions`]) → what it names ([`names`]) → how many
//! rows it gives ([`limit`]). What is parsed is what runs, byte for byte, but for the LIMIT.
//!
//! It is not the only layer: [`Database::query`](crate::Database::query) assumes that it let
//! something through.

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

/// Reads a query and says whether it may run.
///
/// # Errors
/// The first thing that is wrong with it, with its place and fix.
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
        GuardMode::Explore if explore::concerns(&text) => explore::check(&text, catalogue, policy),
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
