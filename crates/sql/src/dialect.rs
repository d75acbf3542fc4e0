//! The three dialects of SQL.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whose SQL it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// PostgreSQL.
    PostgreSql,
    /// MySQL and MariaDB.
    MySql,
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 3] = [Dialect::PostgreSql, Dialect::MySql, Dialect::Sqlite];

    /// Its name in settings, bodies and test data: `postgresql`, `mysql`, `sqlite`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Dialect::PostgreSql => "postgresql",
            Dialect::MySql => "mysql",
            Dialect::Sqlite => "sqlite",
        }
    }

    /// What people and models call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Dialect::PostgreSql => "PostgreSQL",
            Dialect::MySql => "MySQL",
            Dialect::Sqlite => "SQLite",
        }
    }

    /// The dialect of that name, in any case of letters; `postgres` and `mariadb` are names, too.
    #[must_use]
    pub fn named(name: &str) -> Option<Dialect> {
        match name.to_ascii_lowercase().as_str() {
            "postgresql" | "postgres" | "pg" => Some(Dialect::PostgreSql),
            "mysql" | "mariadb" => Some(Dialect::MySql),
            "sqlite" | "sqlite3" => Some(Dialect::Sqlite),
            _ => None,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
