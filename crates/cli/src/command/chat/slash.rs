//! Commands of a conversation: lines that begin with `/`.

use quillet_core::nearest;

/// All commands with their descriptions.
pub(super) const NAMES: [(&str, &str); 13] = [
    ("help", "list commands"),
    ("exit", "exit, like Control-D"),
    ("clear", "start a new session; the old one stays saved"),
    ("model", "[NAME]  show the model, or switch to another"),
    (
        "system",
        "[TEXT]  show or set the system prompt; - removes it",
    ),
    ("tools", "list the tools of the model"),
    ("skills", "list the skills of the model"),
    ("history", "show the conversation"),
    ("save", "FILE  save the conversation as Markdown"),
    ("retry", "repeat the last question"),
    ("undo", "remove the last question and its answer"),
    ("usage", "show tokens and cost since the start"),
    ("session", "show the id of the session, for --session"),
];

/// Returns all commands as the user types them.
pub(super) fn commands() -> Vec<String> {
    NAMES.iter().map(|(name, _)| format!("/{name}")).collect()
}

/// Meaning of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChatInput<'a> {
    /// A question for the model.
    Question(&'a str),
    /// A command and its arguments.
    Command(&'static str, &'a str),
    /// An unknown command.
    Unknown(String),
    /// An empty line.
    Nothing,
}

/// Parses a line. Two slashes start a question that begins with a slash.
pub(super) fn read(line: &str) -> ChatInput<'_> {
    let line = line.trim();
    if line.is_empty() {
        return ChatInput::Nothing;
    }
    let Some(command) = line.strip_prefix('/') else {
        return ChatInput::Question(line);
    };
    if command.starts_with('/') {
        return ChatInput::Question(command);
    }
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let known = NAMES.iter().map(|(known, _)| *known);
    let name = if name == "quit" { "exit" } else { name };
    match known.clone().find(|known| *known == name) {
        Some(known) => ChatInput::Command(known, rest.trim()),
        None => ChatInput::Unknown(match nearest(name, known) {
            Some(near) => format!("unknown command /{name}; did you mean /{near}?"),
            None => format!("unknown command /{name}; /help lists all commands"),
        }),
    }
}

/// Returns the text of `/help`.
pub(super) fn help() -> String {
    let lines = NAMES
        .iter()
        .map(|(name, what)| format!("  /{name:<8} {what}\n"));
    let more = "  End a line with a backslash to continue it; // starts a question with a slash.\n  Control-C stops the answer, Control-D exits.";
    format!("{}{more}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_questions_or_commands() {
        let unknown = |text: &str| ChatInput::Unknown(text.to_owned());
        let cases = [
            ("hello", ChatInput::Question("hello")),
            ("  a /b ", ChatInput::Question("a /b")),
            ("", ChatInput::Nothing),
            (" \t", ChatInput::Nothing),
            ("/help", ChatInput::Command("help", "")),
            ("/model  gpt-4o ", ChatInput::Command("model", "gpt-4o")),
            ("/quit", ChatInput::Command("exit", "")),
            ("//etc/passwd", ChatInput::Question("/etc/passwd")),
            (
                "/modle x",
                unknown("unknown command /modle; did you mean /model?"),
            ),
            (
                "/zzzzzz",
                unknown("unknown command /zzzzzz; /help lists all commands"),
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(read(line), expected, "{line:?}");
        }
    }
}
