//! Output: only results go to standard output, notes go to standard error, and colour is for
//! terminals only.

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal, Write};

use rustyline::completion::Completer;
use rustyline::config::Config as EditorConfig;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Editor, Helper};

use crate::failure::CliError;

/// An output stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

impl Stream {
    /// Returns whether the stream is a terminal.
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Stream::Out => io::stdout().is_terminal(),
            Stream::Err => io::stderr().is_terminal(),
        }
    }

    /// Returns whether to use colour on the stream.
    pub(crate) fn has_colour(self) -> bool {
        colour(|name| env::var(name).ok(), self.is_terminal())
    }
}

/// Follows the conventions of no-color.org and bixense.com/clicolors.
fn colour(variable: impl Fn(&str) -> Option<String>, is_terminal: bool) -> bool {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        return false;
    }
    if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    let dumb = set("TERM").is_some_and(|value| value == "dumb");
    is_terminal && !dumb && set("CLICOLOR").is_none_or(|value| value != "0")
}

/// Text style.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextStyle {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
}

/// Returns the text in a style if `colour` is set.
pub(crate) fn styled(text: &str, style: TextStyle, colour: bool) -> String {
    if !colour {
        return text.to_owned();
    }
    let code = match style {
        TextStyle::Bold => "1",
        TextStyle::Dim => "2",
        TextStyle::Red => "1;31",
        TextStyle::Green => "32",
        TextStyle::Yellow => "33",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Writes a result unchanged.
pub(crate) fn result(text: &str) -> io::Result<()> {
    bytes(text.as_bytes())
}

/// Writes a binary result.
pub(crate) fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Writes a result and ends its line.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Writes a note to standard error; ignores a closed stream.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes part of a line to standard error.
pub(crate) fn piece(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Reads a secret without showing it.
///
/// # Errors
/// The terminal cannot be read, or the user cancelled.
pub(crate) fn hidden(prompt: &str) -> Result<String, CliError> {
    let mut editor = Editor::<Mask, _>::with_history(EditorConfig::default(), MemHistory::new())
        .map_err(|error| CliError::Other(error.to_string()))?;
    editor.set_helper(Some(Mask));
    editor.readline(prompt).map_err(|error| match error {
        ReadlineError::Interrupted => CliError::Interrupted,
        error => CliError::Other(format!("cannot read the key: {error}")),
    })
}

/// Asks a yes-or-no question. Enter alone means `otherwise`. Any other answer, or the end of the
/// input, means no.
///
/// # Errors
/// The user pressed Control-C, or the terminal cannot be read.
pub(crate) fn confirm(question: &str, otherwise: bool) -> Result<bool, CliError> {
    let mut editor = Editor::<(), _>::with_history(EditorConfig::default(), MemHistory::new())
        .map_err(|error| CliError::Other(error.to_string()))?;
    match editor.readline(question) {
        Ok(answer) => Ok(match answer.trim().to_lowercase().as_str() {
            "" => otherwise,
            answer => matches!(answer, "y" | "yes" | "是"),
        }),
        Err(ReadlineError::Eof) => Ok(false),
        Err(ReadlineError::Interrupted) => Err(CliError::Interrupted),
        Err(error) => Err(CliError::Other(format!("cannot read the answer: {error}"))),
    }
}

/// Returns the width of the terminal for results: `COLUMNS`, the terminal's own width, or 80.
pub(crate) fn width() -> usize {
    let said = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let known = said.or_else(of_terminal).filter(|width| *width > 0);
    known.unwrap_or(80)
}

#[cfg(unix)]
fn of_terminal() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(size.ws_col.into())
}

#[cfg(not(unix))]
fn of_terminal() -> Option<usize> {
    None
}

/// Shows an asterisk for each typed character.
struct Mask;

impl Completer for Mask {
    type Candidate = String;
}
impl Hinter for Mask {
    type Hint = String;
}
impl Validator for Mask {}
impl Helper for Mask {}
impl Highlighter for Mask {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned("*".repeat(line.chars().count()))
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        true
    }
}

/// Writes an error.
pub(crate) fn error(text: &str) {
    let head = styled("error:", TextStyle::Red, Stream::Err.has_colour());
    note(&format!("{head} {text}"));
}

/// Writes a warning.
pub(crate) fn warning(text: &str) {
    let head = styled("warning:", TextStyle::Yellow, Stream::Err.has_colour());
    note(&format!("{head} {text}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_obeys_the_conventions() {
        type Set = &'static [(&'static str, &'static str)];
        let cases: [(Set, bool, bool); 9] = [
            (&[], true, true),
            (&[], false, false),
            (&[("NO_COLOR", "1")], true, false),
            (&[("NO_COLOR", "")], true, true),
            (&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false, false),
            (&[("CLICOLOR_FORCE", "1")], false, true),
            (&[("CLICOLOR_FORCE", "0")], false, false),
            (&[("TERM", "dumb")], true, false),
            (&[("CLICOLOR", "0")], true, false),
        ];
        for (variables, terminal, expected) in cases {
            let look = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(colour(look, terminal), expected, "{variables:?} {terminal}");
        }
    }
}
