//! The authorizer. SQLite calls it for every action of a statement while preparing it, also for
//! actions inside views. Actions that are not listed here are denied
//! (`sqlite.org/c3ref/set_authorizer.html`).

use std::sync::{Arc, Mutex};

use quillet_core::lock::lock;

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::functions;
use crate::database::DatabaseErrorKind as Kind;
use crate::guard;

/// Allowed PRAGMAs in addition to those that describe tables ([`guard::PRAGMAS`]). Full-text tables
/// query `data_version` to validate their caches.
const NUMBERS: [&str; 2] = ["data_version", "schema_version"];

/// Names of the schema table. All other names that start with `sqlite_` are internal.
const SCHEMA: [&str; 4] = [
    "sqlite_master",
    "sqlite_schema",
    "sqlite_temp_master",
    "sqlite_temp_schema",
];

/// Observations of the authorizer while a statement was prepared.
#[derive(Default)]
pub(super) struct AuthorizerLog {
    /// First denied action, with the reason.
    pub(super) refused: Option<(Kind, String)>,
    /// A function whose run time is the product of its arguments' sizes.
    pub(super) slow: Option<&'static str>,
}

/// Installs the authorizer on a connection.
pub(super) fn install(
    connection: &mut Connection,
    seen: &Arc<Mutex<AuthorizerLog>>,
) -> rusqlite::Result<()> {
    let seen = Arc::clone(seen);
    let ask = move |context: AuthContext<'_>| {
        let mut seen = lock(&seen);
        if let AuthAction::Function { function_name } = context.action {
            seen.slow = seen.slow.or(functions::slow(function_name));
        }
        match refusal(&context.action) {
            None => Authorization::Allow,
            Some(refusal) => {
                // The first denial is the one to report.
                seen.refused.get_or_insert(refusal);
                Authorization::Deny
            }
        }
    };
    connection.authorizer(Some(ask))
}

/// Returns the reason for denying an action; `None` if it only reads.
fn refusal(action: &AuthAction<'_>) -> Option<(Kind, String)> {
    match action {
        AuthAction::Select | AuthAction::Recursive => None,
        AuthAction::Read { table_name, .. } => hidden(table_name),
        AuthAction::Function { function_name } => unlisted(function_name),
        AuthAction::Pragma {
            pragma_name,
            pragma_value,
        } => setting(pragma_name, pragma_value.is_some()),
        other => Some((Kind::ReadOnly, change(other))),
    }
}

/// Denies internal tables of SQLite, and tables that reveal internals.
fn hidden(table: &str) -> Option<(Kind, String)> {
    let name = table.to_ascii_lowercase();
    let pragma = name.strip_prefix("pragma_");
    let is_hidden = match pragma {
        Some(pragma) => !guard::PRAGMAS.contains(&pragma),
        None => name == "dbstat" || (name.starts_with("sqlite_") && !SCHEMA.contains(&&*name)),
    };
    is_hidden.then(|| {
        let message = format!("cannot read {table}: it is an internal table of SQLite");
        (Kind::Denied, message)
    })
}

fn unlisted(function: &str) -> Option<(Kind, String)> {
    let refused = !functions::is_allowed(function);
    refused.then(|| {
        let message = format!("{function}() is not on the list of allowed functions");
        (Kind::Denied, message)
    })
}

fn setting(name: &str, has_value: bool) -> Option<(Kind, String)> {
    let folded = name.to_ascii_lowercase();
    let is_number = NUMBERS.contains(&folded.as_str());
    // PRAGMAs for numbers are allowed only without a value, because `schema_version = 5` would
    // write. The other allowed PRAGMAs take a table name.
    if guard::PRAGMAS.contains(&folded.as_str()) || (is_number && !has_value) {
        return None;
    }
    let message = format!("PRAGMA {name} is not allowed: it does more than describe tables");
    Some((Kind::ReadOnly, message))
}

/// Describes the effect of an action that does not only read.
fn change(action: &AuthAction<'_>) -> String {
    let what = match action {
        AuthAction::Insert { table_name } => format!("insert into {table_name}"),
        AuthAction::Update { table_name, .. } => format!("update {table_name}"),
        AuthAction::Delete { table_name } => format!("delete from {table_name}"),
        AuthAction::Attach { .. } => "open another file".to_owned(),
        AuthAction::Detach { .. } => "close a file".to_owned(),
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => {
            "begin or end a transaction".to_owned()
        }
        AuthAction::Reindex { .. } => "rebuild an index".to_owned(),
        AuthAction::Analyze { .. } => "write statistics".to_owned(),
        _ => "change the schema".to_owned(),
    };
    format!("the statement would {what}; only queries that read may run")
}
