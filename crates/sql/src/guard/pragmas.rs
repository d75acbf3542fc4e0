//! SQLite's PRAGMAs that queries may use.

/// PRAGMAs of SQLite that only describe the schema; as functions their names begin with `pragma_`.
/// Those of the file's path, of settings, of checks and of what SQLite was built with are not
/// among them.
pub(crate) const PRAGMAS: [&str; 7] = [
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "table_info",
    "table_list",
    "table_xinfo",
];
