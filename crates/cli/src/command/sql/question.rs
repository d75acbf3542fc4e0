//! Answers a question: selects tables, writes the query and optionally runs it.

use std::io::{IsTerminal, stdin};
use std::time::Instant;

use quillet::settings::Settings;
use quillet_sql::chain::{EarlierQuestion, GeneratedQuery, SelectedTable};
use quillet_sql::export::{CsvOptions, ExportFormat, RowExport};
use quillet_sql::{QueryRun, RunOptions, SqlDialect, SqlError, layout};
use serde_json::{Value, json};

use super::catalogue;
use super::cell::one_line;
use super::colour::coloured;
use super::export::Output;
use super::failed::report_error;
use super::output;
use super::session::SqlSession;
use crate::args::Sql;
use crate::cells::width;
use crate::chat::sanitize;
use crate::failure::CliError;
use crate::source;
use crate::terminal::{self, Stream, TextStyle, styled};

/// Maximum number of tables to list. Further ones are only counted.
const MOST_TABLES: usize = 12;

pub(super) async fn run(args: &Sql, config: &Settings) -> Result<(), CliError> {
    let question = question(args)?;
    let session = SqlSession::open(args, config).await?;
    answer(args, &session, &question, args.run, &mut Vec::new()).await
}

/// Answers one question of a session and adds it to the previous ones. `runs` says whether the
/// query runs without confirmation.
///
/// # Errors
/// No query could be written, or it failed. The error is already reported.
pub(super) async fn answer(
    args: &Sql,
    session: &SqlSession,
    question: &str,
    runs: bool,
    previous: &mut Vec<EarlierQuestion>,
) -> Result<(), CliError> {
    let begun = Instant::now();
    let databases = &session.databases;
    let dialect = catalogue::read(session, false).await?.dialect;
    let options = RunOptions {
        previous: previous.clone(),
        ..output::options(args.row_options(), databases.config())?
    };
    let mut given = |generated: &GeneratedQuery| {
        previous.push(EarlierQuestion {
            question: question.to_owned(),
            sql: generated.generated_sql.clone(),
        });
    };
    if runs {
        let generated = at_once(args, session, question, dialect, &options, begun).await?;
        given(&generated);
        return Ok(());
    }
    let options = RunOptions {
        question: Some(question.to_owned()),
        // The user reads the query before it runs, so it counts as accepted. A follow-up question
        // is incomplete on its own, so its query is not used as an example.
        accepted: options.previous.is_empty(),
        ..options
    };
    let generated = databases
        .generate_with(&session.name, question, &options)
        .await;
    let generated = generated.map_err(|error| report_error(&error, None))?;
    given(&generated);
    if args.chain.dry_run {
        return Ok(());
    }
    if args.with.json {
        let shown = to_json(question, session, &generated, None);
        return Ok(terminal::line(&format!("{shown:#}"))?);
    }
    print_explanation(session, &generated, begun);
    terminal::line(&sql_for(Stream::Out, &generated.generated_sql, dialect))?;
    if !asks(args) {
        return Ok(());
    }
    let given_out = on_a_wish(args, session, generated, &options).await?;
    if let Some(last) = previous.last_mut() {
        last.sql = given_out.generated_sql;
    }
    Ok(())
}

/// Runs the query if the user confirms. If the database rejects it, the model may repair it once,
/// as with `--run`, if the user agrees.
async fn on_a_wish(
    args: &Sql,
    session: &SqlSession,
    mut generated: GeneratedQuery,
    options: &RunOptions,
) -> Result<GeneratedQuery, CliError> {
    let databases = &session.databases;
    let dialect = catalogue::read(session, false).await?.dialect;
    let mut may_mend = databases.config().repairs > 0;
    while terminal::confirm("Run it? [y/N] ", false)? {
        let sql = generated.generated_sql.clone();
        let error = match run_wished(args, session, &sql, options).await? {
            None => return Ok(generated),
            Some(error) => error,
        };
        let failure = report_error(&error, Some(&sql));
        if !may_mend || !error.is_repairable() {
            return Err(failure);
        }
        if !terminal::confirm("Let the model fix it? [Y/n] ", true)? {
            return Err(failure);
        }
        may_mend = false;
        let begun = Instant::now();
        let question = options.question.as_deref().unwrap_or_default();
        let mended = databases.repair_query(&session.name, question, &generated, &error, options);
        generated = mended.await.map_err(|error| report_error(&error, None))?;
        print_explanation(session, &generated, begun);
        terminal::line(&sql_for(Stream::Out, &generated.generated_sql, dialect))?;
    }
    Ok(generated)
}

/// Runs a query and writes its rows. Returns the error if nothing was written before it occurred.
async fn run_wished(
    args: &Sql,
    session: &SqlSession,
    sql: &str,
    options: &RunOptions,
) -> Result<Option<SqlError>, CliError> {
    let (databases, show) = (&session.databases, args.row_options());
    let Some(format) = output::export(show)? else {
        return match databases.run(&session.name, sql, options).await {
            Ok(ran) => output::write(&ran, show).map(|()| None),
            Err(error) => Ok(Some(error)),
        };
    };
    let mut out = Output::new(show.output.as_deref());
    let into = RowExport::new(format, CsvOptions::default(), &mut out);
    match databases.export(&session.name, sql, options, into).await {
        Err(error) if !out.has_bytes() => Ok(Some(error)),
        ran => output::finish(ran, out, Some(sql)).map(|()| None),
    }
}

/// Writes and runs the query, so that the model can also repair database errors.
async fn at_once(
    args: &Sql,
    session: &SqlSession,
    question: &str,
    dialect: SqlDialect,
    options: &RunOptions,
    begun: Instant,
) -> Result<GeneratedQuery, CliError> {
    if let Some(format) = output::export(args.row_options())?.filter(|_| !args.with.json) {
        return at_once_into(args, session, question, format, dialect, options, begun).await;
    }
    let asked = session
        .databases
        .ask(&session.name, question, options)
        .await;
    let (generated, ran) = asked.map_err(|error| report_error(&error, None))?;
    if args.with.json {
        let shown = to_json(question, session, &generated, Some(&ran));
        terminal::line(&format!("{shown:#}"))?;
        return Ok(generated);
    }
    print_explanation(session, &generated, begun);
    terminal::note(&sql_for(Stream::Err, &generated.generated_sql, dialect));
    terminal::note("");
    output::write(&ran, args.row_options())?;
    Ok(generated)
}

/// Like [`at_once`], but exports the rows. The explanation is printed after them.
async fn at_once_into(
    args: &Sql,
    session: &SqlSession,
    question: &str,
    format: ExportFormat,
    dialect: SqlDialect,
    options: &RunOptions,
    begun: Instant,
) -> Result<GeneratedQuery, CliError> {
    let mut out = Output::new(args.row_options().output.as_deref());
    let into = RowExport::new(format, CsvOptions::default(), &mut out);
    let databases = &session.databases;
    let asked = databases.ask_export(&session.name, question, options, into);
    let mut given = GeneratedQuery::default();
    let ran = asked.await.map(|(generated, ran)| {
        print_explanation(session, &generated, begun);
        terminal::note(&sql_for(Stream::Err, &generated.generated_sql, dialect));
        terminal::note("");
        given = generated;
        ran
    });
    output::finish(ran, out, None)?;
    Ok(given)
}

fn question(args: &Sql) -> Result<String, CliError> {
    // Unquoted words are joined into one question.
    let words = args.question.join(" ");
    let text = match words.as_str() {
        "-" => source::read("-")?,
        _ => words,
    };
    match text.trim() {
        "" => Err(CliError::Usage(
            "missing question: quillet sql \"How many orders are there?\" --db demo".into(),
        )),
        text => Ok(text.to_owned()),
    }
}

/// Whether a user can confirm a query.
fn asks(args: &Sql) -> bool {
    let is_watched = Stream::Out.is_terminal() && Stream::Err.is_terminal();
    !args.no_run && is_watched && stdin().is_terminal()
}

/// Prints on standard error how the query was created.
fn print_explanation(session: &SqlSession, generated: &GeneratedQuery, begun: Instant) {
    let colour = Stream::Err.has_colour();
    if session.is_mocked.take() {
        terminal::note(
            "no model is set, so the built-in mock wrote the query; set a model with -m",
        );
    }
    terminal::note(&tables(generated, colour));
    if let Some(fallback) = &generated.fallback_reason {
        terminal::warning(&one_line(&fallback.message));
    }
    for repair in &generated.repairs {
        terminal::note(&dim(
            &format!("repaired: {}", one_line(&repair.error)),
            colour,
        ));
    }
    if let Some(explanation) = &generated.explanation {
        terminal::note(&sanitize(explanation.trim()));
    }
    terminal::note(&dim(&account(generated, begun), colour));
    terminal::note("");
}

fn dim(text: &str, colour: bool) -> String {
    styled(text, TextStyle::Dim, colour)
}

/// Lists the tables, each with the words that matched it.
fn tables(generated: &GeneratedQuery, colour: bool) -> String {
    let all = &generated.selected_tables;
    // If the model received the whole schema, most tables are irrelevant to the question.
    let is_beside = |why: &String| why.starts_with("joins ") || why.starts_with("one of ");
    let by_words = |table: &SelectedTable| !table.why.iter().all(is_beside);
    let has_reason = |table: &&SelectedTable| table.chosen_by != "all" || by_words(table);
    let listed = || all.iter().filter(has_reason).take(MOST_TABLES);
    let widest = listed().map(|table| width(&one_line(&table.name)));
    let widest = widest.max().unwrap_or(0);
    let line = |table: &SelectedTable| {
        let name = one_line(&table.name);
        let gap = " ".repeat(widest.saturating_sub(width(&name)));
        let why = dim(&selection_reason(table), colour);
        format!("  {name}{gap}  {why}").trim_end().to_owned()
    };
    let mut lines = vec![styled("Tables", TextStyle::Bold, colour)];
    lines.extend(listed().map(line));
    match all.len().saturating_sub(listed().count()) {
        0 => {}
        more => lines.push(dim(&format!("  and {more} more"), colour)),
    }
    if generated.omitted_tables > 0 {
        let left_out = format!("  {} omitted", generated.omitted_tables);
        lines.push(dim(&left_out, colour));
    }
    lines.join("\n")
}

fn selection_reason(table: &SelectedTable) -> String {
    let words = one_line(&table.why.join(", "));
    match (table.chosen_by, words.as_str()) {
        ("all", "") => String::new(),
        ("all", words) => words.to_owned(),
        ("model", "") => "the model's choice".to_owned(),
        ("model", words) => format!("the model's choice: {words}"),
        (_, words) => words.to_owned(),
    }
}

/// Formats tokens and time on one line.
fn account(generated: &GeneratedQuery, begun: Instant) -> String {
    let tokens = &generated.tokens;
    let saved = match tokens.saved {
        saved @ 1.. => format!(" ({saved} saved)"),
        _ => String::new(),
    };
    format!(
        "{} tokens in{saved}, {} out, {}",
        tokens.prompt,
        tokens.completion,
        output::took(begun.elapsed())
    )
}

/// Formats the query, with colours on a terminal.
fn sql_for(stream: Stream, sql: &str, dialect: SqlDialect) -> String {
    let laid_out = layout::format(sql, dialect).unwrap_or_else(|_| sql.to_owned());
    if stream.is_terminal() {
        coloured(laid_out.trim_end(), stream.has_colour())
    } else {
        laid_out.trim_end().to_owned()
    }
}

/// Returns the complete result as JSON.
fn to_json(
    question: &str,
    session: &SqlSession,
    generated: &GeneratedQuery,
    ran: Option<&QueryRun>,
) -> Value {
    let mut shown = json!({"question": question, "database": session.name});
    if let Ok(Value::Object(fields)) = serde_json::to_value(generated) {
        for (name, value) in fields {
            shown[name] = value;
        }
    }
    if let Some(ran) = ran {
        shown["ran"] = output::as_json(ran);
    }
    shown
}
