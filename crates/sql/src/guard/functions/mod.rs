//! Allowlists of functions that only compute, one for each dialect.
//!
//! A denylist would never be complete, because servers, extensions and users add functions. The
//! setting `sql.functions` allows functions that are missing here.

mod mysql;
mod postgres;

use std::collections::HashSet;
use std::sync::LazyLock;

use quillet_core::ErrorCode;
use sqlparser::ast::{ObjectName, ObjectNamePart, Spanned};

use super::text::TokenizedQuery;
use super::{GuardError, PRAGMAS, Policy, parse};
use crate::SqlDialect;
use crate::sqlite::functions::of_texts;

/// Operators of common PostgreSQL extensions (pgvector, pg_trgm, PostGIS) that only compute.
pub(super) const OPERATORS: [&str; 10] = [
    "<#>", "<->", "<=>", "<+>", "<%", "%>", "<<%", "%>>", "<<->", "<->>",
];

type NameSet = LazyLock<HashSet<&'static str>>;

static POSTGRES: NameSet = LazyLock::new(|| postgres::NAMES.split_whitespace().collect());
static MYSQL: NameSet = LazyLock::new(|| mysql::NAMES.split_whitespace().collect());
/// Functions of the linked SQLite, and SQL keywords that the parser reads as calls.
static SQLITE: NameSet = LazyLock::new(|| {
    let words = ["any", "collate", "exists", "row"];
    of_texts().chain(words).collect()
});

fn list(dialect: SqlDialect) -> &'static HashSet<&'static str> {
    match dialect {
        SqlDialect::PostgreSql => &POSTGRES,
        SqlDialect::MySql => &MYSQL,
        SqlDialect::Sqlite => &SQLITE,
    }
}

/// Rejects a call of a function that is not allowed.
pub(super) fn check(
    text: &TokenizedQuery<'_>,
    name: &ObjectName,
    policy: &Policy,
) -> Result<(), GuardError> {
    let folded = folded(text, name)?;
    let qualified = folded.join(".");
    let bare = folded.last().map(String::as_str).unwrap_or_default();
    // A name in the settings may be bare or qualified by its schema, because users write names as
    // in their queries.
    let by_user = policy
        .functions
        .iter()
        .any(|f| *f == qualified || *f == bare);
    if by_user || (is_of_system(text.dialect, &folded) && is_listed(text.dialect, bare)) {
        return Ok(());
    }
    Err(refusal(text, &qualified, name))
}

pub(super) fn is_listed(dialect: SqlDialect, name: &str) -> bool {
    let is_pragma = || {
        name.strip_prefix("pragma_")
            .is_some_and(|p| PRAGMAS.contains(&p))
    };
    list(dialect).contains(name) || (dialect == SqlDialect::Sqlite && is_pragma())
}

/// Returns whether the name means a system function: it is unqualified, or in PostgreSQL's system
/// schema.
fn is_of_system(dialect: SqlDialect, parts: &[String]) -> bool {
    match parts {
        [_] => true,
        [schema, _] => dialect == SqlDialect::PostgreSql && schema == "pg_catalog",
        _ => false,
    }
}

/// Returns the parts of the name as the server compares them. PostgreSQL preserves the case of
/// quoted names.
fn folded(text: &TokenizedQuery<'_>, name: &ObjectName) -> Result<Vec<String>, GuardError> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) => {
            let exact = ident.quote_style.is_some() && text.dialect == SqlDialect::PostgreSql;
            Ok(if exact {
                ident.value.clone()
            } else {
                ident.value.to_ascii_lowercase()
            })
        }
        ObjectNamePart::Function(call) => Err(refusal(text, &call.name.value, name)),
    };
    name.0.iter().map(part).collect()
}

/// Creates the error for a call of `called`.
pub(super) fn refusal(text: &TokenizedQuery<'_>, called: &str, name: &ObjectName) -> GuardError {
    let message = format!("the function {called} is not on the list of allowed functions");
    let mut error = GuardError::new(ErrorCode::GuardFunction, message);
    if let Some(place) = parse::range_of(&text.plain, name.span()) {
        error = error.at(text.source, &place);
    }
    // Sorted, so that the suggestion does not depend on the iteration order of a hash set.
    let mut known: Vec<&str> = list(text.dialect).iter().copied().collect();
    known.sort_unstable();
    let near = quillet_core::nearest(called, known).filter(|near| *near != called);
    error.help(match near {
        Some(near) => format!("did you mean {near}?"),
        None => format!("use another function, or allow {called} in the settings (sql.functions)"),
    })
}
