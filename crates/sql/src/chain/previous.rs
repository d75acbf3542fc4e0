//! Earlier questions of the conversation, so that "and only Berlin?" has a meaning.

use serde::{Deserialize, Serialize};

use super::untrusted_text::sanitize_line;

/// Most characters of a query that the model is shown again.
const QUERY: usize = 2_000;

/// A question of the same talk and the query that answered it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierQuestion {
    /// The question.
    pub question: String,
    /// The query that was generated for it.
    pub sql: String,
}

/// Questions and queries as a part of the prompt, with an empty line behind; nothing where there
/// are none. They are data: a question stays on its line, and lines of a query are indented.
pub(super) fn shown(previous: &[EarlierQuestion]) -> String {
    if previous.is_empty() {
        return String::new();
    }
    let mut text = "Earlier Requests, which this one may go on from:\n".to_owned();
    for EarlierQuestion { question, sql } in previous {
        text.push_str(&format!("- {}\n", sanitize_line(question)));
        let cut: String = sql.chars().take(QUERY).collect();
        for line in cut.lines().filter(|line| !line.trim().is_empty()) {
            text.push_str(&format!("    {}\n", line.trim_end()));
        }
    }
    text.push('\n');
    text
}
