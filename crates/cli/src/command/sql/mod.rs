//! `quillet sql`: a question becomes a checked query, and the query rows.

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

/// How long the ends of queries that were given up may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(crate) async fn run(args: &Sql, config: &Settings) -> Result<(), CliError> {
    let done = if shell::is_wanted(args) {
        shell::run(args, config).await
    } else {
        tokio::select! {
            biased;
            done = work(args, config) => done,
            _ = ended() => Err(CliError::Interrupted),
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

/// Control-C, or the end that a system or a terminal that closes asks for: files of rows and the
/// demo are temporary files, which go when the work is dropped.
async fn ended() {
    tokio::select! {
        () = interrupted() => {}
        () = wait_for_termination() => {}
    }
}

/// Control-C.
async fn interrupted() {
    // That nobody can listen is no reason to end.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// SIGTERM or SIGHUP.
async fn wait_for_termination() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let term = signal(SignalKind::terminate());
        let hangup = signal(SignalKind::hangup());
        if let (Ok(mut term), Ok(mut hangup)) = (term, hangup) {
            tokio::select! {
                _ = term.recv() => {}
                _ = hangup.recv() => {}
            }
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// Waits for what was left to be done when the work was dropped: queries end in
/// their servers, too.
async fn wait_for_cleanup() {
    let tasks = Handle::current().metrics();
    let begun = Instant::now();
    // Polled: Tokio has no call that waits for tasks whose handles are gone.
    while tasks.num_alive_tasks() > 0 && begun.elapsed() < LAST_WORDS {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
