//! `quillet run -i`: the dialogue goes on, line by line.

use quillet_core::Exit;
use quillet_script::ScriptError;
use quillet_script::run::{Outcome, Session};

use super::history::History;
use super::screen::Screen;
use crate::command::chat::input::{Input, Said, tell};
use crate::failure::Failure;
use crate::scripts::{self, printed};
use crate::terminal;

const HELP: &str = "/quit, /exit   leave; so does control-D
/.path         show a variable
/$fn(args)     call a function, a directive or a script
//text         say a line that begins with /
an empty line  let the model go on with its last answer
\\ at the end   go on in the next line";

/// What a line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked<'a> {
    Leave,
    Help,
    GoOn,
    Variable(&'a str),
    Call(&'a str),
    Unknown(&'a str),
    Say(&'a str),
}

/// Reads a line.
fn read(line: &str) -> Asked<'_> {
    let trimmed = line.trim();
    match trimmed.strip_prefix('/') {
        None if trimmed.is_empty() => Asked::GoOn,
        None => Asked::Say(line),
        Some("quit" | "exit") => Asked::Leave,
        Some("help" | "?") => Asked::Help,
        Some(rest) if rest.starts_with('/') => Asked::Say(rest),
        Some(rest) if rest.starts_with('$') => Asked::Call(rest),
        Some(rest) => match rest.strip_prefix('.') {
            Some(path) => Asked::Variable(path),
            None => Asked::Unknown(trimmed),
        },
    }
}

/// A dialogue on its way.
pub(super) struct Talk<'a> {
    pub(super) session: Session,
    pub(super) screen: &'a Screen,
    pub(super) history: Option<History>,
    pub(super) source: &'a quillet_script::syntax::Source,
}

impl Talk<'_> {
    /// Goes on until the user leaves.
    ///
    /// # Errors
    /// The terminal or the output cannot be used, or the last line of a program failed.
    pub(super) async fn go_on(mut self) -> Result<(), Failure> {
        let commands = ["/exit", "/help", "/quit"].map(str::to_owned);
        let mut input = Input::open(commands.to_vec(), "run_history")?;
        tell(&input, "/help shows the commands, control-D ends");
        let mut failed = None;
        loop {
            let line = match input.next().await? {
                Said::Line(line) => line,
                Said::Interrupt => {
                    terminal::note("control-D or /exit ends");
                    continue;
                }
                Said::End => break,
            };
            let asked = read(&line);
            // An empty line of a program says nothing.
            if asked == Asked::Leave {
                break;
            }
            if asked != Asked::GoOn || input.is_typed() {
                let done = self.done(asked).await?;
                failed = done.filter(|_| !input.is_typed()).or(failed);
            }
        }
        failed.map_or(Ok(()), |code| Err(Failure::Said(code)))
    }

    /// Does what a line asks for; gives the exit code of what failed.
    async fn done(&mut self, asked: Asked<'_>) -> Result<Option<Exit>, Failure> {
        let ran = match asked {
            Asked::Leave => return Ok(None),
            Asked::Help => {
                terminal::note(HELP);
                return Ok(None);
            }
            Asked::Unknown(text) => {
                terminal::note(&format!("there is no {text}; /help shows all"));
                return Ok(Some(Exit::Usage));
            }
            Asked::Variable(path) => match self.session.variable(path).await {
                Ok(value) => {
                    let shown =
                        value.map_or_else(|| "undefined".to_owned(), |value| printed(&value));
                    terminal::line(&shown)?;
                    return Ok(None);
                }
                Err(error) => Err(error),
            },
            Asked::Call(text) => self.heard(Step::Call(text)).await?,
            Asked::Say(text) => self.heard(Step::Say(text)).await?,
            Asked::GoOn => self.heard(Step::GoOn).await?,
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
                scripts::tell(&error, Some(self.source));
                Ok(Some(error.kind.code().exit()))
            }
        }
    }

    /// Takes a step; control-C ends it and nothing else.
    async fn heard(&self, step: Step<'_>) -> Result<Result<Outcome, ScriptError>, Failure> {
        let session = &self.session;
        let taken = async {
            match step {
                Step::Say(text) => session.say(text).await,
                Step::GoOn => session.go_on().await,
                Step::Call(text) => session.call(text).await,
            }
        };
        tokio::select! {
            biased;
            () = self.screen.closed() => Err(Failure::ClosedPipe),
            ran = taken => Ok(ran),
            () = self.screen.interrupted() => {
                self.screen.end_interrupted()?;
                terminal::note("stopped");
                Ok(Ok(session.outcome()))
            }
        }
    }
}

enum Step<'a> {
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
            ("/quit", Asked::Leave),
            ("/exit ", Asked::Leave),
            ("", Asked::GoOn),
            ("  ", Asked::GoOn),
            ("hello /quit", Asked::Say("hello /quit")),
            ("//path", Asked::Say("/path")),
            ("/.prompt.a", Asked::Variable("prompt.a")),
            ("/$echo(1)", Asked::Call("$echo(1)")),
            ("/nonsense", Asked::Unknown("/nonsense")),
        ];
        for (line, asked) in cases {
            assert_eq!(read(line), asked, "{line:?}");
        }
    }
}
