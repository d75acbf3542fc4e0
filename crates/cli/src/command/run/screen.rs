//! What a run shows: results and `$print` on standard output, everything else on standard error.
//!
//! An answer goes to standard output as it comes only if standard output is a terminal and the
//! answer is known to be the result. What was streamed is not printed again.

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

/// Characters of arguments and results of tools in a note.
const MOST_NOTED: usize = 160;

/// Where a run is shown.
#[derive(Debug)]
pub(crate) struct ScriptPrinter {
    /// Whether answers go to standard output as they come.
    streams: bool,
    /// Whether every answer is shown, and not the result alone.
    interactive: bool,
    /// Whether `$print` is kept for a report in place of being printed.
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
    /// The answer that is coming or came last.
    answer: String,
    /// What of it went to standard output.
    streamed: String,
    /// Whether standard error stands in the middle of a line.
    open: bool,
    /// The last line of `$print`.
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

    /// Ready when the reader of standard output left.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Whoever was asked something wants the run to end.
    pub(crate) fn request_exit(&self) {
        // `notify_one` keeps a permit, so the request is not lost if nothing waits yet.
        self.left.notify_one();
    }

    /// Ready when the user wants the run to end: by control-C, or where they were asked.
    pub(crate) async fn interrupted(&self) {
        tokio::select! {
            () = self.left.notified() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    }

    /// Whether everything could be written.
    ///
    /// # Errors
    /// It could not.
    pub(crate) fn check(&self) -> io::Result<()> {
        self.state().failed.take().map_or(Ok(()), Err)
    }

    /// The lines of `$print` that were not printed.
    pub(crate) fn printed(&self) -> Vec<String> {
        self.state().printed.clone()
    }

    /// The requests.
    pub(crate) fn requests(&self) -> Vec<Map> {
        self.state().requests.clone()
    }

    /// Whether the mock was asked.
    pub(crate) fn used_mock(&self) -> bool {
        self.state().used_mock
    }

    /// Prints the result, unless it went out as it came, or `$print` has just printed it.
    ///
    /// # Errors
    /// The reader left.
    pub(crate) fn outcome(&self, outcome: &ScriptOutcome) -> io::Result<()> {
        let text = outcome.value.as_ref().map(printed).unwrap_or_default();
        let shown = outcome.printed && self.state().last_line == text;
        if shown {
            self.text("")
        } else {
            self.text(&text)
        }
    }

    /// Prints a text, unless it went out as it came.
    fn text(&self, text: &str) -> io::Result<()> {
        let mut state = self.state();
        // Cleared even if nothing is printed, so that the next result is compared with its own
        // stream.
        let streamed = std::mem::take(&mut state.streamed);
        if !streamed.is_empty() {
            terminal::result(if streamed.ends_with('\n') { "" } else { "\n" })?;
            // A script may trim the answer; white space alone is not worth printing it twice.
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

    /// Prints what a model had said before its script failed.
    ///
    /// # Errors
    /// The reader left.
    pub(crate) fn end_partial(&self, error: &ScriptError) -> io::Result<()> {
        // What `$throw` was given is what the error says.
        if self.collects || error.kind == ErrorKind::Thrown {
            return Ok(());
        }
        let partial = error.partial.as_ref().map(printed).unwrap_or_default();
        self.text(&partial)
    }

    /// Prints what a model had said when the user ended the run.
    ///
    /// # Errors
    /// The reader left.
    pub(crate) fn end_interrupted(&self) -> io::Result<()> {
        let answer = self.state().answer.clone();
        if self.collects {
            Ok(())
        } else {
            self.text(&answer)
        }
    }

    /// What a terminal would obey is made harmless for it.
    fn safe(&self, text: &str) -> String {
        if self.out_is_looked_at {
            sanitize(text).into_owned()
        } else {
            text.to_owned()
        }
    }

    fn write(&self, state: &mut OutputState, written: io::Result<()>) {
        if let Err(error) = written {
            // An observer cannot return an error, so the first one is kept for `check`.
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
            // It was shown as it came.
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
