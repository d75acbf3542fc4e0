//! `quillet chat`: a conversation in the terminal, stored in a session.

pub(crate) mod approval;
mod history;
pub(crate) mod input;
mod slash;

use input::{InputSource, UserInput, print_hint};
use quillet::settings::Settings;
use quillet_agent::{AgentOutcome, EndReason};
use quillet_core::MessageContent;
use quillet_core::chat::Usage;
use quillet_core::session::Sessions;
use slash::ChatInput;

use crate::args::Chat;
use crate::chat::{self, ChatClient, ChatPrinter, follow_run};
use crate::failure::CliError;
use crate::failure_report;
use crate::terminal;

pub(crate) async fn run(args: &Chat, config: &Settings) -> Result<(), CliError> {
    let talker = ChatClient::new(&args.talk, config).await?;
    if let Some(refused) = talker.refused_parameters() {
        terminal::warning(&refused.to_string());
    }
    let sessions = talker.service.parts().sessions.clone();
    let session = session(args, sessions.as_ref()).await?;
    let mut input = InputSource::open(slash::commands(), "chat_history")?;
    let model = talker.model();
    print_hint(
        &input,
        &format!("{model}, session {session}; /help lists the commands, Control-D exits"),
    );
    let mut conversation = ChatLoop {
        screen: ChatPrinter::new(true, args.talk.reasoning, config),
        talker,
        session,
        spent: Usage::default(),
        cost: Some(0.0),
        failed: None,
    };
    let done = conversation.run_loop(&mut input).await;
    // Called even after an error, so that the traces of the conversation are saved.
    conversation.talker.close().await;
    done
}

async fn session(args: &Chat, sessions: &dyn Sessions) -> Result<String, CliError> {
    if let Some(session) = &args.session {
        return Ok(session.clone());
    }
    if !args.resume {
        return Ok(new_session());
    }
    let latest = sessions.list(1).await?.into_iter().next();
    let latest = latest.map(|info| info.id.to_string());
    latest.ok_or_else(|| CliError::Other("no session to continue".into()))
}

fn new_session() -> String {
    format!("chat-{}", quillet::components::new_id())
}

/// A running conversation.
struct ChatLoop {
    talker: ChatClient,
    session: String,
    screen: ChatPrinter,
    spent: Usage,
    /// Total cost; `None` if the price of any model is unknown.
    cost: Option<f64>,
    /// Last error, if the input is not interactive.
    failed: Option<CliError>,
}

impl ChatLoop {
    async fn run_loop(&mut self, input: &mut InputSource) -> Result<(), CliError> {
        loop {
            let line = match input.next().await? {
                UserInput::Line(line) => line,
                UserInput::Interrupt => {
                    terminal::note("Control-D or /exit exits");
                    continue;
                }
                UserInput::End => break,
            };
            let done = match slash::read(&line) {
                ChatInput::Nothing => Ok(()),
                ChatInput::Unknown(why) => Err(CliError::Other(why)),
                ChatInput::Question(text) => self.answer(text.into(), input).await,
                ChatInput::Command("exit", _) => break,
                ChatInput::Command(name, rest) => self.command(name, rest, input).await,
            };
            self.report_failure(done, input.is_typed())?;
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Reports an error without ending the conversation, unless the output is closed.
    fn report_failure(
        &mut self,
        done: Result<(), CliError>,
        is_typed: bool,
    ) -> Result<(), CliError> {
        match done {
            Ok(()) => {}
            Err(CliError::ClosedPipe) => return Err(CliError::ClosedPipe),
            Err(CliError::Interrupted) => return Err(CliError::Interrupted),
            Err(failure) => {
                let exit = failure.exit();
                failure_report::print_failure(&failure);
                // For piped input, the exit code at the end reports the failure.
                self.failed = (!is_typed).then_some(CliError::Said(exit));
            }
        }
        Ok(())
    }

    async fn answer(
        &mut self,
        content: MessageContent,
        input: &mut InputSource,
    ) -> Result<(), CliError> {
        let asked = quillet_host::agent::RunInput::Content(content);
        let mut running = self.talker.begin(asked, Some(&self.session)).await?;
        let outcome = loop {
            let run = running.run_id().to_owned();
            let outcome = follow_run(&mut running, &mut self.screen, &mut Vec::new()).await;
            drop(running);
            self.screen.end()?;
            let outcome = outcome?;
            self.count(&outcome);
            if !matches!(outcome.ending, EndReason::ApprovalRequired) {
                break outcome;
            }
            let agents = &self.talker.service;
            approval::ask(agents, &run, input).await?;
            let Some(next) = agents.resume_run(&run).await? else {
                let message = format!("run {run} cannot be resumed");
                return Err(CliError::Other(message));
            };
            running = next;
        };
        match outcome.ending {
            EndReason::Failed(error) => Err(error.into()),
            EndReason::Cancelled => {
                terminal::note("stopped; the partial answer is saved");
                Ok(())
            }
            EndReason::Silent { .. } => {
                terminal::note("the model refused to answer");
                Ok(())
            }
            EndReason::Finished(reason) => {
                if let Err(cut) = reason.ensure_complete() {
                    terminal::note(&cut.to_string());
                }
                Ok(())
            }
            EndReason::Repeated { .. } | EndReason::CallsRequired | EndReason::ApprovalRequired => {
                Ok(())
            }
        }
    }

    fn count(&mut self, outcome: &AgentOutcome) {
        let Some(usage) = outcome.usage else { return };
        let facts = self.talker.models.facts().find(&self.talker.model());
        let cost = facts.cost(&usage);
        // One answer without a known price makes the sum unknown; a partial sum would mislead.
        self.cost = self.cost.zip(cost).map(|(before, more)| before + more);
        self.spent += usage;
    }

    async fn command(
        &mut self,
        name: &str,
        rest: &str,
        input: &mut InputSource,
    ) -> Result<(), CliError> {
        let sessions = self.talker.service.parts().sessions.clone();
        match name {
            "help" => terminal::note(&slash::help()),
            "clear" => {
                self.session = new_session();
                terminal::note(&format!("session {}", self.session));
            }
            "session" => terminal::note(&self.session),
            "model" => self.model(rest),
            "system" => self.system(rest),
            "tools" => self.tools(),
            "skills" => self.skills(),
            "history" => terminal::line(&history::shown(sessions.as_ref(), &self.session).await?)?,
            "save" if rest.is_empty() => {
                return Err(CliError::Other("/save needs a file name".into()));
            }
            "save" => {
                history::save(sessions.as_ref(), &self.session, rest).await?;
                terminal::note(&format!("written to {rest}"));
            }
            "undo" => match history::undo(sessions.as_ref(), &self.session).await? {
                Some(question) => terminal::note(&format!(
                    "removed: {}",
                    chat::one_line(&question.to_string(), 80)
                )),
                None => terminal::note("no question yet"),
            },
            "retry" => match history::undo(sessions.as_ref(), &self.session).await? {
                Some(question) => return self.answer(question, input).await,
                None => terminal::note("no question yet"),
            },
            "usage" => self.usage(),
            _ => {}
        }
        Ok(())
    }

    fn model(&mut self, name: &str) {
        if !name.is_empty() {
            self.talker.request.model = Some(chat::model(name));
        }
        terminal::note(&self.talker.model());
    }

    fn system(&mut self, text: &str) {
        match text {
            "" => {}
            "-" => self.talker.request.system = None,
            text => self.talker.request.system = Some(text.to_owned()),
        }
        let system = self.talker.request.system.as_deref();
        terminal::note(system.unwrap_or("no system prompt"));
    }

    fn tools(&self) {
        let tools = &self.talker.request.tools;
        let names = tools.builtin.keys().map(String::as_str);
        list(
            &names.collect::<Vec<_>>(),
            "no tools; add some with --tool PATTERN",
        );
    }

    fn skills(&self) {
        let skills = &self.talker.request.tools.skills;
        let names = skills.iter().map(|skill| skill.name.as_str());
        list(
            &names.collect::<Vec<_>>(),
            "no skills; add some with --skill DIR",
        );
    }

    fn usage(&self) {
        let Usage {
            input_tokens,
            output_tokens,
            ..
        } = self.spent;
        let cost = self.cost.map(|cost| format!(", ${cost:.6}"));
        terminal::note(&format!(
            "{input_tokens} tokens in, {output_tokens} out{}",
            cost.unwrap_or_default()
        ));
    }
}

fn list(names: &[&str], nothing: &str) {
    if names.is_empty() {
        terminal::note(nothing)
    } else {
        terminal::note(&names.join("\n"))
    }
}
