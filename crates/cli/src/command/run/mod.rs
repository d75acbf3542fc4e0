//! `quillet run`: runs a script, or sends a prompt to its model ([`prompt`]).

mod approval;
mod arguments;
mod durable;
mod history;
mod interactive;
mod outcome;
mod prompt;
mod screen;

use std::io::{IsTerminal, stdin};
use std::sync::Arc;
use std::time::Duration;

use approval::AtTerminal;
use history::ConversationFile;
use interactive::Dialogue;
use quillet::settings::{self, Settings};
use quillet_core::{Exit, Map, Value};
use quillet_script::host::{Grants, RunAccess};
use quillet_script::library::{self, OpenedScript};
use quillet_script::run::{ScriptEngine, ScriptOutcome, ScriptRun, ScriptSession};
use quillet_script::{ErrorKind, ScriptError};
use screen::ScriptPrinter;

use crate::args::RunArgs;
use crate::failure::CliError;
use crate::scripts::{self, McpSources};
use crate::terminal::{self, Stream};

pub(crate) async fn run(args: &RunArgs, config: &Settings) -> Result<(), CliError> {
    if args.durable {
        durable::check(args, config)?;
        let source = match prompt::prompt_name(args, config).await? {
            Some(name) => durable::ScriptOrigin::Store(name),
            None => durable::ScriptOrigin::File(Box::new(open(args).await?)),
        };
        return durable::run(args, config, source).await;
    }
    if let Some(name) = prompt::prompt_name(args, config).await? {
        return prompt::run(args, name, config).await;
    }
    if args.with.model.len() > 1 {
        return Err(CliError::Usage(
            "a script runs with one model: repeat -m only to compare models on a prompt".into(),
        ));
    }
    let (opened, arguments) = open(args).await?;
    let (models, asked) = if args.dry_run {
        (scripts::dry_run_models(config)?, McpSources::None)
    } else {
        (scripts::models(config)?, McpSources::All)
    };
    let library = opened.library.clone();
    let engine = scripts::engine(&args.with, config, Arc::new(models), library, asked);
    let mut engine = engine.await?;
    let screen = Arc::new(ScriptPrinter::new(args, &opened.script));
    // The terminal can ask for approval only if a person can read and answer the question.
    if !args.dry_run && stdin().is_terminal() && Stream::Err.is_terminal() {
        engine.tools = Arc::new(AtTerminal::new(engine.tools, screen.clone()));
    }
    let history = ConversationFile::open(&args.chats, &opened.script, args.dry_run)?;
    let job = ScriptRun {
        script: opened.script.clone(),
        arguments,
        stream: !args.no_stream,
        parameters: parameters(args),
        history: history
            .as_ref()
            .map(ConversationFile::turns)
            .unwrap_or_default(),
        seed: args.seed,
        reach: run_access(args)?,
        observer: screen.clone(),
    };
    let ran = run_script(args, &engine, job, &screen).await?;
    let (session, outcome) = match ran {
        Ok(ran) => ran,
        Err(error) => {
            screen.end_partial(&error)?;
            // The requests before the failure are shown too, because they may explain the error.
            let requests = screen.requests();
            if args.dry_run && !requests.is_empty() {
                outcome::requests(args, &requests)?;
            }
            scripts::print_error(&error, Some(&opened.script.source));
            return Err(CliError::Said(error.kind.code().exit()));
        }
    };
    // This note follows the answer, because only the run shows whether a model was called.
    if screen.used_mock() && config.text(&settings::MODEL).is_none() && !args.dry_run {
        terminal::note(
            "no model is configured, so the built-in mock answered; set a model with -m",
        );
    }
    finish(args, &opened, &screen, session, outcome, history).await
}

/// Shows the outcome, saves the conversation, and continues it with `--interactive`.
async fn finish(
    args: &RunArgs,
    opened: &OpenedScript,
    screen: &ScriptPrinter,
    session: Option<ScriptSession>,
    outcome: ScriptOutcome,
    mut history: Option<ConversationFile>,
) -> Result<(), CliError> {
    if args.dry_run {
        history = None;
    }
    if let Some(history) = &mut history {
        history.write(&outcome)?;
    }
    end(args, screen, &outcome)?;
    let Some(session) = session else {
        return Ok(());
    };
    let talk = Dialogue {
        session,
        screen,
        history,
        source: &opened.script.source,
    };
    talk.run_loop().await
}

/// Opens the script and reads its input.
async fn open(
    args: &RunArgs,
) -> Result<(OpenedScript, quillet_script::run::ScriptInput), CliError> {
    // With -f, the first positional argument is the input, not a script.
    let (name, text) = match (&args.file, &args.script) {
        (Some(file), first) => (
            file.as_str(),
            first.as_deref().or(args.arguments.as_deref()),
        ),
        (None, Some(script)) => (script.as_str(), args.arguments.as_deref()),
        (None, None) => return Err(CliError::Usage("missing script".into())),
    };
    let arguments = arguments::read(args, text, name == "-")?;
    let search = scripts::search(&args.with)?;
    let opened = match name {
        "-" => arguments::script_of_stdin(&search),
        name => library::open(name, &search).await,
    };
    match opened {
        Ok(opened) => {
            let input = arguments.input(&opened.script);
            Ok((opened, input))
        }
        Err(error) => {
            scripts::print_error(&error, None);
            // If the script itself is missing, the exit code is a plain failure; inside a script,
            // this kind means a missing dependency.
            let code = match error.kind {
                ErrorKind::NotFound => Exit::Failure,
                kind => kind.code().exit(),
            };
            Err(CliError::Said(code))
        }
    }
}

/// Returns the access of the run. A dry run ignores all grants.
fn run_access(args: &RunArgs) -> Result<RunAccess, CliError> {
    let grants = scripts::grants(&args.with)?;
    if !args.dry_run {
        return Ok(RunAccess::Granted(grants));
    }
    if grants != Grants::default() {
        terminal::note("a dry run accesses nothing: the --allow-… flags have no effect");
    }
    Ok(RunAccess::Nothing)
}

/// Returns the model parameters that override those of the script.
fn parameters(args: &RunArgs) -> Map {
    let number = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let entries = [
        ("model", args.with.first_model().map(Value::from)),
        ("temperature", args.temperature.map(Value::Float)),
        ("max_tokens", args.max_tokens.map(number)),
    ];
    let entries = entries.into_iter();
    entries
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// Runs until the script ends, the timeout expires, the output is closed, or the user presses
/// Control-C.
async fn run_script(
    args: &RunArgs,
    engine: &ScriptEngine,
    job: ScriptRun,
    screen: &ScriptPrinter,
) -> Result<Result<(Option<ScriptSession>, ScriptOutcome), ScriptError>, CliError> {
    let source = job.script.source.name.clone();
    let time = args.with.limits.timeout.map(Duration::from_secs_f64);
    let late = async {
        match time {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let run = async {
        if args.interactive {
            engine
                .open(job)
                .await
                .map(|(session, outcome)| (Some(session), outcome))
        } else {
            engine.run(job).await.map(|outcome| (None, outcome))
        }
    };
    tokio::select! {
        biased;
        // The order matters: a closed output always ends the run, and a run that completes exactly
        // at the timeout counts as complete.
        () = screen.closed() => Err(CliError::ClosedPipe),
        ran = run => Ok(ran),
        () = late => {
            let seconds = time.unwrap_or_default().as_secs_f64();
            let why = format!("the run exceeded --timeout: {seconds} s");
            Ok(Err(ScriptError::plain(ErrorKind::Limit, &source, why)))
        }
        () = screen.interrupted() => {
            screen.end_interrupted()?;
            Err(CliError::Interrupted)
        }
    }
}

fn end(args: &RunArgs, screen: &ScriptPrinter, outcome: &ScriptOutcome) -> Result<(), CliError> {
    screen.check()?;
    if args.dry_run {
        return outcome::requests(args, &screen.requests());
    }
    if args.json {
        return Ok(terminal::line(&outcome::json(outcome, &screen.printed()))?);
    }
    Ok(screen.outcome(outcome)?)
}
