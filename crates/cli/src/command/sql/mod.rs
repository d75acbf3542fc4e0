//! `quillet sql`: converts a question to a checked query and runs it.

mod catalogue;
mod cell;
mod colour;
mod connections;
mod dot;
mod evaluate;
mod execution;
mod export;
mod failed;
mod files;
mod format;
mod history;
mod output;
mod pgpass;
mod prompts;
mod query;
mod question;
mod session;
mod shell;
mod signals;
mod table;
mod target;
mod tour;

pub(crate) use target::DEMO;
pub(crate) use tour::tour;

use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::args::{Sql, SqlCommand};
use crate::failure::CliError;
use quillet::settings::Settings;

/// Maximum time to cancel queries on their servers.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(crate) async fn run(args: &Sql, config: &Settings) -> Result<(), CliError> {
    let done = if shell::is_wanted(args) {
        shell::run(args, config).await
    } else {
        tokio::select! {
            biased;
            done = work(args, config) => done,
            _ = signals::wait_for_end() => Err(CliError::Interrupted),
        }
    };
    if matches!(done, Err(CliError::Interrupted)) {
        wait_for_cleanup().await;
    }
    done
}

async fn work(args: &Sql, config: &Settings) -> Result<(), CliError> {
    let Some(command) = &args.command else {
        return match &args.sql {
            Some(sql) => query::run(args, sql, config).await,
            None => question::run(args, config).await,
        };
    };
    match command {
        SqlCommand::Run { sql, .. } => {
            query::run(args, sql.as_deref().unwrap_or("-"), config).await
        }
        SqlCommand::Tables { words, most } => {
            catalogue::tables(args, words.as_deref(), *most, config).await
        }
        SqlCommand::Schema { tables } => catalogue::schema(args, tables, config).await,
        SqlCommand::Refresh => catalogue::refresh(args, config).await,
        SqlCommand::Add { .. } => connections::add(args, command, config).await,
        SqlCommand::List => connections::list(args, config).await,
        SqlCommand::Remove { name } => connections::remove(name, config).await,
        SqlCommand::Test { database } => connections::test(args, database.as_deref(), config).await,
        SqlCommand::History {
            accept: Some(id), ..
        } => history::accept(args, *id, true, config).await,
        SqlCommand::History {
            unaccept: Some(id), ..
        } => history::accept(args, *id, false, config).await,
        SqlCommand::History { words, most, .. } => history::run(args, words, *most, config).await,
        SqlCommand::Format { sql, dialect } => format::run(sql, dialect),
        SqlCommand::Eval(eval) => evaluate::run(args, eval, config).await,
    }
}

/// Waits for the tasks that cancel queries on their servers after the command was dropped.
async fn wait_for_cleanup() {
    let tasks = Handle::current().metrics();
    let begun = Instant::now();
    // The number of tasks is polled, because Tokio cannot wait for tasks without their handles.
    while tasks.num_alive_tasks() > 0 && begun.elapsed() < LAST_WORDS {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
