//! Extracts the query from a model's answer: JSON, fenced code or plain SQL, optionally after a
//! thinking block.

use serde::Deserialize;

/// A query written by a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenQuery {
    /// The SQL.
    pub sql: String,
    /// The model's explanation of the query.
    pub explanation: Option<String>,
}

#[derive(Deserialize)]
struct AnswerFields {
    #[serde(alias = "query", alias = "SQL")]
    sql: Option<String>,
    #[serde(alias = "reason", alias = "description")]
    explanation: Option<serde_json::Value>,
}

/// Extracts the query from an answer, if the answer contains a query.
///
/// Looks first for a JSON object with the key `sql`, which may be fenced or surrounded by text,
/// then for the first code fence that contains SQL. Otherwise, the whole text is the query if it
/// starts like SQL. The surrounding text becomes the explanation.
///
/// ```
/// use quillet_sql::chain::read_query;
///
/// let query = read_query(r#"{"sql": "SELECT 1", "explanation": "One."}"#).unwrap();
/// assert_eq!(query.sql, "SELECT 1");
/// assert_eq!(query.explanation.as_deref(), Some("One."));
/// assert_eq!(read_query("I don't know."), None);
/// ```
#[must_use]
pub fn read_query(answer: &str) -> Option<WrittenQuery> {
    // Thinking often contains drafts of queries. Such drafts must not be used as the answer.
    let text = without_thinking(answer)?;
    let fenced = unfenced(text);
    let candidates = [Some(text.trim()), fenced.map(str::trim)];
    if let Some(written) = candidates.into_iter().flatten().find_map(object) {
        return Some(written);
    }
    if let Some(written) = object_inside(text) {
        return Some(written);
    }
    if let Some(sql) = fenced.map(str::trim).filter(|sql| begins_like_sql(sql)) {
        let around = text.split("```").step_by(2).map(str::trim);
        let around: Vec<&str> = around.filter(|words| !words.is_empty()).collect();
        return Some(WrittenQuery {
            sql: sql.to_owned(),
            explanation: Some(around.join("\n")).filter(|words| !words.is_empty()),
        });
    }
    let text = text.trim();
    begins_like_sql(text).then(|| WrittenQuery {
        sql: text.to_owned(),
        explanation: None,
    })
}

fn object(text: &str) -> Option<WrittenQuery> {
    if !text.starts_with('{') {
        return None;
    }
    let object: AnswerFields = serde_json::from_str(text).ok()?;
    written(object)
}

/// Finds a JSON object inside other text.
fn object_inside(text: &str) -> Option<WrittenQuery> {
    // Attempts are limited, because each may scan the remaining answer.
    let starts = text.match_indices('{').map(|(i, _)| i).take(32);
    starts.into_iter().find_map(|start| {
        let mut values =
            serde_json::Deserializer::from_str(&text[start..]).into_iter::<AnswerFields>();
        written(values.next()?.ok()?)
    })
}

/// Returns the model's reason for not writing a query, if it gave one in the requested format.
pub(super) fn read_refusal(answer: &str) -> Option<String> {
    let text = without_thinking(answer)?;
    let text = unfenced(text).unwrap_or(text).trim();
    let object: AnswerFields = serde_json::from_str(text).ok()?;
    let is_empty = object.sql.is_none_or(|sql| sql.trim().is_empty());
    match object.explanation {
        Some(serde_json::Value::String(reason)) if is_empty && !reason.trim().is_empty() => {
            Some(reason)
        }
        _ => None,
    }
}

fn written(object: AnswerFields) -> Option<WrittenQuery> {
    let sql = object.sql.map(|sql| sql.trim().to_owned())?;
    // Some models put a code fence inside the JSON string.
    let sql = unfenced(&sql).map_or(sql.clone(), |inside| inside.trim().to_owned());
    let explanation = match object.explanation {
        Some(serde_json::Value::String(text)) => Some(text),
        _ => None,
    };
    (!sql.is_empty()).then_some(WrittenQuery { sql, explanation })
}

/// Returns whether the text starts with a keyword of a query, or of a statement that the guard
/// rejects.
fn begins_like_sql(text: &str) -> bool {
    const FIRST: [&str; 18] = [
        "SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESCRIBE", "EXPLAIN", "INSERT", "UPDATE",
        "DELETE", "DROP", "CREATE", "ALTER", "TRUNCATE", "MERGE", "GRANT", "PRAGMA", "CALL",
    ];
    let mut rest = text.trim_start();
    loop {
        let after = match () {
            () if rest.starts_with("--") => rest.split_once('\n').map(|(_, after)| after),
            () if rest.starts_with("/*") => rest.split_once("*/").map(|(_, after)| after),
            () if rest.starts_with('(') => Some(&rest[1..]),
            () => break,
        };
        match after {
            Some(after) => rest = after.trim_start(),
            None => return false,
        }
    }
    let end = rest
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    // "Select the rows …" is prose, so the word after SELECT must also look like SQL.
    let known = FIRST.iter().any(|first| first.eq_ignore_ascii_case(word));
    known && after.starts_with(|c: char| c.is_whitespace() || "(*'\"`[".contains(c))
}

/// Returns the text without a leading byte order mark and thinking block, or `None` if the block is
/// unclosed.
pub(super) fn without_thinking(answer: &str) -> Option<&str> {
    let text = answer.trim_start_matches('\u{feff}').trim();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some(rest) = text.strip_prefix(open) {
            return rest.split_once(close).map(|(_, after)| after.trim());
        }
    }
    Some(text)
}

/// Returns the content of the first code fence, without its language tag.
pub(super) fn unfenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```")?;
    let inside = rest.split_once("```").map_or(rest, |(inside, _)| inside);
    let word = inside
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(0);
    let (language, after) = inside.split_at(word);
    // In a fence on one line, the first word may be code instead of a language tag.
    if after.starts_with(['\n', '\r', ' ']) && !begins_like_sql(inside) && !language.is_empty() {
        Some(after)
    } else {
        Some(inside)
    }
}
