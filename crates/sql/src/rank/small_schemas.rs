//! Detects schemas that are so small that their tables are related.

use std::ops::Range;

use crate::catalogue::DatabaseTable;

/// Maximum number of tables in a small schema.
const SMALL_SCHEMA: usize = 40;

/// Returns the index ranges of the tables in small schemas, if the catalogue has several schemas.
pub(super) fn small_schemas(tables: &[DatabaseTable]) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for same in tables.chunk_by(|a, b| a.schema_name == b.schema_name) {
        let end = start + same.len();
        if same.len() <= SMALL_SCHEMA && same.len() < tables.len() {
            found.push(start..end);
        }
        start = end;
    }
    found
}
