//! `quillet sql` alone: a session of questions, each of which may go on from those before.
//!
//! On a terminal with an editor; lines of a pipe are answered one after the other. Control-C ends
//! what runs, not the session.

use std::path::PathBuf;

use quillet::settings::Settings;
use quillet_core::{ErrorCode, Exit};
use quillet_sql::chain::Previous;
use quillet_sql::guard::{self, Policy};
use quillet_sql::{Catalogue, Dialect};

use super::cell::one_line;
use super::dot::{self, Line};
use super::session::Session;
use super::{catalogue, interrupted, query, question, told_to_end};
use crate::args::{ShowRows, Sql};
use crate::command::chat::input::{Input, Said, tell};
use crate::failure::Failure;
use crate::terminal;

/// Words that begin a statement, and a question as well: what follows decides.
const STATEMENTS: [&str; 11] = [
    "with", "values", "explain", "insert", "update", "delete", "create", "drop", "alter",
    "truncate", "pragma",
];
/// Tables that words find.
const MOST_TABLES: usize = 10;

/// Whether nothing is asked yet.
pub(super) fn is_wanted(args: &Sql) -> bool {
    args.command.is_none() && args.sql.is_none() && args.question.is_empty()
}

pub(super) async fn run(args: &Sql, config: &Settings) -> Result<(), Failure> {
    if args.shown().output.is_some() {
        return Err(Failure::Usage(
            "--output takes the rows of one question; in a session .export FILE writes them".into(),
        ));
    }
    let opened = async {
        let opened = Session::open_or_demo(args, config).await?;
        let catalogue = catalogue::read(&opened.0, false).await?;
        Ok::<_, Failure>((opened, catalogue))
    };
    let ((session, is_demo), catalogue) = tokio::select! {
        biased;
        opened = opened => opened?,
        () = super::ended() => return Err(Failure::Interrupted),
    };
    if is_demo {
        terminal::note(
            "no database is named and none is stored: this is the demo, a small shop; --db NAME, URL or FILE asks another",
        );
    }
    let mut input = Input::with_names(dot::commands(), names(&catalogue), "sql_history")?;
    tell(&input, &greeting(&session, &catalogue));
    let mut talk = Talk {
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
        done = talk.go_on(&mut input) => done,
        () = told_to_end() => Err(Failure::Interrupted),
    }
}

fn greeting(session: &Session, catalogue: &Catalogue) -> String {
    let tables = match catalogue.tables.len() {
        1 => "1 table".to_owned(),
        many => format!("{many} tables"),
    };
    let asks = if session.databases.has_model() {
        "Ask in words, go on from there (\"and only Berlin?\"), or write SQL."
    } else {
        "No model is named: SQL runs without one; -m MODEL answers questions, -m mock tries them."
    };
    format!(
        "{}: {}, {tables}.\n{asks}\n.help shows the commands, control-D ends.",
        one_line(&session.label),
        catalogue.dialect.title()
    )
}

/// Names of tables and columns, for completion.
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

/// A session on its way.
struct Talk<'a> {
    args: &'a Sql,
    session: &'a Session,
    dialect: Dialect,
    /// Whether queries run without asking.
    runs: bool,
    previous: Vec<Previous>,
    /// The last query that was given out or typed.
    last: Option<String>,
    /// Why an answer failed that a program waited for.
    failed: Option<Failure>,
}

impl Talk<'_> {
    async fn go_on(&mut self, input: &mut Input) -> Result<(), Failure> {
        let mut lines = 0_usize;
        loop {
            let line = match input.next().await? {
                Said::Line(line) => line,
                Said::Interrupt => {
                    terminal::note("control-D or .quit ends");
                    continue;
                }
                Said::End => break,
            };
            let done = match dot::read(&line) {
                Line::Empty => continue,
                Line::Command("quit", _) => return self.end(),
                Line::Unknown(why) => Err(Failure::Usage(why)),
                Line::Command(name, rest) => self.ends_with(Wish::Command(name, rest), input).await,
                Line::Words(words) => self.ends_with(Wish::Words(words), input).await,
            };
            lines += 1;
            self.hear(done, input.is_typed())?;
        }
        if lines == 0 && !input.is_typed() {
            return Err(Failure::Usage(
                "there is no question: quillet sql \"How many orders are there?\" --db demo".into(),
            ));
        }
        self.end()
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Does what the line asks for, until it is done or control-C is pressed: whoever types goes on
    /// then.
    async fn ends_with(&mut self, wish: Wish<'_>, input: &Input) -> Result<(), Failure> {
        let done = tokio::select! {
            biased;
            done = self.grant(wish) => done,
            () = interrupted() => Err(Failure::Interrupted),
        };
        match done {
            Err(Failure::Interrupted) if input.is_typed() => {
                terminal::note("stopped");
                Ok(())
            }
            done => done,
        }
    }

    /// What failed is reported and does not end the session; a program hears of it at the end.
    fn hear(&mut self, done: Result<(), Failure>, is_typed: bool) -> Result<(), Failure> {
        match done {
            Ok(()) => {}
            Err(failure @ (Failure::ClosedPipe | Failure::Interrupted)) => return Err(failure),
            Err(Failure::Usage(why)) => {
                terminal::error(&why);
                self.failed = (!is_typed).then_some(Failure::Said(Exit::Usage));
            }
            Err(failure) => {
                let exit = failure.exit();
                crate::tell(&failure);
                self.failed = (!is_typed).then_some(Failure::Said(exit));
            }
        }
        Ok(())
    }

    async fn grant(&mut self, wish: Wish<'_>) -> Result<(), Failure> {
        let (name, rest) = match wish {
            Wish::Words(words) if self.is_sql(words) => return self.query(words).await,
            Wish::Words(words) => return self.question(words).await,
            Wish::Command(name, rest) => (name, rest),
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
                terminal::note("the next question stands alone");
            }
            "run" => {
                self.runs = match rest {
                    "" => !self.runs,
                    "on" => true,
                    "off" => false,
                    other => {
                        return Err(Failure::Usage(format!(
                            ".run takes on or off, not {other:?}"
                        )));
                    }
                };
                terminal::note(if self.runs {
                    "queries run without asking; .run off asks again"
                } else {
                    "queries run when you say so; .run on runs them at once"
                });
            }
            _ => terminal::note(&dot::help()),
        }
        Ok(())
    }

    async fn question(&mut self, words: &str) -> Result<(), Failure> {
        let runs = self.runs && !self.args.no_run;
        let done = question::answer(self.args, self.session, words, runs, &mut self.previous).await;
        if let Some(given) = self.previous.last().filter(|given| given.question == words) {
            self.last = Some(given.sql.clone());
        }
        // More are never shown to a model.
        let most = self.session.databases.config().previous;
        let over = self.previous.len().saturating_sub(most);
        self.previous.drain(..over);
        done
    }

    async fn query(&mut self, sql: &str) -> Result<(), Failure> {
        query::run_in(self.session, sql, self.args.shown(), self.args.with.json).await?;
        self.last = Some(sql.to_owned());
        Ok(())
    }

    async fn export(&mut self, path: &str) -> Result<(), Failure> {
        if path.is_empty() {
            return Err(Failure::Usage(
                ".export wants the name of a file: .export rows.csv".into(),
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

    fn last(&self) -> Result<&str, Failure> {
        let none = || Failure::Usage("there is no query yet".into());
        self.last.as_deref().ok_or_else(none)
    }

    /// Whether a line is SQL: SELECT begins no question; other words do where the rest is none.
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

/// What a line wants done.
enum Wish<'a> {
    Words(&'a str),
    Command(&'static str, &'a str),
}
