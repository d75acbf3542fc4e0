//! Policy of the guard, and the approved query that it returns.

/// Kinds of statements that may pass the guard.
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
    /// For agents: in addition SHOW, DESCRIBE, read-only PRAGMAs, and EXPLAIN without ANALYZE of a
    /// statement that reads.
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
    /// Kinds of statements that may pass.
    pub mode: GuardMode,
    /// Maximum size of a query in bytes.
    pub bytes: usize,
    /// Maximum nesting depth of a query. The value can be at most 128.
    pub depth: usize,
    /// Maximum number of rows. The limit is added to the query as a LIMIT clause, unless the query
    /// already has a smaller LIMIT. `None` leaves the query unchanged.
    pub rows: Option<u64>,
    /// Additional allowed functions, in lower case. Write `schema.name` for functions that queries
    /// call with a schema.
    pub functions: Vec<String>,
    /// Whether tables and columns must exist in the catalogue, if a catalogue is given.
    pub check_names: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            mode: GuardMode::Select,
            bytes: 100_000,
            // Half of `nesting::DEEPEST`, the maximum for this setting.
            depth: 64,
            // table-chat has this limit, and its clients expect it.
            rows: Some(1_000),
            functions: Vec::new(),
            check_names: true,
        }
    }
}

/// A query that may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovedQuery {
    /// The text to run, without comments. If rows are limited, the query requests one row more than
    /// the limit, so that missing rows can be detected.
    pub sql: String,
    /// The text to display, which includes the original comments and the exact limit.
    pub shown: String,
    /// Tables that the query reads, as named in the catalogue (`schema.table`), in order of
    /// appearance.
    pub tables: Vec<String>,
    /// Whether a LIMIT was added, or a larger LIMIT was replaced.
    pub limited: bool,
}
