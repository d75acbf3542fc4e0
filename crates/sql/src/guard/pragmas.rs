//! SQLite PRAGMAs that queries may use.

/// PRAGMAs that only describe the schema. As functions, their names start with `pragma_`. PRAGMAs
/// about file paths, settings, integrity checks and compile options are excluded.
pub(crate) const PRAGMAS: [&str; 7] = [
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "table_info",
    "table_list",
    "table_xinfo",
];
