//! `quillet run -i`: continues the conversation line by line.

use quillet_core::Exit;
use quillet_script::ScriptError;
use quillet_script::run::{ScriptOutcome, ScriptSession};

use super::history::ConversationFile;
use super::screen::ScriptPrinter;
use crate::command::chat::input::{InputSource, UserInput, print_hint};
use crate::failure::CliError;
use crate::scripts::{self, printed};
use crate::terminal;

const HELP: &str = "/quit, /exit   exit, like Control-D
/.path         show a variable
/$fn(args)     call a function, a directive or a script
//text         say a line that begins with /
an empty line  let the model continue its last answer
\\ at the end   continue on the next line";

/// Input line of a dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DialogueInput<'a> {
    Leave,
    Help,
    GoOn,
    Variable(&'a str),
    Call(&'a str),
    Unknown(&'a str),
    Say(&'a str),
}

/// Parses a line.
fn read(line: &str) -> DialogueInput<'_> {
    let trimmed = line.trim();
    match trimmed.strip_prefix('/') {
        None if trimmed.is_empty() => DialogueInput::GoOn,
        None => DialogueInput::Say(line),
        Some("quit" | "exit") => DialogueInput::Leave,
        Some("help" | "?") => DialogueInput::Help,
        Some(rest) if rest.starts_with('/') => DialogueInput::Say(rest),
        Some(rest) if rest.starts_with('$') => DialogueInput::Call(rest),
        Some(rest) => match rest.strip_prefix('.') {
            Some(path) => DialogueInput::Variable(path),
            None => DialogueInput::Unknown(trimmed),
        },
    }
}

/// A dialogue in progress.
pub(super) struct Dialogue<'a> {
    pub(super) session: ScriptSession,
    pub(super) screen: &'a ScriptPrinter,
    pub(super) history: Option<ConversationFile>,
    pub(super) source: &'a quillet_script::syntax::ScriptSource,
}

impl Dialogue<'_> {
    /// Runs until the user exits.
    ///
    /// # Errors
    /// The terminal or the output cannot be used, or the last line of non-interactive input failed.
    pub(super) async fn run_loop(mut self) -> Result<(), CliError> {
        let commands = ["/exit", "/help", "/quit"].map(str::to_owned);
        let mut input = InputSource::open(commands.to_vec(), "run_history")?;
        print_hint(&input, "/help lists the commands, Control-D exits");
        let mut failed = None;
        loop {
            let line = match input.next().await? {
                UserInput::Line(line) => line,
                UserInput::Interrupt => {
                    terminal::note("Control-D or /exit exits");
                    continue;
                }
                UserInput::End => break,
            };
            let asked = read(&line);
            // An empty line continues the answer only if a user types it; in a pipe it is ignored.
            if asked == DialogueInput::Leave {
                break;
            }
            if asked != DialogueInput::GoOn || input.is_typed() {
                let done = self.done(asked).await?;
                failed = done.filter(|_| !input.is_typed()).or(failed);
            }
        }
        failed.map_or(Ok(()), |code| Err(CliError::Said(code)))
    }

    /// Executes a line, and returns the exit code if it failed.
    async fn done(&mut self, asked: DialogueInput<'_>) -> Result<Option<Exit>, CliError> {
        let ran = match asked {
            DialogueInput::Leave => return Ok(None),
            DialogueInput::Help => {
                terminal::note(HELP);
                return Ok(None);
            }
            DialogueInput::Unknown(text) => {
                terminal::note(&format!("unknown command {text}; /help lists all commands"));
                return Ok(Some(Exit::Usage));
            }
            DialogueInput::Variable(path) => match self.session.variable(path).await {
                Ok(value) => {
                    let shown =
                        value.map_or_else(|| "undefined".to_owned(), |value| printed(&value));
                    terminal::line(&shown)?;
                    return Ok(None);
                }
                Err(error) => Err(error),
            },
            DialogueInput::Call(text) => self.run_step(DialogueStep::Call(text)).await?,
            DialogueInput::Say(text) => self.run_step(DialogueStep::Say(text)).await?,
            DialogueInput::GoOn => self.run_step(DialogueStep::GoOn).await?,
        };
        match ran {
            Ok(outcome) => {
                self.screen.outcome(&outcome)?;
                if let Some(history) = &mut self.history {
                    history.write(&outcome)?;
                }
                Ok(None)
            }
            Err(error) => {
                self.screen.end_partial(&error)?;
                scripts::print_error(&error, Some(self.source));
                Ok(Some(error.kind.code().exit()))
            }
        }
    }

    /// Runs a step; Control-C cancels only this step.
    async fn run_step(
        &self,
        step: DialogueStep<'_>,
    ) -> Result<Result<ScriptOutcome, ScriptError>, CliError> {
        let session = &self.session;
        let taken = async {
            match step {
                DialogueStep::Say(text) => session.send_message(text).await,
                DialogueStep::GoOn => session.continue_dialogue().await,
                DialogueStep::Call(text) => session.call(text).await,
            }
        };
        tokio::select! {
            biased;
            // Polled first: without a reader, no further tokens should be spent.
            () = self.screen.closed() => Err(CliError::ClosedPipe),
            ran = taken => Ok(ran),
            () = self.screen.interrupted() => {
                self.screen.end_interrupted()?;
                terminal::note("stopped");
                Ok(Ok(session.outcome()))
            }
        }
    }
}

enum DialogueStep<'a> {
    Say(&'a str),
    GoOn,
    Call(&'a str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands_or_words() {
        let cases = [
            ("/quit", DialogueInput::Leave),
            ("/exit ", DialogueInput::Leave),
            ("", DialogueInput::GoOn),
            ("  ", DialogueInput::GoOn),
            ("hello /quit", DialogueInput::Say("hello /quit")),
            ("//path", DialogueInput::Say("/path")),
            ("/.prompt.a", DialogueInput::Variable("prompt.a")),
            ("/$echo(1)", DialogueInput::Call("$echo(1)")),
            ("/nonsense", DialogueInput::Unknown("/nonsense")),
        ];
        for (line, asked) in cases {
            assert_eq!(read(line), asked, "{line:?}");
        }
    }
}
