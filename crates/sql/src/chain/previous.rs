//! Earlier questions of a conversation, so that the model can interpret "and only Berlin?".

use serde::{Deserialize, Serialize};

use super::untrusted_text::sanitize_line;

/// Maximum characters of an earlier query in a prompt.
const QUERY: usize = 2_000;

/// An earlier question of the conversation and its generated query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierQuestion {
    /// The question.
    pub question: String,
    /// The generated query.
    pub sql: String,
}

/// Formats earlier questions and queries for the prompt, followed by an empty line; empty if there
/// are none. They are untrusted data: a question stays on one line, and lines of a query are
/// indented.
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
