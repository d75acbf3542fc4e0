//! Session commands: lines that start with `.` as in sqlite3, or with a backslash as in psql.

use quillet_core::nearest;

/// All commands with their descriptions.
const NAMES: [(&str, &str); 9] = [
    ("help", "list commands"),
    (
        "tables",
        "[WORDS]  list tables: all, by pattern with *, or relevant to words",
    ),
    ("schema", "[TABLE…]  show columns, keys and comments"),
    ("sql", "show the last query"),
    (
        "export",
        "FILE  save the rows of the last query; the ending sets the format",
    ),
    ("run", "[on|off]  run queries without confirmation"),
    ("new", "start a new conversation"),
    ("refresh", "refresh the catalogue"),
    ("quit", "exit, like Control-D"),
];
/// Aliases from psql and sqlite3.
const ALSO: [(&str, &str); 11] = [
    ("d", "schema"),
    ("d+", "schema"),
    ("dt", "tables"),
    ("l", "tables"),
    ("h", "help"),
    ("?", "help"),
    ("q", "quit"),
    ("exit", "quit"),
    ("describe", "schema"),
    ("clear", "new"),
    ("output", "export"),
];

/// Meaning of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellInput<'a> {
    /// An empty line.
    Empty,
    /// A command and its arguments.
    Command(&'static str, &'a str),
    /// An unknown command.
    Unknown(String),
    /// A question or a query.
    Words(&'a str),
}

/// Parses a line.
pub(super) fn read(line: &str) -> ShellInput<'_> {
    let line = line.trim();
    let Some(command) = line.strip_prefix(['.', '\\', '/']) else {
        return match line {
            "" => ShellInput::Empty,
            "quit" | "exit" | "quit;" | "exit;" => ShellInput::Command("quit", ""),
            "help" | "help;" => ShellInput::Command("help", ""),
            line => ShellInput::Words(line),
        };
    };
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let (name, rest) = (
        name.trim_end_matches(';'),
        rest.trim().trim_end_matches(';'),
    );
    // `\d` without a name lists tables. With a name, it describes a table.
    let also = ALSO
        .iter()
        .find(|(other, _)| *other == name)
        .map(|(_, meant)| *meant);
    let meant = match also {
        Some("schema") if name.starts_with('d') && rest.is_empty() => "tables",
        Some(meant) => meant,
        None => name,
    };
    let known = NAMES.iter().map(|(known, _)| *known);
    match known.clone().find(|known| *known == meant) {
        Some(known) => ShellInput::Command(known, rest),
        None => {
            let near = nearest(name, known).map(|near| format!("; did you mean .{near}?"));
            ShellInput::Unknown(format!(
                "unknown command .{name}{}; .help lists all commands",
                near.unwrap_or_default()
            ))
        }
    }
}

/// Returns all commands as the user types them.
pub(super) fn commands() -> Vec<String> {
    let psql = ["\\d", "\\dt", "\\q"].map(str::to_owned);
    let own = NAMES.iter().map(|(name, _)| format!(".{name}"));
    own.chain(psql).collect()
}

/// Returns the text of `.help`.
pub(super) fn help() -> String {
    let lines = NAMES
        .iter()
        .map(|(name, what)| format!("  .{name:<8} {what}"));
    let mut lines: Vec<String> = lines.collect();
    lines.push("Anything else is a question, or SQL if it starts with SELECT or WITH.".to_owned());
    lines.push(
        "\\d, \\dt and \\q work as in psql; end a line with a backslash to continue it.".to_owned(),
    );
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands_of_three_programs_or_words() {
        for (line, meant) in [
            ("", ShellInput::Empty),
            ("  ", ShellInput::Empty),
            (".tables", ShellInput::Command("tables", "")),
            ("\\dt", ShellInput::Command("tables", "")),
            ("\\d", ShellInput::Command("tables", "")),
            ("\\d orders;", ShellInput::Command("schema", "orders")),
            (".schema a b", ShellInput::Command("schema", "a b")),
            ("/exit", ShellInput::Command("quit", "")),
            ("\\q", ShellInput::Command("quit", "")),
            ("quit", ShellInput::Command("quit", "")),
            (".export a b.csv", ShellInput::Command("export", "a b.csv")),
            ("how many?", ShellInput::Words("how many?")),
            ("select 1", ShellInput::Words("select 1")),
        ] {
            assert_eq!(read(line), meant, "{line:?}");
        }
        let ShellInput::Unknown(why) = read(".shcema") else {
            panic!();
        };
        assert!(why.contains("did you mean .schema?"), "{why}");
    }
}
