//! The supported SQL dialects.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A SQL dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SqlDialect {
    /// PostgreSQL.
    PostgreSql,
    /// MySQL and MariaDB.
    MySql,
    /// SQLite.
    Sqlite,
}

impl SqlDialect {
    /// All dialects.
    pub const ALL: [SqlDialect; 3] = [
        SqlDialect::PostgreSql,
        SqlDialect::MySql,
        SqlDialect::Sqlite,
    ];

    /// Returns the name used in settings, bodies and test data: `postgresql`, `mysql`, `sqlite`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SqlDialect::PostgreSql => "postgresql",
            SqlDialect::MySql => "mysql",
            SqlDialect::Sqlite => "sqlite",
        }
    }

    /// Returns the display name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            SqlDialect::PostgreSql => "PostgreSQL",
            SqlDialect::MySql => "MySQL",
            SqlDialect::Sqlite => "SQLite",
        }
    }

    /// Returns the dialect with this name, ignoring case. Also accepts `postgres`, `pg`, `mariadb`
    /// and `sqlite3`.
    ///
    /// ```
    /// use quillet_sql::SqlDialect;
    ///
    /// assert_eq!(SqlDialect::from_name("Postgres"), Some(SqlDialect::PostgreSql));
    /// assert_eq!(SqlDialect::from_name("mariadb"), Some(SqlDialect::MySql));
    /// assert_eq!(SqlDialect::from_name("oracle"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<SqlDialect> {
        match name.to_ascii_lowercase().as_str() {
            "postgresql" | "postgres" | "pg" => Some(SqlDialect::PostgreSql),
            "mysql" | "mariadb" => Some(SqlDialect::MySql),
            "sqlite" | "sqlite3" => Some(SqlDialect::Sqlite),
            _ => None,
        }
    }
}

impl fmt::Display for SqlDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
