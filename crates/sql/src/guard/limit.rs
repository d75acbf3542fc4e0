//! Applies the row limit to a query: its own LIMIT if that is smaller, otherwise the configured
//! one.
//!
//! The tree and the tokens determine the position. The number is inserted there, and everything
//! else stays unchanged. The new text is parsed again and must give the same tree except for the
//! LIMIT. Printing the tree instead would mean trusting the printer with every construct.

use std::ops::Range;

use quillet_core::ErrorCode;
use sqlparser::ast::{LimitClause, Query, SetExpr, SetOperator};

use super::lexer::Kind;
use super::text::TokenizedQuery;
use super::{GuardError, parse};
use crate::SqlDialect;

/// Largest LIMIT that every server accepts.
const MAX_LIMIT: u64 = i64::MAX as u64;

/// Returns the text to run, the text to display, and whether the configured limit was applied.
///
/// # Errors
/// Fails if the limit cannot be inserted without changing anything else.
pub(super) fn apply_limit(
    text: &TokenizedQuery<'_>,
    query: &Query,
    rows: Option<u64>,
) -> Result<(String, String, bool), GuardError> {
    // The query that runs requests one row more than the limit, so that the caller can detect
    // missing rows. The displayed query has the limit itself.
    let edit = rows.and_then(|rows| Some((edit(text, query, rows)?, rows)));
    let Some((edit, rows)) = edit else {
        return Ok((executed_text(text, None), display_text(text, None), false));
    };
    let sql = executed_text(
        text,
        Some(&edit.with(rows.saturating_add(1).min(MAX_LIMIT))),
    );
    // This check makes the text edit safe: whatever the edit did to the tokens, the trees may
    // differ only in the LIMIT.
    let read_again = parse::query(&sql, text.dialect);
    if read_again.map(without_limit) != Ok(without_limit(query.clone())) {
        let message = "cannot set a LIMIT on this query";
        return Err(GuardError::new(ErrorCode::GuardLimit, message)
            .help(format!("end the query with LIMIT {rows} or less")));
    }
    let shown = display_text(text, Some(&edit.with(rows)));
    Ok((sql, shown, true))
}

/// A replacement in the text.
struct Edit {
    place: Range<usize>,
    before: String,
    after: &'static str,
}

impl Edit {
    fn with(&self, rows: u64) -> (Range<usize>, String) {
        let text = format!("{}{rows}{}", self.before, self.after);
        (self.place.clone(), text)
    }
}

/// Returns the edit that limits the query to `rows`. Returns `None` if the query already has a
/// smaller limit, or if the dialect does not allow a LIMIT there. In the second case the driver
/// still limits the rows.
fn edit(text: &TokenizedQuery<'_>, query: &Query, rows: u64) -> Option<Edit> {
    let (query, levels) = innermost(query);
    let region = levels..text.tokens.len().checked_sub(levels)?;
    let mut clause = Clauses::of(text, region.clone());
    // In dialects where FETCH is not a keyword, `fetch` is an ordinary column name.
    clause.fetch = clause.fetch.filter(|_| query.fetch.is_some());
    match (&clause.limit, &clause.fetch) {
        (Some(limit), _) => lower(text, limit, rows, false),
        (None, Some(fetch)) => lower(text, fetch, rows, true),
        (None, None) => append(text, query, region),
    }
}

/// Appends a LIMIT at the end of the query.
fn append(text: &TokenizedQuery<'_>, query: &Query, region: Range<usize>) -> Option<Edit> {
    let possible = match text.dialect {
        // A LIMIT inside brackets counts as the same clause in PostgreSQL, which reports "multiple
        // LIMIT clauses not allowed".
        SqlDialect::PostgreSql => !has_inner_limit(query),
        SqlDialect::MySql => true,
        // In SQLite, VALUES cannot have a LIMIT, and the LIMIT of a compound follows its last part.
        SqlDialect::Sqlite => !ends_in_values(&query.body),
    };
    let last = text.tokens.get(region.end.checked_sub(1)?)?;
    possible.then(|| Edit {
        place: last.span.end..last.span.end,
        before: " LIMIT ".to_owned(),
        after: "",
    })
}

/// Lowers a limit expression to the configured limit.
fn lower(
    text: &TokenizedQuery<'_>,
    expression: &Range<usize>,
    rows: u64,
    is_fetch: bool,
) -> Option<Edit> {
    // An empty expression (FETCH FIRST ROW ONLY) means one row and needs no edit.
    let tokens = text.tokens.get(expression.clone())?;
    let place = tokens.first()?.span.start..tokens.last()?.span.end;
    let written = text.source.get(place.clone())?;
    let replace = Edit {
        place: place.clone(),
        before: String::new(),
        after: "",
    };
    let is_none = ["ALL", "NULL"]
        .iter()
        .any(|word| written.eq_ignore_ascii_case(word));
    if is_none {
        return (text.dialect == SqlDialect::PostgreSql).then_some(replace);
    }
    match constant(text, expression.clone()) {
        // A negative LIMIT means "all" in SQLite. In the other dialects, it is an error that the
        // server reports.
        Some(own) if own < 0 => (text.dialect == SqlDialect::Sqlite).then_some(replace),
        Some(own) if own <= i128::from(rows) => None,
        Some(_) => Some(replace),
        // The comments were blanked and must stay blank, so they are not copied.
        None => wrap(
            text,
            &text.plain.get(place.clone())?.replace('\n', " "),
            is_fetch,
        )
        .map(|(before, after)| Edit {
            place,
            before,
            after,
        }),
    }
}

/// Returns the minimum of an expression and the configured limit, in the syntax of the dialect.
fn wrap(
    text: &TokenizedQuery<'_>,
    written: &str,
    is_fetch: bool,
) -> Option<(String, &'static str)> {
    match text.dialect {
        SqlDialect::PostgreSql if is_fetch => Some((format!("(LEAST({written}, "), "))")),
        SqlDialect::PostgreSql => Some((format!("LEAST({written}, "), ")")),
        // The mask removes the sign, so that a negative number, which means no limit, becomes a
        // very large limit.
        SqlDialect::Sqlite => Some((format!("min(({written}) & {MAX_LIMIT}, "), ")")),
        // MySQL accepts only literal numbers and rejects everything else itself.
        SqlDialect::MySql => None,
    }
}

/// Returns the query inside brackets that contain nothing else, and the number of brackets.
fn innermost(mut query: &Query) -> (&Query, usize) {
    let mut levels = 0;
    while let SetExpr::Query(inner) = query.body.as_ref() {
        let own = query.with.is_some()
            || query.order_by.is_some()
            || query.limit_clause.is_some()
            || query.fetch.is_some();
        if own {
            break;
        }
        query = inner;
        levels += 1;
    }
    (query, levels)
}

fn has_inner_limit(query: &Query) -> bool {
    match query.body.as_ref() {
        SetExpr::Query(inner) => {
            inner.limit_clause.is_some() || inner.fetch.is_some() || has_inner_limit(inner)
        }
        _ => false,
    }
}

fn ends_in_values(body: &SetExpr) -> bool {
    match body {
        SetExpr::Values(_) => true,
        SetExpr::SetOperation {
            right,
            op: SetOperator::Union | SetOperator::Except | SetOperator::Intersect,
            ..
        } => ends_in_values(right),
        _ => false,
    }
}

/// Tokens of the expressions in a query's own LIMIT and FETCH.
#[derive(Default)]
struct Clauses {
    limit: Option<Range<usize>>,
    fetch: Option<Range<usize>>,
}

impl Clauses {
    fn of(text: &TokenizedQuery<'_>, region: Range<usize>) -> Self {
        let mut found = Clauses::default();
        let mut depth = 0usize;
        let end = region.end;
        for i in region {
            let Some(token) = text.tokens.get(i) else {
                break;
            };
            match token.text(text.source) {
                "(" | "[" if token.kind == Kind::Mark => depth += 1,
                ")" | "]" if token.kind == Kind::Mark => depth = depth.saturating_sub(1),
                _ if depth > 0 || is_name(text, i) => {}
                _ if token.is_word(text.source, "LIMIT") => {
                    found.limit = Some(limit_expression(text, i + 1..end));
                }
                _ if token.is_word(text.source, "FETCH") => {
                    found.fetch = fetch_expression(text, i + 1..end);
                }
                _ => {}
            }
        }
        found
    }
}

/// Returns whether a word is a column name or an alias (`AS limit`, `t.limit`).
fn is_name(text: &TokenizedQuery<'_>, i: usize) -> bool {
    let before = i.checked_sub(1).and_then(|i| text.tokens.get(i));
    before.is_some_and(|t| t.is_word(text.source, "AS") || t.is_mark(text.source, "."))
}

/// Returns the limit expression. It ends at OFFSET or FETCH, and follows the comma in `LIMIT a, b`.
fn limit_expression(text: &TokenizedQuery<'_>, region: Range<usize>) -> Range<usize> {
    let mut start = region.start;
    let mut depth = 0usize;
    for i in region.clone() {
        let Some(token) = text.tokens.get(i) else {
            break;
        };
        match token.text(text.source) {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "," if depth == 0 => start = i + 1,
            word if depth == 0 && token.kind == Kind::Word => {
                let ends = ["OFFSET", "FETCH", "FOR", "ROWS"];
                if ends.iter().any(|end| word.eq_ignore_ascii_case(end)) {
                    return start..i;
                }
            }
            _ => {}
        }
    }
    start..region.end
}

/// Returns the expression between FIRST or NEXT and ROW or ROWS; empty if FETCH means one row.
fn fetch_expression(text: &TokenizedQuery<'_>, region: Range<usize>) -> Option<Range<usize>> {
    let start = region.start + 1;
    let is_end = |i: &usize| {
        let token = text.tokens.get(*i);
        token.is_some_and(|t| t.is_word(text.source, "ROW") || t.is_word(text.source, "ROWS"))
    };
    let end = (start..region.end).rev().find(is_end)?;
    Some(start..end)
}

/// Evaluates numbers, signs, sums and products.
fn constant(text: &TokenizedQuery<'_>, expression: Range<usize>) -> Option<i128> {
    let mut sum = 0i128;
    let mut sign = 1i128;
    let mut product: Option<i128> = None;
    let tokens = text.tokens.get(expression)?;
    let mut times = false;
    for token in tokens {
        match (token.kind, token.text(text.source)) {
            (Kind::Number, digits) => {
                // 128-bit arithmetic checks sums and products of 64-bit numbers exactly.
                let number: i128 = digits.parse::<u64>().ok()?.into();
                product = match (product, times) {
                    (None, false) => Some(number),
                    (Some(product), true) => Some(product.checked_mul(number)?),
                    _ => return None,
                };
                times = false;
            }
            (Kind::Mark, "*") if product.is_some() && !times => times = true,
            (Kind::Mark, mark @ ("+" | "-")) if !times => {
                if let Some(product) = product.take() {
                    sum = sum.checked_add(sign * product)?;
                    sign = 1;
                }
                if mark == "-" {
                    sign = -sign;
                }
            }
            _ => return None,
        }
    }
    sum.checked_add(sign.checked_mul(product.filter(|_| !times)?)?)
}

/// Returns the text to run, with comments replaced by blanks.
fn executed_text(text: &TokenizedQuery<'_>, limit: Option<&(Range<usize>, String)>) -> String {
    let blank = |comment: &Range<usize>| {
        let lines = text
            .source
            .get(comment.clone())
            .is_some_and(|c| c.contains('\n'));
        (comment.clone(), if lines { "\n" } else { " " }.to_owned())
    };
    let mut edits: Vec<(Range<usize>, String)> = text.comments.iter().map(blank).collect();
    edits.extend(limit.cloned());
    edits.sort_by_key(|(place, _)| place.start);
    edited(text.source, text.span(), &edits)
}

/// Returns the text to display: the original text with the new limit.
fn display_text(text: &TokenizedQuery<'_>, limit: Option<&(Range<usize>, String)>) -> String {
    let all = 0..text.source.len();
    let edits: Vec<(Range<usize>, String)> = limit.cloned().into_iter().collect();
    edited(text.source, all, &edits).trim().to_owned()
}

/// Returns a part of the text with edits applied.
fn edited(source: &str, part: Range<usize>, edits: &[(Range<usize>, String)]) -> String {
    let mut result = String::with_capacity(part.len() + 16);
    let mut at = part.start;
    for (place, new) in edits {
        // Edits outside the part are comments before the first or after the last word, which are
        // dropped.
        if place.start < at || place.end > part.end {
            continue;
        }
        result.push_str(source.get(at..place.start).unwrap_or_default());
        result.push_str(new);
        at = place.end;
    }
    result.push_str(source.get(at..part.end).unwrap_or_default());
    result
}

/// Returns the tree without its LIMIT, for comparison.
fn without_limit(mut query: Query) -> Query {
    let (_, levels) = innermost(&query);
    let mut at = &mut query;
    for _ in 0..levels {
        match at.body.as_mut() {
            SetExpr::Query(inner) => at = inner,
            _ => break,
        }
    }
    let offset = match at.limit_clause.take() {
        Some(LimitClause::LimitOffset { offset, .. }) => offset.map(|offset| offset.value),
        Some(LimitClause::OffsetCommaLimit { offset, .. }) => Some(offset),
        None => None,
    };
    at.limit_clause = offset.map(|offset| LimitClause::OffsetCommaLimit {
        limit: offset.clone(),
        offset,
    });
    if let Some(fetch) = &mut at.fetch {
        fetch.quantity = None;
    }
    query
}
