//! Commands of a session: lines that begin with `.` as in sqlite3, or with a backslash as in psql.

use quillet_core::nearest;

/// All of them, with what they do.
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
/// What psql and sqlite3 call them.
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

/// What a line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellInput<'a> {
    /// Nothing.
    Empty,
    /// A command, and what stands behind it.
    Command(&'static str, &'a str),
    /// No command is named so.
    Unknown(String),
    /// A question, or SQL.
    Words(&'a str),
}

/// Reads a line.
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
    // `\\d` alone lists tables; with a name it describes one.
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

/// All of them as they are typed.
pub(super) fn commands() -> Vec<String> {
    let psql = ["\\d", "\\dt", "\\q"].map(str::to_owned);
    let own = NAMES.iter().map(|(name, _)| format!(".{name}"));
    own.chain(psql).collect()
}

/// All of them, for `.help`.
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
