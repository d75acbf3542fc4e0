//! User input: from a line editor on a terminal, or else lines from standard input.

use std::io::{BufRead, IsTerminal, stdin};
use std::path::PathBuf;

use quillet::components::traces::create_parent_folder;
use quillet::settings;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config as EditorConfig, Context, Editor, Helper};
use tokio::task::spawn_blocking;

use crate::failure::CliError;
use crate::terminal;

const PROMPT: &str = "> ";
/// Maximum number of lines in the history.
const MOST_REMEMBERED: usize = 1_000;
/// Maximum length of a line from standard input, in bytes.
const MOST_BYTES: u64 = 32 << 20;

/// An input event.
#[derive(Debug)]
pub(crate) enum UserInput {
    Line(String),
    /// Control-C while no answer was in progress.
    Interrupt,
    End,
}

/// Source of lines.
pub(crate) enum InputSource {
    /// The editor, which is absent while it reads, and its history file.
    Editor(Option<Box<LineEditor>>, Option<PathBuf>),
    Piped,
}

type LineEditor = Editor<SlashCompleter, FileHistory>;

impl InputSource {
    /// Opens the line editor on a terminal, or else standard input. `commands` can be completed;
    /// `history` is the name of the history file in the user's folder.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub(crate) fn open(commands: Vec<String>, history: &str) -> Result<Self, CliError> {
        InputSource::with_names(commands, Vec::new(), history)
    }

    /// Like [`InputSource::open`], but with names that complete anywhere in a line, ignoring case.
    ///
    /// # Errors
    /// The same as [`InputSource::open`].
    pub(crate) fn with_names(
        commands: Vec<String>,
        names: Vec<String>,
        history: &str,
    ) -> Result<Self, CliError> {
        if !stdin().is_terminal() {
            return Ok(InputSource::Piped);
        }
        let failed = |error: ReadlineError| {
            CliError::Other(format!("cannot start the line editor: {error}"))
        };
        let settings = EditorConfig::builder()
            .max_history_size(MOST_REMEMBERED)
            .map_err(failed)?
            .history_ignore_space(true)
            .build();
        let mut editor = LineEditor::with_config(settings).map_err(failed)?;
        editor.set_helper(Some(SlashCompleter { commands, names }));
        let path = settings::user_data().map(|folder| folder.join(history));
        if let Some(path) = &path {
            // In the first session, the history file does not exist yet.
            let _ = editor.load_history(path);
        }
        Ok(InputSource::Editor(Some(Box::new(editor)), path))
    }

    /// Whether the input is interactive.
    pub(crate) fn is_typed(&self) -> bool {
        matches!(self, InputSource::Editor(..))
    }

    /// Reads the next input.
    ///
    /// # Errors
    /// The input cannot be read.
    pub(crate) async fn next(&mut self) -> Result<UserInput, CliError> {
        match self {
            InputSource::Editor(editor, path) => {
                let taken = editor.take();
                let Some(mut taken) = taken else {
                    return Ok(UserInput::End);
                };
                let path = path.clone();
                // The editor blocks until a line is complete. It moves into the closure, which
                // cannot borrow it, and is returned with the line.
                let read = spawn_blocking(move || {
                    let said = edit(&mut taken, path);
                    (taken, said)
                });
                let (given_back, said) = read
                    .await
                    .map_err(|error| CliError::Other(format!("the line editor failed: {error}")))?;
                *editor = Some(given_back);
                said
            }
            InputSource::Piped => {
                let read = spawn_blocking(piped);
                tokio::select! {
                    said = read => said.unwrap_or(Ok(UserInput::End)),
                    // The blocked read cannot be cancelled; it ends with the process.
                    _ = tokio::signal::ctrl_c() => Err(CliError::Interrupted),
                }
            }
        }
    }
}

fn edit(editor: &mut LineEditor, path: Option<PathBuf>) -> Result<UserInput, CliError> {
    match editor.readline(PROMPT) {
        Ok(line) => {
            // A backslash at the end of a line continues it and is not part of the text.
            let line = line.replace("\\\n", "\n");
            remember(editor, &line, path);
            Ok(UserInput::Line(line))
        }
        Err(ReadlineError::Interrupted) => Ok(UserInput::Interrupt),
        Err(ReadlineError::Eof) => Ok(UserInput::End),
        Err(error) => Err(CliError::Other(format!("cannot read a line: {error}"))),
    }
}

/// Adds a line to the history. Errors are ignored, because the history is not essential.
fn remember(editor: &mut LineEditor, line: &str, path: Option<PathBuf>) {
    let _ = editor.add_history_entry(line);
    if let Some(path) = path
        && create_parent_folder(&path).is_ok()
    {
        let _ = editor.append_history(&path);
    }
}

fn piped() -> Result<UserInput, CliError> {
    let mut line = String::new();
    let mut reader = std::io::Read::take(stdin().lock(), MOST_BYTES);
    match reader.read_line(&mut line) {
        Ok(0) => Ok(UserInput::End),
        // The limit is reached, so the line may continue; sending only a part of it would be wrong.
        Ok(_) if reader.limit() == 0 => Err(CliError::Usage(format!(
            "a line of standard input is too long: limit {MOST_BYTES} bytes"
        ))),
        Ok(_) => Ok(UserInput::Line(
            line.trim_end_matches(['\n', '\r']).to_owned(),
        )),
        Err(error) => Err(CliError::Other(format!("standard input: {error}"))),
    }
}

/// Editor helper: continues lines that end with a backslash, and completes commands and names.
pub(crate) struct SlashCompleter {
    commands: Vec<String>,
    names: Vec<String>,
}

impl Completer for SlashCompleter {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        place: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = line.get(..place).unwrap_or_default();
        let is_command = begun.starts_with(['/', '.', '\\']);
        let found = self.commands.iter();
        let found = found.filter(|name| is_command && name.starts_with(begun));
        let found: Vec<String> = found.cloned().collect();
        if !found.is_empty() {
            return Ok((0, found));
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let word = begun.trim_end_matches(is_part).len();
        let start = begun.get(word..).unwrap_or_default().to_lowercase();
        let found = self.names.iter();
        let found =
            found.filter(|name| !start.is_empty() && name.to_lowercase().starts_with(&start));
        Ok((word, found.cloned().collect()))
    }
}

impl Hinter for SlashCompleter {
    type Hint = String;
}

impl Highlighter for SlashCompleter {}

impl Validator for SlashCompleter {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if context.input().ends_with('\\') {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

impl Helper for SlashCompleter {}

/// Prints a hint on standard error if the input is interactive.
pub(crate) fn print_hint(input: &InputSource, text: &str) {
    if input.is_typed() {
        terminal::note(text);
    }
}
