//! The `quillet` command. Only this crate reads arguments and environment variables, and only this
//! crate prints.

// Without the feature, code that only it uses would be reported as dead.
#![cfg_attr(not(feature = "sql"), allow(dead_code))]

mod agent_file;
mod args;
mod braces;
mod cells;
mod chat;
mod command;
#[cfg(feature = "sql")]
mod databases;
#[cfg(not(feature = "sql"))]
#[path = "databases_disabled.rs"]
mod databases;
mod deprecations;
mod explain;
mod failure;
mod failure_report;
mod file_entry;
mod label_store;
mod overlay;
mod progress_bar;
mod prompt_target;
mod refusals;
mod report;
mod script_file;
mod scripts;
mod source;
mod terminal;
mod walk;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use quillet::settings::{self, Settings};
use quillet_core::Exit;
use quillet_core::store::EntryKind;

use crate::args::{Cli, Command};
use crate::failure::CliError;
use crate::terminal::Stream;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return print_usage_error(&error),
    };
    // Not `std::process::exit`: destructors must run, because they delete temporary files and reset
    // the terminal.
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure_report::print_failure(&failure);
            ExitCode::from(failure.exit() as u8)
        }
    }
}

/// Prints help, or the error of an invalid command line.
fn print_usage_error(error: &clap::Error) -> ExitCode {
    // If standard error is closed, the message is lost, but the exit code stays the same.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8))
}

fn run(cli: &Cli) -> Result<(), CliError> {
    if let Command::Completions { shell } = &cli.command {
        let mut script = Vec::new();
        clap_complete::generate(*shell, &mut Cli::command(), "quillet", &mut script);
        return Ok(terminal::result(&String::from_utf8_lossy(&script))?);
    }
    if let Command::JsWorker = &cli.command {
        return command::js_worker::run();
    }
    if let Command::Worker { arguments } = &cli.command {
        return command::worker::run(cli, arguments);
    }
    let mut config = Settings::load(cli.config.as_deref(), &cli.flags())?;
    // The log is off by default, so warnings go to standard error.
    config.warn_with(terminal::warning);
    // If the path of this executable is unknown, scripts run their JavaScript in a thread instead.
    if let Ok(transport) = command::js_worker::transport() {
        config.run_javascript_in(transport);
    }
    if cli.command.reads_prompts() {
        let configured = config.pairs(&settings::PROMPTS_SCHEMAS);
        let schemas = source::schemas(configured, cli.command.schemas())?;
        config.set_schemas(schemas);
    }
    if cli.command.is_personal() {
        chat::use_user_folder(&mut config);
    }
    if let Command::Sql(_) = &cli.command {
        databases::use_user_folder(&mut config);
    }
    if let Command::Config(command) = &cli.command {
        return command::settings::run(command, &config);
    }
    log(&config, &cli.command);
    // A server uses every core; other commands finish before a thread pool has started.
    let mut builder = match &cli.command {
        Command::Serve(_) | Command::Lsp(_) | Command::Batch(_) => {
            tokio::runtime::Builder::new_multi_thread()
        }
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder.enable_all().build();
    let runtime =
        runtime.map_err(|error| CliError::Other(format!("cannot start the runtime: {error}")))?;
    let done = runtime.block_on(dispatch(cli, &config));
    // A blocking read, for example of standard input, must not delay the exit.
    runtime.shutdown_background();
    done
}

async fn dispatch(cli: &Cli, config: &Settings) -> Result<(), CliError> {
    match &cli.command {
        // These commands handle Control-C themselves.
        Command::Serve(args) => return command::serve::run(args, config).await,
        Command::Ask(args) => return command::ask::run(args, config).await,
        Command::Chat(args) => return command::chat::run(args, config).await,
        Command::Run(args) => return command::run::run(args, config).await,
        Command::Runs(args) => return command::runs::run(args, config).await,
        Command::Batch(args) => return command::batch::run(args, config).await,
        Command::Sql(args) => return command::sql::run(args, config).await,
        _ => {}
    }
    let command = async {
        match &cli.command {
            Command::Demo => command::demo::run().await,
            Command::Render(args) => command::render::run(args, config).await,
            Command::Check(args) => command::check::run(args, config).await,
            Command::Convert(args) => command::convert::run(args),
            Command::Fmt(args) => command::fmt::run(args),
            Command::Lsp(args) => command::lsp::run(args, config).await,
            Command::Test(args) => command::test::run(args, config).await,
            Command::Mcp(_) => command::mcp::run(config).await,
            Command::Models(args) => command::models::run(args, config).await,
            Command::Keys(args) => command::keys::run(args, config),
            Command::Trace(args) => command::trace::run(args, config).await,
            Command::Agent(args) => command::stored::run(EntryKind::Agent, args, config).await,
            Command::Prompt(args) => command::stored::run(EntryKind::Prompt, args, config).await,
            Command::Tool(args) => command::stored::run(EntryKind::Tool, args, config).await,
            Command::Var(args) => command::stored::run(EntryKind::Environ, args, config).await,
            Command::Ext(args) => command::stored::run(EntryKind::Extension, args, config).await,
            Command::Versions(args) => command::history::run(args, config).await,
            Command::Doctor(args) => command::doctor::run(args, config).await,
            Command::Serve(_)
            | Command::Ask(_)
            | Command::Chat(_)
            | Command::Run(_)
            | Command::Runs(_)
            | Command::Batch(_)
            | Command::Sql(_)
            | Command::Config(_)
            | Command::JsWorker
            | Command::Worker { .. }
            | Command::Completions { .. } => Ok(()),
        }
    };
    tokio::select! {
        // The command is polled first: while it reads standard input, Control-C must kill the
        // process, so the signal handler must not be installed yet.
        biased;
        done = command => done,
        _ = tokio::signal::ctrl_c() => Err(CliError::Interrupted),
    }
}

/// Starts logging to standard error. Logging is on by default only in `serve`. Other commands
/// report their own failures, except for failed audit log entries, which do not fail a command.
fn log(config: &Settings, command: &Command) {
    let default = match command {
        Command::Serve(_) => "info",
        _ => "quillet_host::definitions=error",
    };
    let filter = config.text(&settings::LOG_FILTER).unwrap_or(default);
    if filter == "off" {
        return;
    }
    let filter = tracing_subscriber::EnvFilter::builder().parse_lossy(without_mcp_library(filter));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(Stream::Err.has_colour())
        // The subscriber reports its own errors on standard error and panics if that is closed.
        .log_internal_errors(false)
        .with_writer(std::io::stderr);
    if config.is_on(&settings::LOG_JSON) {
        builder.json().init()
    } else {
        builder.init()
    }
}

/// Returns the filter without the MCP library, which logs server details and failures that Quillet
/// reports in one line. The level debug, or a filter that names the library, shows them.
fn without_mcp_library(filter: &str) -> String {
    const LIBRARY: &str = "rmcp";
    let wants_all = ["debug", "trace", LIBRARY];
    if wants_all
        .iter()
        .any(|word| filter.to_lowercase().contains(word))
    {
        filter.to_owned()
    } else {
        format!("{filter},{LIBRARY}=off")
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_mcp_library_is_quiet_unless_it_is_asked_for() {
        for (given, used) in [
            ("info", "info,rmcp=off"),
            (
                "warn,quillet_server=info",
                "warn,quillet_server=info,rmcp=off",
            ),
            ("DEBUG", "DEBUG"),
            ("info,rmcp=info", "info,rmcp=info"),
        ] {
            assert_eq!(super::without_mcp_library(given), used);
        }
    }
}
