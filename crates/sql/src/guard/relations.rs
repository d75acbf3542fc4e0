//! Rejects system relations, which contain secrets, queries of other users and files.

use quillet_core::ErrorCode;
use sqlparser::ast::{ObjectName, ObjectNamePart, Spanned};

use super::text::TokenizedQuery;
use super::{GuardError, PRAGMAS, functions, parse};
use crate::SqlDialect;

/// Views of `information_schema` that describe tables. The others reveal users, servers, mappings
/// with passwords, and other sessions.
const INFORMATION: [&str; 20] = [
    "character_sets",
    "check_constraints",
    "collations",
    "column_domain_usage",
    "column_udt_usage",
    "columns",
    "constraint_column_usage",
    "constraint_table_usage",
    "domain_constraints",
    "domains",
    "element_types",
    "key_column_usage",
    "referential_constraints",
    "schemata",
    "sequences",
    "statistics",
    "table_constraints",
    "tables",
    "views",
    "partitions",
];

/// Schemas of the server.
const POSTGRES: [&str; 2] = ["pg_catalog", "pg_toast"];
const MYSQL: [&str; 4] = ["mysql", "performance_schema", "sys", "ndbinfo"];

/// SQLite's virtual tables that reveal its pages and bytecode.
const SQLITE: [&str; 6] = [
    "bytecode",
    "dbstat",
    "fsdir",
    "sqlite_dbpage",
    "sqlite_stmt",
    "tables_used",
];

/// Names of SQLite's schema table. It is readable, like `information_schema` elsewhere.
pub(super) const SQLITE_SCHEMA: [&str; 4] = [
    "sqlite_master",
    "sqlite_schema",
    "sqlite_temp_master",
    "sqlite_temp_schema",
];

/// Kind of a relation, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelationName {
    /// A user relation.
    Own,
    /// A system relation that describes the schema and may be read.
    Schema,
    /// A system relation that must not be read.
    System,
}

/// Rejects system relations.
pub(super) fn check(text: &TokenizedQuery<'_>, name: &ObjectName) -> Result<(), GuardError> {
    let parts = parts(text, name)?;
    if class(text.dialect, &parts) != RelationName::System {
        return Ok(());
    }
    let message = format!("cannot read {}: it belongs to the system", parts.join("."));
    let error = GuardError::new(ErrorCode::GuardSystem, message).help(match text.dialect {
        SqlDialect::Sqlite => "to list tables and columns, use sqlite_schema and table_info",
        _ => "to list tables and columns, use information_schema.tables and .columns",
    });
    Err(match parse::range_of(&text.plain, name.span()) {
        Some(place) => error.at(text.source, &place),
        None => error,
    })
}

/// Classifies a name of one or more parts.
pub(super) fn class(dialect: SqlDialect, parts: &[String]) -> RelationName {
    // Case is folded in every dialect. A quoted "PG_AUTHID" is a different relation, but rejecting
    // it does no harm.
    let folded: Vec<String> = parts.iter().map(|part| part.to_lowercase()).collect();
    let (schema, name) = match folded.as_slice() {
        [.., schema, name] => (schema.as_str(), name.as_str()),
        [name] => ("", name.as_str()),
        [] => return RelationName::System,
    };
    // SQLite does not have `information_schema`, but an attached database may have that name.
    if dialect != SqlDialect::Sqlite && schema == "information_schema" {
        return if INFORMATION.contains(&name) {
            RelationName::Schema
        } else {
            RelationName::System
        };
    }
    match dialect {
        SqlDialect::PostgreSql => {
            let of_system = POSTGRES.contains(&schema) || schema.starts_with("pg_");
            // An unqualified system name takes precedence over any other.
            system_if(of_system || (schema.is_empty() && name.starts_with("pg_")))
        }
        SqlDialect::MySql => system_if(MYSQL.contains(&schema)),
        SqlDialect::Sqlite => sqlite(name),
    }
}

fn sqlite(name: &str) -> RelationName {
    if SQLITE_SCHEMA.contains(&name) {
        return RelationName::Schema;
    }
    if let Some(pragma) = name.strip_prefix("pragma_") {
        return if PRAGMAS.contains(&pragma) {
            RelationName::Schema
        } else {
            RelationName::System
        };
    }
    system_if(name.starts_with("sqlite_") || SQLITE.contains(&name))
}

fn system_if(of_system: bool) -> RelationName {
    if of_system {
        RelationName::System
    } else {
        RelationName::Own
    }
}

/// Returns the parts of a name as written, without quotes.
///
/// # Errors
/// Fails if a part is a call, which none of these dialects supports.
pub(super) fn parts(
    text: &TokenizedQuery<'_>,
    name: &ObjectName,
) -> Result<Vec<String>, GuardError> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) => Ok(ident.value.clone()),
        ObjectNamePart::Function(call) => Err(functions::refusal(text, &call.name.value, name)),
    };
    name.0.iter().map(part).collect()
}
