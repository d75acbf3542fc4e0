//! `quillet run`: a script, its arguments, its result. A prompt goes to its model ([`prompt`]).

mod arguments;
mod asked;
mod durable;
mod history;
mod interactive;
mod outcome;
mod prompt;
mod screen;

use std::io::{IsTerminal, stdin};
use std::sync::Arc;
use std::time::Duration;

use asked::AtTerminal;
use history::History;
use interactive::Talk;
use quillet::settings::{self, Settings};
use quillet_core::{Exit, Map, Value};
use quillet_script::host::{Grants, Reach};
use quillet_script::library::{self, Opened};
use quillet_script::run::{Engine, Job, Outcome, Session};
use quillet_script::{ErrorKind, ScriptError};
use screen::Screen;

use crate::args::Run;
use crate::failure::Failure;
use crate::scripts::{self, Asked};
use crate::terminal::{self, Stream};

pub(crate) async fn run(args: &Run, config: &Settings) -> Result<(), Failure> {
    if args.durable {
        durable::check(args, config)?;
        let source = match prompt::named(args, config).await? {
            Some(name) => durable::Source::Store(name),
            None => durable::Source::File(Box::new(open(args).await?)),
        };
        return durable::run(args, config, source).await;
    }
    if let Some(name) = prompt::named(args, config).await? {
        return prompt::run(args, name, config).await;
    }
    if args.with.model.len() > 1 {
        return Err(Failure::Usage(
            "a script runs with one model: -m is given several times to compare what models answer to a prompt".into(),
        ));
    }
    let (opened, arguments) = open(args).await?;
    let (models, asked) = if args.dry_run {
        (scripts::unasked_models(config)?, Asked::Nobody)
    } else {
        (scripts::models(config)?, Asked::All)
    };
    let library = opened.library.clone();
    let engine = scripts::engine(&args.with, config, Arc::new(models), library, asked);
    let mut engine = engine.await?;
    let screen = Arc::new(Screen::new(args, &opened.script));
    if !args.dry_run && stdin().is_terminal() && Stream::Err.is_terminal() {
        engine.tools = Arc::new(AtTerminal::new(engine.tools, screen.clone()));
    }
    let history = History::open(&args.chats, &opened.script, args.dry_run)?;
    let job = Job {
        script: opened.script.clone(),
        arguments,
        stream: !args.no_stream,
        parameters: parameters(args),
        history: history.as_ref().map(History::turns).unwrap_or_default(),
        seed: args.seed,
        reach: reach(args)?,
        observer: screen.clone(),
    };
    let ran = once(args, &engine, job, &screen).await?;
    let (session, outcome) = match ran {
        Ok(ran) => ran,
        Err(error) => {
            screen.end_partial(&error)?;
            // What it would have asked until there is worth as much as the reason it stopped for.
            let requests = screen.requests();
            if args.dry_run && !requests.is_empty() {
                outcome::requests(args, &requests)?;
            }
            scripts::tell(&error, Some(&opened.script.source));
            return Err(Failure::Said(error.kind.code().exit()));
        }
    };
    if screen.used_mock() && config.text(&settings::MODEL).is_none() && !args.dry_run {
        terminal::note("no model is configured: the built-in mock answered; name one with -m");
    }
    finish(args, &opened, &screen, session, outcome, history).await
}

/// Shows the outcome, keeps the conversation, and goes on with it if that is asked for.
async fn finish(
    args: &Run,
    opened: &Opened,
    screen: &Screen,
    session: Option<Session>,
    outcome: Outcome,
    mut history: Option<History>,
) -> Result<(), Failure> {
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
    let talk = Talk {
        session,
        screen,
        history,
        source: &opened.script.source,
    };
    talk.go_on().await
}

/// The script and what it is given.
async fn open(args: &Run) -> Result<(Opened, quillet_script::run::Input), Failure> {
    // With -f, what stands first is no script.
    let (name, text) = match (&args.file, &args.script) {
        (Some(file), first) => (
            file.as_str(),
            first.as_deref().or(args.arguments.as_deref()),
        ),
        (None, Some(script)) => (script.as_str(), args.arguments.as_deref()),
        (None, None) => return Err(Failure::Usage("no script is named".into())),
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
            scripts::tell(&error, None);
            // Inside of a script the same kind is of what the script names.
            let code = match error.kind {
                ErrorKind::NotFound => Exit::Failure,
                kind => kind.code().exit(),
            };
            Err(Failure::Said(code))
        }
    }
}

/// What the run may reach. A dry run is given no grant, whatever was asked for.
fn reach(args: &Run) -> Result<Reach, Failure> {
    let grants = scripts::grants(&args.with)?;
    if !args.dry_run {
        return Ok(Reach::Granted(grants));
    }
    if grants != Grants::default() {
        terminal::note("a dry run reaches nothing: the --allow-… flags do nothing in it");
    }
    Ok(Reach::Nothing)
}

/// Parameters of models that the command line sets over those of the script.
fn parameters(args: &Run) -> Map {
    let number = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let entries = [
        ("model", args.with.named().map(Value::from)),
        ("temperature", args.temperature.map(Value::Float)),
        ("max_tokens", args.max_tokens.map(number)),
    ];
    let entries = entries.into_iter();
    entries
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// Runs until the script ends, the time is over, the reader of the output leaves or the user
/// presses control-C.
async fn once(
    args: &Run,
    engine: &Engine,
    job: Job,
    screen: &Screen,
) -> Result<Result<(Option<Session>, Outcome), ScriptError>, Failure> {
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
        // In this order: a run that nobody reads is over whatever else is ready, and one that is
        // done is done even at the last moment of its time.
        () = screen.closed() => Err(Failure::ClosedPipe),
        ran = run => Ok(ran),
        () = late => {
            let seconds = time.unwrap_or_default().as_secs_f64();
            let why = format!("the run took longer than {seconds} s, the limit of --timeout");
            Ok(Err(ScriptError::plain(ErrorKind::Limit, &source, why)))
        }
        () = screen.interrupted() => {
            screen.end_interrupted()?;
            Err(Failure::Interrupted)
        }
    }
}

fn end(args: &Run, screen: &Screen, outcome: &Outcome) -> Result<(), Failure> {
    screen.check()?;
    if args.dry_run {
        return outcome::requests(args, &screen.requests());
    }
    if args.json {
        return Ok(terminal::line(&outcome::json(outcome, &screen.printed()))?);
    }
    Ok(screen.outcome(outcome)?)
}
