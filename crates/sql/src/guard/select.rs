//! Runs all checks on one statement that reads, from its syntax tree to its row limit.

use super::error::GuardError;
use super::policy::{ApprovedQuery, Policy};
use super::text::TokenizedQuery;
use super::{limit, names, parse, reading};
use crate::Catalogue;

/// Checks a statement that reads, and limits its rows.
pub(super) fn check(
    text: &TokenizedQuery<'_>,
    catalogue: Option<&Catalogue>,
    policy: &Policy,
) -> Result<ApprovedQuery, GuardError> {
    // Only text without comments is parsed, so that two parsers cannot disagree on what a comment
    // is.
    let query = parse::query(&text.plain, text.dialect)
        .map_err(|error| reading::refine_error(text, error))?;
    // Safety comes before names: a query that writes gets that error even if it also misspells a
    // table.
    reading::check(text, &query, policy)?;
    let tables = names::check(text, &query, catalogue)?;
    // The limit comes last, because it edits the text that all checks before have approved.
    let (sql, shown, limited) = limit::apply_limit(text, &query, policy.rows)?;
    Ok(ApprovedQuery {
        sql,
        shown,
        tables,
        limited,
    })
}
