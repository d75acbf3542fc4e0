//! Output of a run: results and `$print` on standard output, everything else on standard error.
//!
//! An answer is streamed to standard output only if that is a terminal and the answer is known to
//! be the result. A streamed answer is not printed again.

use std::io;
use std::sync::{Mutex, MutexGuard};

use quillet_core::Map;
use quillet_core::lock::lock;
use quillet_script::call::request_map;
use quillet_script::host::{Observer, RunEvent};
use quillet_script::run::ScriptOutcome;
use quillet_script::syntax::Script;
use quillet_script::{ErrorKind, ScriptError};
use tokio::sync::Notify;

use crate::args::{EchoMode, RunArgs};
use crate::chat::{one_line, sanitize};
use crate::report;
use crate::scripts::{self, MOCK, printed};
use crate::terminal::{self, Stream, TextStyle, styled};

/// Maximum length of tool arguments and results in a note, in characters.
const MOST_NOTED: usize = 160;

/// Output of a script run.
#[derive(Debug)]
pub(crate) struct ScriptPrinter {
    /// Whether answers are streamed to standard output.
    streams: bool,
    /// Whether every answer is shown, not only the result.
    interactive: bool,
    /// Whether `$print` output is collected for a report instead of being printed.
    collects: bool,
    echo: EchoMode,
    out_is_looked_at: bool,
    err_has_colour: bool,
    source: std::sync::Arc<quillet_script::syntax::ScriptSource>,
    state: Mutex<OutputState>,
    closed: Notify,
    left: Notify,
}

#[derive(Debug, Default)]
struct OutputState {
    /// The current or latest answer.
    answer: String,
    /// The part of the answer that was streamed to standard output.
    streamed: String,
    /// Whether the cursor on standard error is in the middle of a line.
    open: bool,
    /// The last line printed by `$print`.
    last_line: String,
    printed: Vec<String>,
    requests: Vec<Map>,
    used_mock: bool,
    failed: Option<io::Error>,
}

impl ScriptPrinter {
    pub(crate) fn new(args: &RunArgs, script: &Script) -> Self {
        let out_is_looked_at = Stream::Out.is_terminal();
        ScriptPrinter {
            streams: !args.no_stream && !args.json && (args.interactive || out_is_looked_at),
            interactive: args.interactive,
            collects: args.json || args.dry_run,
            echo: args.echo,
            out_is_looked_at,
            err_has_colour: Stream::Err.has_colour(),
            source: script.source.clone(),
            state: Mutex::default(),
            closed: Notify::new(),
            left: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, OutputState> {
        lock(&self.state)
    }

    /// Completes when standard output is closed by its reader.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Ends the run, because the user left an approval prompt.
    pub(crate) fn request_exit(&self) {
        // `notify_one` keeps a permit, so the request is not lost if nothing waits yet.
        self.left.notify_one();
    }

    /// Completes when the user ends the run with Control-C or at an approval prompt.
    pub(crate) async fn interrupted(&self) {
        tokio::select! {
            () = self.left.notified() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    }

    /// Checks that all output was written.
    ///
    /// # Errors
    /// Some output could not be written.
    pub(crate) fn check(&self) -> io::Result<()> {
        self.state().failed.take().map_or(Ok(()), Err)
    }

    /// Returns the collected lines of `$print`.
    pub(crate) fn printed(&self) -> Vec<String> {
        self.state().printed.clone()
    }

    /// Returns the recorded requests.
    pub(crate) fn requests(&self) -> Vec<Map> {
        self.state().requests.clone()
    }

    /// Whether the mock model was called.
    pub(crate) fn used_mock(&self) -> bool {
        self.state().used_mock
    }

    /// Prints the result, unless it was already streamed or printed by `$print`.
    ///
    /// # Errors
    /// Standard output was closed by its reader.
    pub(crate) fn outcome(&self, outcome: &ScriptOutcome) -> io::Result<()> {
        let text = outcome.value.as_ref().map(printed).unwrap_or_default();
        let shown = outcome.printed && self.state().last_line == text;
        if shown {
            self.text("")
        } else {
            self.text(&text)
        }
    }

    /// Prints a text, unless it was already streamed.
    fn text(&self, text: &str) -> io::Result<()> {
        let mut state = self.state();
        // Cleared even if nothing is printed, so that the next result is compared with its own
        // stream.
        let streamed = std::mem::take(&mut state.streamed);
        if !streamed.is_empty() {
            terminal::result(if streamed.ends_with('\n') { "" } else { "\n" })?;
            // A script may trim the answer, and a difference in white space does not justify
            // printing the answer twice.
            if streamed.trim() == text.trim() {
                return Ok(());
            }
        }
        if text.is_empty() {
            Ok(())
        } else {
            terminal::line(&self.safe(text))
        }
    }

    /// Prints the partial answer after a script failed.
    ///
    /// # Errors
    /// Standard output was closed by its reader.
    pub(crate) fn end_partial(&self, error: &ScriptError) -> io::Result<()> {
        // The error message already contains the value of `$throw`.
        if self.collects || error.kind == ErrorKind::Thrown {
            return Ok(());
        }
        let partial = error.partial.as_ref().map(printed).unwrap_or_default();
        self.text(&partial)
    }

    /// Prints the partial answer after the user ended the run.
    ///
    /// # Errors
    /// Standard output was closed by its reader.
    pub(crate) fn end_interrupted(&self) -> io::Result<()> {
        let answer = self.state().answer.clone();
        if self.collects {
            Ok(())
        } else {
            self.text(&answer)
        }
    }

    /// Sanitises a text if it goes to a terminal.
    fn safe(&self, text: &str) -> String {
        if self.out_is_looked_at {
            sanitize(text).into_owned()
        } else {
            text.to_owned()
        }
    }

    fn write(&self, state: &mut OutputState, written: io::Result<()>) {
        if let Err(error) = written {
            // An observer cannot return an error, so the first one is stored for `check`.
            state.failed.get_or_insert(error);
            self.closed.notify_one();
        }
    }

    fn delta(&self, state: &mut OutputState, role: &str, text: &str, closing: bool) {
        state.answer.push_str(text);
        if self.streams && (closing || self.interactive) {
            state.streamed.push_str(text);
            let written = terminal::result(&self.safe(text));
            self.write(state, written);
        }
        if self.echo == EchoMode::Line {
            if !state.open {
                terminal::piece(&styled(
                    &format!("[{role}]: "),
                    TextStyle::Dim,
                    self.err_has_colour,
                ));
            }
            terminal::piece(&sanitize(text));
            state.open = true;
        }
    }

    fn note(&self, state: &mut OutputState, text: &str) {
        if std::mem::take(&mut state.open) {
            terminal::piece("\n");
        }
        terminal::note(text);
    }

    fn message(&self, state: &mut OutputState, role: &str, content: &str) {
        let is_shown = state.open;
        match self.echo {
            EchoMode::False => {}
            // The message was already streamed, so only its line end is missing.
            EchoMode::Line if is_shown => {
                state.open = false;
                terminal::piece("\n");
            }
            EchoMode::True | EchoMode::Line => {
                let role = styled(&format!("[{role}]:"), TextStyle::Dim, self.err_has_colour);
                self.note(state, &format!("{role} {}", sanitize(content)));
            }
        }
    }

    fn tool(&self, state: &mut OutputState, text: &str) {
        if self.echo != EchoMode::False {
            let text = styled(text, TextStyle::Dim, self.err_has_colour);
            self.note(state, &text);
        }
    }
}

impl Observer for ScriptPrinter {
    fn event(&self, event: RunEvent) {
        let mut state = self.state();
        let state = &mut *state;
        match event {
            RunEvent::Printed(line) if self.collects => state.printed.push(line),
            RunEvent::Printed(line) => {
                let written = terminal::line(&self.safe(&line));
                self.write(state, written);
                state.last_line = line;
            }
            RunEvent::Message { role, content } => self.message(state, &role, &content),
            RunEvent::Delta {
                role,
                text,
                closing,
            } => self.delta(state, &role, &text, closing),
            RunEvent::Thinking { text } => {
                if self.echo == EchoMode::Line {
                    terminal::piece(&styled(
                        &sanitize(&text),
                        TextStyle::Dim,
                        self.err_has_colour,
                    ));
                    state.open = true;
                }
            }
            RunEvent::Request(request) => {
                // A new request starts a new answer; an interrupted run shows only the last one.
                state.answer.clear();
                state.used_mock |= request.model.as_deref() == Some(MOCK);
                if self.collects {
                    state.requests.push(request_map(&request));
                }
            }
            RunEvent::ToolCall { name, arguments } => {
                let arguments = quillet_core::json::to_string(&arguments);
                let arguments = one_line(&arguments, MOST_NOTED);
                self.tool(state, &format!("→ {} {arguments}", one_line(&name, 64)));
            }
            RunEvent::ToolResult { name, result } => {
                let name = one_line(&name, 64);
                let text = match result {
                    Ok(value) => one_line(&printed(&value), MOST_NOTED),
                    Err(why) => format!("failed: {}", one_line(&why, MOST_NOTED)),
                };
                self.tool(state, &format!("← {name}: {text}"));
            }
            RunEvent::Warning(found) => {
                let finding = scripts::finding(&found, Some(&self.source));
                let text = report::show(&finding, self.err_has_colour);
                self.note(state, text.trim_end());
            }
        }
    }
}
