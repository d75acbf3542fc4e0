//! `quillet sql` without arguments: a session in which questions may refer to earlier ones.
//!
//! On a terminal, lines are read with an editor; lines from a pipe are answered one after the
//! other. Control-C cancels the current question, not the session.

use std::path::PathBuf;

use quillet::settings::Settings;
use quillet_core::{ErrorCode, Exit};
use quillet_sql::chain::EarlierQuestion;
use quillet_sql::guard::{self, Policy};
use quillet_sql::{Catalogue, SqlDialect};

use super::cell::one_line;
use super::dot::{self, ShellInput};
use super::session::SqlSession;
use super::signals::{self, wait_for_interrupt, wait_for_termination};
use super::{catalogue, query, question};
use crate::args::{ShowRows, Sql};
use crate::command::chat::input::{InputSource, UserInput, print_hint};
use crate::failure::CliError;
use crate::failure_report;
use crate::terminal;

/// Words that can start either a statement or a question; the remaining words decide which.
const STATEMENTS: [&str; 11] = [
    "with", "values", "explain", "insert", "update", "delete", "create", "drop", "alter",
    "truncate", "pragma",
];
/// Maximum number of tables found by words.
const MOST_TABLES: usize = 10;

/// Whether the arguments contain no question or query.
pub(super) fn is_wanted(args: &Sql) -> bool {
    args.command.is_none() && args.sql.is_none() && args.question.is_empty()
}

pub(super) async fn run(args: &Sql, config: &Settings) -> Result<(), CliError> {
    if args.row_options().output.is_some() {
        return Err(CliError::Usage(
            "--output works with a single question; in a session use .export FILE".into(),
        ));
    }
    let opened = async {
        let opened = SqlSession::open_or_demo(args, config).await?;
        let catalogue = catalogue::read(&opened.0, false).await?;
        Ok::<_, CliError>((opened, catalogue))
    };
    let ((session, is_demo), catalogue) = tokio::select! {
        biased;
        opened = opened => opened?,
        () = signals::wait_for_end() => return Err(CliError::Interrupted),
    };
    if is_demo {
        terminal::note(
            "no database is set or stored, so this is the demo shop; use another with --db NAME, URL or FILE",
        );
    }
    let mut input = InputSource::with_names(dot::commands(), names(&catalogue), "sql_history")?;
    print_hint(&input, &greeting(&session, &catalogue));
    let mut talk = SqlShell {
        runs: args.run,
        dialect: catalogue.dialect,
        previous: Vec::new(),
        last: None,
        failed: None,
        args,
        session: &session,
    };
    tokio::select! {
        biased;
        done = talk.run_loop(&mut input) => done,
        () = wait_for_termination() => Err(CliError::Interrupted),
    }
}

fn greeting(session: &SqlSession, catalogue: &Catalogue) -> String {
    let tables = match catalogue.tables.len() {
        1 => "1 table".to_owned(),
        many => format!("{many} tables"),
    };
    let asks = if session.databases.has_model() {
        "Ask a question, then follow up (\"and only Berlin?\"), or write SQL."
    } else {
        "No model is set: SQL works without one; for questions use -m MODEL, or -m mock to try it."
    };
    format!(
        "{}: {}, {tables}.\n{asks}\n.help lists the commands, Control-D exits.",
        one_line(&session.label),
        catalogue.dialect.title()
    )
}

/// Returns table and column names for completion.
fn names(catalogue: &Catalogue) -> Vec<String> {
    let tables = catalogue.tables.iter();
    let names = tables.flat_map(|table| {
        let columns = table.columns.iter().map(|column| column.name.clone());
        columns.chain([table.table_name.clone()])
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// A running session.
struct SqlShell<'a> {
    args: &'a Sql,
    session: &'a SqlSession,
    dialect: SqlDialect,
    /// Whether queries run without confirmation.
    runs: bool,
    previous: Vec<EarlierQuestion>,
    /// The last generated or typed query.
    last: Option<String>,
    /// The last error, if the input is not interactive.
    failed: Option<CliError>,
}

impl SqlShell<'_> {
    async fn run_loop(&mut self, input: &mut InputSource) -> Result<(), CliError> {
        let mut lines = 0_usize;
        loop {
            let line = match input.next().await? {
                UserInput::Line(line) => line,
                UserInput::Interrupt => {
                    terminal::note("Control-D or .quit exits");
                    continue;
                }
                UserInput::End => break,
            };
            let done = match dot::read(&line) {
                ShellInput::Empty => continue,
                ShellInput::Command("quit", _) => return self.end(),
                ShellInput::Unknown(why) => Err(CliError::Usage(why)),
                ShellInput::Command(name, rest) => {
                    self.ends_with(ShellAction::Command(name, rest), input)
                        .await
                }
                ShellInput::Words(words) => self.ends_with(ShellAction::Words(words), input).await,
            };
            lines += 1;
            self.report_failure(done, input.is_typed())?;
        }
        if lines == 0 && !input.is_typed() {
            return Err(CliError::Usage(
                "missing question: quillet sql \"How many orders are there?\" --db demo".into(),
            ));
        }
        self.end()
    }

    fn end(&mut self) -> Result<(), CliError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Executes a line until it completes or the user presses Control-C. An interactive session
    /// continues after Control-C.
    async fn ends_with(
        &mut self,
        wish: ShellAction<'_>,
        input: &InputSource,
    ) -> Result<(), CliError> {
        let done = tokio::select! {
            biased;
            done = self.grant(wish) => done,
            () = wait_for_interrupt() => Err(CliError::Interrupted),
        };
        match done {
            Err(CliError::Interrupted) if input.is_typed() => {
                terminal::note("stopped");
                Ok(())
            }
            done => done,
        }
    }

    /// Reports an error without ending the session. Non-interactive input gets the error at the
    /// end.
    fn report_failure(
        &mut self,
        done: Result<(), CliError>,
        is_typed: bool,
    ) -> Result<(), CliError> {
        match done {
            Ok(()) => {}
            Err(failure @ (CliError::ClosedPipe | CliError::Interrupted)) => return Err(failure),
            Err(CliError::Usage(why)) => {
                terminal::error(&why);
                self.failed = (!is_typed).then_some(CliError::Said(Exit::Usage));
            }
            Err(failure) => {
                let exit = failure.exit();
                failure_report::print_failure(&failure);
                self.failed = (!is_typed).then_some(CliError::Said(exit));
            }
        }
        Ok(())
    }

    async fn grant(&mut self, wish: ShellAction<'_>) -> Result<(), CliError> {
        let (name, rest) = match wish {
            ShellAction::Words(words) if self.is_sql(words) => return self.query(words).await,
            ShellAction::Words(words) => return self.question(words).await,
            ShellAction::Command(name, rest) => (name, rest),
        };
        let as_json = self.args.with.json;
        match name {
            "tables" => {
                let words = Some(rest).filter(|words| !words.is_empty());
                catalogue::list_tables(self.session, words, MOST_TABLES, as_json).await?;
            }
            "schema" => {
                let names: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
                catalogue::describe(self.session, &names, as_json).await?;
            }
            "export" => self.export(rest).await?,
            "refresh" => {
                let catalogue = catalogue::read(self.session, true).await?;
                terminal::note(&format!("{} tables", catalogue.tables.len()));
            }
            "sql" => terminal::line(self.last()?)?,
            "new" => {
                self.previous.clear();
                terminal::note("started a new conversation");
            }
            "run" => {
                self.runs = match rest {
                    "" => !self.runs,
                    "on" => true,
                    "off" => false,
                    other => {
                        return Err(CliError::Usage(format!(
                            ".run: expected on or off, not {other:?}"
                        )));
                    }
                };
                terminal::note(if self.runs {
                    "queries run without confirmation; .run off restores it"
                } else {
                    "queries need confirmation; with `.run on`, they run immediately"
                });
            }
            _ => terminal::note(&dot::help()),
        }
        Ok(())
    }

    async fn question(&mut self, words: &str) -> Result<(), CliError> {
        let runs = self.runs && !self.args.no_run;
        let done = question::answer(self.args, self.session, words, runs, &mut self.previous).await;
        if let Some(given) = self.previous.last().filter(|given| given.question == words) {
            self.last = Some(given.sql.clone());
        }
        // The model receives only this number of previous questions.
        let most = self.session.databases.config().previous;
        let over = self.previous.len().saturating_sub(most);
        self.previous.drain(..over);
        done
    }

    async fn query(&mut self, sql: &str) -> Result<(), CliError> {
        query::run_in(
            self.session,
            sql,
            self.args.row_options(),
            self.args.with.json,
        )
        .await?;
        self.last = Some(sql.to_owned());
        Ok(())
    }

    async fn export(&mut self, path: &str) -> Result<(), CliError> {
        if path.is_empty() {
            return Err(CliError::Usage(
                ".export needs a file name: .export rows.csv".into(),
            ));
        }
        let (path, force) = match path.strip_suffix("--force") {
            Some(path) => (path.trim_end(), true),
            None => (path, false),
        };
        let show = ShowRows {
            output: Some(PathBuf::from(path)),
            force,
            ..ShowRows::default()
        };
        query::run_in(self.session, self.last()?, &show, false).await?;
        terminal::note(&format!("written to {}", one_line(path)));
        Ok(())
    }

    fn last(&self) -> Result<&str, CliError> {
        let none = || CliError::Usage("no query yet".into());
        self.last.as_deref().ok_or_else(none)
    }

    /// Whether a line is SQL. `select` always starts a query. Other words do only if the line can
    /// be parsed.
    fn is_sql(&self, line: &str) -> bool {
        let first = line.split(|c: char| !c.is_alphanumeric()).next();
        let first = first.unwrap_or_default().to_lowercase();
        if first == "select" || (line.ends_with(';') && STATEMENTS.contains(&first.as_str())) {
            return true;
        }
        let checked = guard::check(line, self.dialect, None, &Policy::default());
        let is_read = !matches!(checked, Err(error) if error.code == ErrorCode::GuardSyntax);
        STATEMENTS.contains(&first.as_str()) && is_read
    }
}

/// Action for a line.
enum ShellAction<'a> {
    Words(&'a str),
    Command(&'static str, &'a str),
}
