//! Runs a query written by the user, with the same guard.

use quillet::settings::Settings;
use quillet_sql::export::{CsvOptions, RowExport};

use super::export::Output;
use super::failed::report_error;
use super::output;
use super::session::SqlSession;
use crate::args::{ShowRows, Sql};
use crate::failure::CliError;
use crate::progress_bar::ProgressBar;
use crate::source;
use crate::terminal;

pub(super) async fn run(args: &Sql, sql: &str, config: &Settings) -> Result<(), CliError> {
    let sql = match sql {
        "-" => source::read("-")?,
        sql => sql.to_owned(),
    };
    if sql.trim().is_empty() {
        return Err(CliError::Usage(
            "missing query: quillet sql run 'SELECT …', or pass it on standard input".into(),
        ));
    }
    let session = SqlSession::open(args, config).await?;
    run_in(&session, &sql, args.row_options(), args.with.json).await
}

/// Runs a query in an open database and shows its rows.
pub(super) async fn run_in(
    session: &SqlSession,
    sql: &str,
    show: &ShowRows,
    as_json: bool,
) -> Result<(), CliError> {
    let bar = ProgressBar::new();
    let options = output::options(show, session.databases.config())?;
    let (databases, name) = (&session.databases, session.name.as_str());
    if let Some(format) = output::export(show)?.filter(|_| !as_json) {
        let mut output = Output::new(show.output.as_deref());
        let into = RowExport::new(format, CsvOptions::default(), &mut output);
        let ran = databases.export(name, sql, &options, into).await;
        drop(bar);
        return output::finish(ran, output, Some(sql));
    }
    let ran = databases.run(name, sql, &options).await;
    drop(bar);
    let ran = ran.map_err(|error| report_error(&error, Some(sql)))?;
    if as_json {
        Ok(terminal::line(&format!("{:#}", output::as_json(&ran)))?)
    } else {
        output::write(&ran, show)
    }
}
