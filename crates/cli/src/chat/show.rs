//! Shows a run on the terminal: text on standard output, and everything else as notes on standard
//! error.

use std::io;

use quillet::settings::Settings;
use quillet_agent::{AgentEvent, CompactionReport};
use serde_json::Value;

use super::{ProseWriter, one_line, sanitize};
use crate::args::ReasoningDisplay;
use crate::terminal::{self, Stream, TextStyle, styled};

/// Maximum length of arguments and results in a note, in characters.
const MOST_NOTED: usize = 160;

/// Output of a run.
#[derive(Debug)]
pub(crate) struct ChatPrinter {
    /// Whether text is written as it arrives.
    pub(crate) streams: bool,
    prose: ProseWriter,
    reasoning: bool,
    colour: bool,
    /// Whether reasoning was written without a final new line.
    is_thinking: bool,
}

impl ChatPrinter {
    /// Creates a printer for standard output.
    pub(crate) fn new(streams: bool, reasoning: ReasoningDisplay, config: &Settings) -> Self {
        ChatPrinter {
            streams,
            prose: ProseWriter::new(config),
            reasoning: match reasoning {
                ReasoningDisplay::Always => true,
                ReasoningDisplay::Never => false,
                ReasoningDisplay::Auto => Stream::Err.is_terminal(),
            },
            colour: Stream::Err.has_colour(),
            is_thinking: false,
        }
    }

    /// Whether a note would start on a new line.
    pub(crate) fn is_at_a_new_line(&self) -> bool {
        !self.prose.is_open() && !self.is_thinking
    }

    /// Shows an event of a run.
    ///
    /// # Errors
    /// Standard output was closed by its reader.
    pub(crate) fn show(&mut self, event: &AgentEvent) -> io::Result<()> {
        match event {
            AgentEvent::Text(text) if self.streams => {
                self.text(text)?;
            }
            AgentEvent::Reasoning(text) => self.think(text),
            AgentEvent::ToolStarted { name, input, .. } => {
                let input = Value::Object(input.clone()).to_string();
                self.note(&format!(
                    "→ {} {}",
                    one_line(name, 64),
                    one_line(&input, MOST_NOTED)
                ))?;
            }
            AgentEvent::ToolDone {
                error,
                for_model,
                took,
                ..
            } => {
                let took = took.as_millis();
                self.note(&match error {
                    None => format!("← {} ({took} ms)", one_line(for_model, MOST_NOTED)),
                    Some(why) => format!("← failed: {} ({took} ms)", one_line(why, MOST_NOTED)),
                })?;
            }
            AgentEvent::CallRequired { name, .. } => {
                self.note(&format!(
                    "the model called {}, which must be executed by the client",
                    one_line(name, 64)
                ))?;
            }
            AgentEvent::Compacted(report) => self.note(&compacted(report))?,
            AgentEvent::ToolLimitReached { rounds } => {
                self.note(&format!("limit of {rounds} tool rounds reached (agent.tool_rounds): the model must answer now"))?;
            }
            AgentEvent::SkillLoaded { name } => {
                self.note(&format!("loaded skill {}", one_line(name, 64)))?;
            }
            AgentEvent::ApprovalRequired { name, .. } => {
                self.note(&format!("{} needs approval", one_line(name, 64)))?;
            }
            AgentEvent::Text(_) | AgentEvent::Resumed { .. } | AgentEvent::Ended(_) => {}
        }
        Ok(())
    }

    /// Writes text of the model.
    ///
    /// # Errors
    /// Standard output was closed by its reader.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.end_thinking();
        self.prose.write_text(text)
    }

    /// Ends the line of the text.
    ///
    /// # Errors
    /// Standard output was closed by its reader.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.end_thinking();
        self.prose.end()
    }

    fn think(&mut self, text: &str) {
        if self.reasoning && !text.is_empty() {
            self.is_thinking = true;
            terminal::piece(&styled(&sanitize(text), TextStyle::Dim, self.colour));
        }
    }

    fn end_thinking(&mut self) {
        if std::mem::take(&mut self.is_thinking) {
            terminal::piece("\n");
        }
    }

    /// Writes a one-line note. If an unfinished line of text is on the same terminal, that line is
    /// ended first.
    fn note(&mut self, text: &str) -> io::Result<()> {
        self.end_thinking();
        // A file or pipe must not get line breaks because of notes on the terminal.
        if self.prose.is_looked_at() {
            self.prose.end()?;
        }
        terminal::note(&styled(text, TextStyle::Dim, self.colour));
        Ok(())
    }
}

fn compacted(report: &CompactionReport) -> String {
    format!(
        "shortened the conversation from {} to {} tokens to fit the model ({})",
        report.tokens_before,
        report.tokens_after,
        report.strategies.join(", ")
    )
}
