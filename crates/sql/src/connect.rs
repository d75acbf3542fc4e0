//! Opens the driver that a connection URL names.

use std::sync::Arc;

use crate::database::{ConnectOptions, Database, DatabaseError};
use crate::dialect::SqlDialect;
use crate::sqlite::Sqlite;
use crate::url::ConnectionUrl;
use crate::{mysql, postgres};

/// Returns the database at an address. The connection is opened on first use.
///
/// # Errors
/// The address is invalid for its dialect, or this build has no driver for it.
pub fn connect(
    url: &ConnectionUrl,
    options: &ConnectOptions,
) -> Result<Arc<dyn Database>, DatabaseError> {
    // SQLite is always linked. The other two drivers are cargo features. If a feature is disabled,
    // its stub returns the error.
    match url.dialect {
        SqlDialect::MySql => mysql::open(url, options),
        SqlDialect::PostgreSql => postgres::open(url, options),
        SqlDialect::Sqlite => Ok(Arc::new(Sqlite::new(url, options)?)),
    }
}
