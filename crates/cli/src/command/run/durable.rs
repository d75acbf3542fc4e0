//! `quillet run --durable`: a script run that survives this process.

use std::sync::Arc;

use quillet::settings::{self, Settings};
use quillet::{Host, components};
use quillet_agent::EndReason;
use quillet_core::chat::ChatOptions;
use quillet_core::store::Store;
use quillet_core::{Map, Value};
use quillet_host::agent::{AdmissionError, AgentRequest, Principal, ScriptRequest};
use quillet_prompt::RenderInput as Asked;
use quillet_script::library::OpenedScript;
use quillet_script::run::ScriptInput;
use quillet_store::MemoryStore;

use super::arguments;
use crate::args::{ReasoningDisplay, RunArgs};
use crate::chat::{ChatPrinter, follow_run, result_of_ending};
use crate::failure::CliError;
use crate::terminal;

/// Source of a script.
pub(super) enum ScriptOrigin<'a> {
    /// Id of a stored script.
    Store(&'a str),
    /// Script file with its input.
    File(Box<(OpenedScript, ScriptInput)>),
}

pub(super) async fn run(
    args: &RunArgs,
    config: &Settings,
    source: ScriptOrigin<'_>,
) -> Result<(), CliError> {
    let store = components::optional_store(config).await?;
    let store = store.unwrap_or_else(|| Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let host = Host::with_store(config, store, false).await?;
    let request = match source {
        ScriptOrigin::Store(name) => of_store(args, &host, name).await?,
        ScriptOrigin::File(opened) => {
            let (opened, input) = *opened;
            of_file(args, &opened, input)
        }
    };
    let request = ScriptRequest {
        model: args.with.first_model().or(request.model),
        options: ChatOptions {
            temperature: args.temperature,
            max_tokens: args.max_tokens,
            ..ChatOptions::default()
        },
        stream: !args.no_stream,
        net: args.with.grants.allow_net,
        seed: args.seed,
        ask: args.ask.clone(),
        ..request
    };
    let (who, id) = (Principal::from_address("terminal"), components::new_id());
    let begun = host
        .agents()
        .begin(AgentRequest::of_script(request), &who, &id)
        .await;
    let mut running = begun.map_err(|refused| match refused {
        AdmissionError::Store(error) => error.into(),
        other => CliError::Other(other.to_string()),
    })?;
    let run = running.id().to_owned();
    terminal::note(&format!("run {run}"));
    let mut screen = ChatPrinter::new(!args.no_stream, ReasoningDisplay::Auto, config);
    let outcome = follow_run(&mut running, &mut screen, &mut Vec::new()).await;
    drop(running);
    host.flush().await;
    let outcome = outcome?;
    if args.no_stream {
        screen.text(&outcome.text)?;
    }
    screen.end()?;
    if matches!(outcome.ending, EndReason::ApprovalRequired) {
        terminal::note(&format!(
            "the run needs approval: `quillet runs show {run}`, `quillet runs decide {run} approve`, then `quillet runs resume {run}`"
        ));
    }
    result_of_ending(outcome.ending)
}

/// Rejects options that another process could not apply when it resumes the run.
pub(super) fn check(args: &RunArgs, config: &Settings) -> Result<(), CliError> {
    let (grants, limits) = (&args.with.grants, &args.with.limits);
    let refused = [
        // Grants and limits are not part of the journal, so another process could not enforce them.
        ("--allow-read", !grants.allow_read.is_empty()),
        ("--allow-write", !grants.allow_write.is_empty()),
        ("--allow-run", grants.allow_run),
        ("--allow-env", !grants.allow_env.is_empty()),
        ("--max-steps", limits.max_steps.is_some()),
        ("--max-calls", limits.max_calls.is_some()),
        ("--max-tokens-total", limits.max_tokens_total.is_some()),
        ("--max-cost", limits.max_cost.is_some()),
        ("--max-depth", limits.max_depth.is_some()),
        ("--timeout", limits.timeout.is_some()),
        ("--histories", args.chats.histories.is_some()),
    ];
    if let Some((flag, _)) = refused.iter().find(|(_, is_given)| *is_given) {
        return Err(CliError::Usage(format!(
            "{flag} cannot be used with --durable: another process may resume the run with its own settings and the journal only"
        )));
    }
    let place = config
        .text(&settings::AGENT_JOURNAL)
        .or(config.text(&settings::STORE_URL))
        .unwrap_or("memory:");
    // A folder or memory store has no journal, so the run would die with this process.
    if place.starts_with("sqlite:") || place.starts_with("redis") {
        return Ok(());
    }
    Err(CliError::Usage(format!(
        "--durable needs a persistent journal, and {place} is not persistent: set agent.journal (QUILLET_JOURNAL) to sqlite:PATH or redis://HOST"
    )))
}

async fn of_store(args: &RunArgs, host: &Host, name: &str) -> Result<ScriptRequest, CliError> {
    let text = args.arguments.as_deref();
    let variables = arguments::read(args, text, false)?.variables()?;
    let prompts = host.prompts();
    let snapshot = prompts.catalogue().snapshot();
    let input = Asked::new(&variables, "run");
    match prompts.script_in(&snapshot, name, &input).await? {
        Some(job) => Ok(ScriptRequest::of_job(&job)),
        None => Err(CliError::Usage(format!(
            "{name} is a prompt, not a script: only agents and scripts have durable runs"
        ))),
    }
}

fn of_file(args: &RunArgs, opened: &OpenedScript, input: ScriptInput) -> ScriptRequest {
    // The text is stored with the run, because the file may change before the run resumes.
    let source = &opened.script.source;
    let (arguments, single, question) = match input {
        ScriptInput::None => (Map::default(), None, None),
        ScriptInput::Named(named) => (named, None, None),
        ScriptInput::Single(Value::Str(text)) => (Map::default(), None, Some(text.to_string())),
        ScriptInput::Single(other) => (Map::default(), Some(other), None),
    };
    // The process that resumes the run may have another working folder, so paths are absolute.
    let path = source.path.as_ref();
    let path = path.map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
    let search = args.with.search.iter();
    let search = search.map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
    ScriptRequest {
        id: quillet_script::library::id(&opened.script).to_owned(),
        name: source.name.clone(),
        text: source.text.to_string(),
        path,
        search: search.collect(),
        arguments,
        single,
        question,
        ..ScriptRequest::default()
    }
}
