//! Schemas so small that their tables belong together.

use std::ops::Range;

use crate::catalogue::DatabaseTable;

/// Schemas with more tables than this say nothing about each of them.
const SMALL_SCHEMA: usize = 40;

/// Runs of tables that stand in one small schema, where the catalogue has several schemas.
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
