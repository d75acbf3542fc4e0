//! Parsing of a query from the answer of a model: JSON, fenced code or plain SQL, with or without
//! thinking before it.

use serde::Deserialize;

/// A query as a model wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenQuery {
    /// The SQL.
    pub sql: String,
    /// What it does.
    pub explanation: Option<String>,
}

#[derive(Deserialize)]
struct AnswerFields {
    #[serde(alias = "query", alias = "SQL")]
    sql: Option<String>,
    #[serde(alias = "reason", alias = "description")]
    explanation: Option<serde_json::Value>,
}

/// The query in an answer; `None` where there is none.
///
/// In this order: a JSON object with `sql`, alone, fenced or inside other words; the first
/// fenced code that is SQL; the whole text if it begins like SQL. Words around are the explanation.
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
    // Thinking often contains drafts of queries, which must not be taken for the answer.
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

/// A JSON object inside other words.
fn object_inside(text: &str) -> Option<WrittenQuery> {
    // A bound on attempts: each may scan the rest of the answer.
    let starts = text.match_indices('{').map(|(i, _)| i).take(32);
    starts.into_iter().find_map(|start| {
        let mut values =
            serde_json::Deserializer::from_str(&text[start..]).into_iter::<AnswerFields>();
        written(values.next()?.ok()?)
    })
}

/// Why there is no query, where the model says so in the form that it was asked for.
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
    // Some models fence the SQL inside the JSON.
    let sql = unfenced(&sql).map_or(sql.clone(), |inside| inside.trim().to_owned());
    let explanation = match object.explanation {
        Some(serde_json::Value::String(text)) => Some(text),
        _ => None,
    };
    (!sql.is_empty()).then_some(WrittenQuery { sql, explanation })
}

/// Words that a query, or something that is refused as one, begins with.
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
    // "Select the rows …" is a sentence; what follows has to look like a query's next part.
    let known = FIRST.iter().any(|first| first.eq_ignore_ascii_case(word));
    known && after.starts_with(|c: char| c.is_whitespace() || "(*'\"`[".contains(c))
}

/// The text without a block of thinking at its start and without a byte order mark;
/// `None` if the block never ends.
pub(super) fn without_thinking(answer: &str) -> Option<&str> {
    let text = answer.trim_start_matches('\u{feff}').trim();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some(rest) = text.strip_prefix(open) {
            return rest.split_once(close).map(|(_, after)| after.trim());
        }
    }
    Some(text)
}

/// The inside of the first code fence, without the name of its language.
pub(super) fn unfenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```")?;
    let inside = rest.split_once("```").map_or(rest, |(inside, _)| inside);
    let word = inside
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(0);
    let (language, after) = inside.split_at(word);
    // On one line the first word may be part of the code itself.
    if after.starts_with(['\n', '\r', ' ']) && !begins_like_sql(inside) && !language.is_empty() {
        Some(after)
    } else {
        Some(inside)
    }
}
