//! History of executed queries.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use quillet::settings::Settings;
use quillet_core::archive::QueryRecord;
use serde_json::json;

use super::cell::one_line;
use super::failed::report_error;
use super::session::SqlSession;
use crate::args::Sql;
use crate::cells::truncate;
use crate::failure::CliError;
use crate::terminal::{self, Stream, TextStyle, styled};

pub(super) async fn run(
    args: &Sql,
    words: &[String],
    most: u64,
    config: &Settings,
) -> Result<(), CliError> {
    let session = SqlSession::open(args, config).await?;
    let (databases, name) = (&session.databases, session.name.as_str());
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let page = match words {
        [] => databases.history(name, None, most).await,
        words => databases.search_history(name, &words.join(" "), most).await,
    };
    let page = page.map_err(|error| report_error(&error, None))?;
    if args.with.json {
        return Ok(terminal::line(&format!("{:#}", json!(page.items)))?);
    }
    terminal::result(&page.items.iter().map(shown).collect::<String>())?;
    match page.total.checked_sub(page.items.len() as u64) {
        _ if page.total == 0 => terminal::note("no queries found"),
        Some(more @ 1..) => {
            terminal::note(&format!("{more} older queries; increase -n to show them"))
        }
        _ => {}
    }
    Ok(())
}

/// Marks or unmarks a query as an example for similar questions.
pub(super) async fn accept(
    args: &Sql,
    id: u64,
    accepts: bool,
    config: &Settings,
) -> Result<(), CliError> {
    let session = SqlSession::open(args, config).await?;
    let (databases, name) = (&session.databases, session.name.as_str());
    if accepts {
        let record = databases.accept(name, id).await;
        let record = record.map_err(|error| report_error(&error, None))?;
        let question = one_line(record.question.as_deref().unwrap_or_default());
        terminal::note(&format!(
            "accepted {id} as an answer to {}",
            truncate(&question, 200)
        ));
        return Ok(());
    }
    let done = databases.unaccept(name, id).await;
    if done.map_err(|error| report_error(&error, None))? {
        terminal::note(&format!("withdrew the acceptance of {id}"))
    } else {
        terminal::note(&format!("{id} was not accepted"))
    }
    Ok(())
}

/// Formats a record: time, row count, number, question and query.
fn shown(record: &QueryRecord) -> String {
    let colour = Stream::Out.has_colour();
    let rows = match record.row_count {
        1 => "1 row".to_owned(),
        rows => format!("{rows} rows"),
    };
    let head = format!(
        "{}  {rows}, {} ms  #{}{}",
        when(record.executed_at),
        record.execution_ms,
        record.id,
        if record.accepted { "  accepted" } else { "" }
    );
    let mut shown = format!("{}\n", styled(&head, TextStyle::Dim, colour));
    if let Some(question) = &record.question {
        let question = truncate(&one_line(question), 200);
        shown.push_str(&format!(
            "  {}\n",
            styled(&question, TextStyle::Bold, colour)
        ));
    }
    for line in record.sql.lines() {
        shown.push_str(&format!("  {}\n", one_line(line)));
    }
    shown
}

/// Formats a time in the local time zone.
fn when(ms: u64) -> String {
    let time = i64::try_from(ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let time = time.map(|time| time.to_zoned(TimeZone::system()));
    time.map_or_else(String::new, |time| {
        time.strftime("%Y-%m-%d %H:%M:%S").to_string()
    })
}
