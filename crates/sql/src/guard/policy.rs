//! What the guard may let pass, and what it returns for a query that passed.

/// Which statements may pass the guard.
///
/// ```
/// use quillet_sql::SqlDialect::MySql;
/// use quillet_sql::guard::{GuardMode, Policy, check};
///
/// let explore = Policy {
///     mode: GuardMode::Explore,
///     ..Policy::default()
/// };
/// assert!(check("SHOW TABLES", MySql, None, &explore).is_ok());
/// assert!(check("SHOW TABLES", MySql, None, &Policy::default()).is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuardMode {
    /// One statement that reads: SELECT, WITH … SELECT, set operations, VALUES, TABLE.
    #[default]
    Select,
    /// For agents: also SHOW, DESCRIBE, EXPLAIN without ANALYZE of a statement that reads,
    /// and PRAGMAs that read.
    Explore,
}

/// Limits and permissions of the guard.
///
/// ```
/// use quillet_sql::SqlDialect::PostgreSql;
/// use quillet_sql::guard::{Policy, check};
///
/// let sql = "SELECT my_rate(total) FROM orders";
/// assert!(check(sql, PostgreSql, None, &Policy::default()).is_err());
///
/// let policy = Policy {
///     functions: vec!["my_rate".to_owned()],
///     ..Policy::default()
/// };
/// assert!(check(sql, PostgreSql, None, &policy).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Which statements may pass.
    pub mode: GuardMode,
    /// Maximum number of bytes of a query.
    pub bytes: usize,
    /// Deepest nesting of a query, at most 128.
    pub depth: usize,
    /// Maximum number of rows, added to the text as a LIMIT unless the query has a smaller one.
    /// `None` leaves the text unchanged.
    pub rows: Option<u64>,
    /// Functions that may be called in addition to the list of the dialect, in lower case;
    /// `schema.name` if called with their schema.
    pub functions: Vec<String>,
    /// Whether tables and columns must exist in the catalogue, if there is one.
    pub check_names: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            mode: GuardMode::Select,
            bytes: 100_000,
            // Half of `nesting::DEEPEST`, the most that a setting can allow.
            depth: 64,
            // As in table-chat, whose clients expect it.
            rows: Some(1_000),
            functions: Vec::new(),
            check_names: true,
        }
    }
}

/// A query that may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovedQuery {
    /// The text to run, without comments. If rows are limited, it requests one row more than the
    /// limit, so that the reader can detect missing rows.
    pub sql: String,
    /// The text as its author wrote it, with comments and with the limit itself.
    pub shown: String,
    /// Tables that it reads, as named in the catalogue (`schema.table`), in order of appearance.
    pub tables: Vec<String>,
    /// Whether the limit was added or replaced a larger one.
    pub limited: bool,
}
