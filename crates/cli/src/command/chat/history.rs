//! Shows, saves and undoes messages of a session.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;

use quillet_core::session::{Sessions, StoredMessage};
use quillet_core::{MessageContent, Role};

use crate::chat::sanitize;
use crate::failure::CliError;

/// Maximum number of messages to read from a session.
const MOST: usize = 100_000;

/// Formats the session as Markdown.
///
/// # Errors
/// The store is unavailable.
pub(super) async fn markdown(sessions: &dyn Sessions, session: &str) -> Result<String, CliError> {
    let turns = sessions.load(session, MOST).await?;
    let mut text = String::new();
    for turn in &turns {
        let mark = if turn.partial { " (stopped)" } else { "" };
        let _ = writeln!(text, "## {}{mark}\n", turn.message.role.as_str());
        let said = turn.message.content.to_string();
        if !said.is_empty() {
            let _ = writeln!(text, "{said}\n");
        }
        for call in &turn.message.tool_calls {
            let _ = writeln!(text, "→ `{} {}`\n", call.name, call.arguments);
        }
    }
    Ok(text)
}

/// Formats the session for a terminal.
///
/// # Errors
/// The store is unavailable.
pub(super) async fn shown(sessions: &dyn Sessions, session: &str) -> Result<String, CliError> {
    let text = markdown(sessions, session).await?;
    Ok(sanitize(&text).into_owned())
}

/// Writes the session to a new file.
///
/// # Errors
/// The file already exists or cannot be written.
pub(super) async fn save(
    sessions: &dyn Sessions,
    session: &str,
    path: &str,
) -> Result<(), CliError> {
    let text = markdown(sessions, session).await?;
    let failed = |error: std::io::Error| CliError::Other(format!("{path}: {error}"));
    // Fails if the file exists, because a mistyped name must not overwrite another file.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

/// Removes the last question and everything after it. Returns `None` if there is no question.
///
/// # Errors
/// The store is unavailable.
pub(super) async fn undo(
    sessions: &dyn Sessions,
    session: &str,
) -> Result<Option<MessageContent>, CliError> {
    let mut turns: Vec<StoredMessage> = sessions.load(session, MOST).await?;
    let is_question = |turn: &StoredMessage| turn.message.role == Role::User;
    let Some(place) = turns.iter().rposition(is_question) else {
        return Ok(None);
    };
    let question = turns.split_off(place).into_iter().next();
    // Stored messages cannot be removed one by one, so the shorter session replaces
    // the stored one.
    sessions.remove(session).await?;
    if !turns.is_empty() {
        sessions.append(session, &turns).await?;
    }
    Ok(question.map(|turn| turn.message.content))
}
