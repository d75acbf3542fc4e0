//! The text layer of safety: reads a query as the database's dialect and lets only
//! reading pass.
//!
//! The way of a text: raw checks ([`text`], [`nesting`]) → comments blanked → sqlparser's tree
//! ([`parse`]) → what it does ([`reading`], [`functions`]) → what it names ([`names`]) → how many
//! rows it gives ([`limit`]). What is parsed is what runs, byte for byte, but for the LIMIT.
//!
//! It is not the only layer: [`Database::query`](crate::Database::query) assumes that it let
//! something through.

mod explore;
mod fields;
mod functions;
pub(crate) mod lexer;
mod limit;
mod names;
mod nesting;
mod parse;
mod reading;
mod relations;
mod spelling;
mod text;

use std::ops::Range;

use quillet_core::{ErrorCode, LineColumn, Span};

pub(crate) use self::relations::PRAGMAS;
pub(crate) use self::text::STATEMENTS;
use self::text::TokenizedQuery;
use crate::{Catalogue, SqlDialect};

/// Which statements may pass the guard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuardMode {
    /// One statement that reads: SELECT, WITH … SELECT, set operations, VALUES, TABLE.
    #[default]
    Select,
    /// For agents: also SHOW, DESCRIBE, EXPLAIN without ANALYZE of a statement that reads,
    /// and PRAGMAs that read.
    Explore,
}

/// Bounds and permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What may pass.
    pub mode: GuardMode,
    /// Most bytes of a query.
    pub bytes: usize,
    /// Deepest nesting of a query, at most 128.
    pub depth: usize,
    /// Most rows; set in the text, where the tree says, if the query has no smaller LIMIT. `None` leaves it as
    /// it is.
    pub rows: Option<u64>,
    /// Functions that may be called besides those of the dialect's list, in lower case;
    /// `schema.name` where they are called with their schema.
    pub functions: Vec<String>,
    /// Whether tables and columns have to be in the catalogue, where there is one.
    pub check_names: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            mode: GuardMode::Select,
            bytes: 100_000,
            depth: 64,
            rows: Some(1_000),
            functions: Vec::new(),
            check_names: true,
        }
    }
}

/// A query that may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovedQuery {
    /// The text to run, without comments. Where rows are bounded, it asks for one row more than
    /// the bound, so that whoever reads it can tell whether rows were cut off.
    pub sql: String,
    /// The text as its author would see it: with comments, and without that one more row.
    pub shown: String,
    /// Tables that it reads, as the catalogue names them (`schema.table`), in order of appearance.
    pub tables: Vec<String>,
    /// Whether our bound took the place of the query's own LIMIT, or of none.
    pub limited: bool,
}

/// The reason why a query may not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GuardError {
    /// Stable code, `sql.guard.…`.
    pub code: ErrorCode,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// Where in the query, in bytes.
    pub span: Option<Span>,
    /// Line and column of the span's start.
    pub position: Option<LineColumn>,
    /// How to fix it: a nearest name, or what is allowed.
    pub help: Option<String>,
}

impl GuardError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        GuardError {
            code,
            message: message.into(),
            span: None,
            position: None,
            help: None,
        }
    }

    pub(crate) fn at(mut self, source: &str, bytes: &Range<usize>) -> Self {
        self.position = Some(LineColumn::of(source, bytes.start));
        self.span = Some(Span {
            start: bytes.start,
            end: bytes.end,
        });
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

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
    let catalogue = catalogue.filter(|_| policy.check_names);
    // Whoever walks, compares or frees a tree calls itself for each of its levels, and the
    // parser's own walkers take kilobytes for each: their number is bounded by now.
    stacker::grow(STACK, || match policy.mode {
        GuardMode::Explore if explore::concerns(&text) => explore::check(&text, catalogue, policy),
        _ => select(&text, catalogue, policy),
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
        bytes: usize::MAX,
        ..Policy::default()
    };
    let text = TokenizedQuery::read(sql, SqlDialect::PostgreSql, &policy).ok()?;
    explore::explained_query(&text)
}

/// Bytes of stack for a tree as deep as may be; the system gives only those that are used.
const STACK: usize = 32 << 20;

/// A statement that reads, with its rows bounded.
fn select(
    text: &TokenizedQuery<'_>,
    catalogue: Option<&Catalogue>,
    policy: &Policy,
) -> Result<ApprovedQuery, GuardError> {
    let query =
        parse::query(&text.plain, text.dialect).map_err(|error| reading::better(text, error))?;
    reading::check(text, &query, policy)?;
    let tables = names::check(text, &query, catalogue)?;
    let (sql, shown, limited) = limit::set(text, &query, policy.rows)?;
    Ok(ApprovedQuery {
        sql,
        shown,
        tables,
        limited,
    })
}
