//! What the guard may let pass, and what it returns for a query that passed.

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
