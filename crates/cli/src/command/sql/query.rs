//! A query that the user wrote, under the same guard.

use quillet::settings::Settings;
use quillet_sql::export::{CsvOptions, Export};

use super::export::Output;
use super::failed::told;
use super::output;
use super::session::Session;
use crate::args::{ShowRows, Sql};
use crate::bar::Bar;
use crate::failure::Failure;
use crate::source;
use crate::terminal;

pub(super) async fn run(args: &Sql, sql: &str, config: &Settings) -> Result<(), Failure> {
    let sql = match sql {
        "-" => source::read("-")?,
        sql => sql.to_owned(),
    };
    if sql.trim().is_empty() {
        return Err(Failure::Usage(
            "there is no query: quillet sql run 'SELECT …', or write it to standard input".into(),
        ));
    }
    let session = Session::open(args, config).await?;
    run_in(&session, &sql, args.shown(), args.with.json).await
}

/// Runs a query in a database that is open, and shows its rows.
pub(super) async fn run_in(
    session: &Session,
    sql: &str,
    show: &ShowRows,
    as_json: bool,
) -> Result<(), Failure> {
    let bar = Bar::new();
    let options = output::options(show, session.databases.config())?;
    let (databases, name) = (&session.databases, session.name.as_str());
    if let Some(format) = output::export(show)?.filter(|_| !as_json) {
        let mut output = Output::new(show.output.as_deref());
        let into = Export::new(format, CsvOptions::default(), &mut output);
        let ran = databases.export(name, sql, &options, into).await;
        drop(bar);
        return output::finish(ran, output, Some(sql));
    }
    let ran = databases.run(name, sql, &options).await;
    drop(bar);
    let ran = ran.map_err(|error| told(&error, Some(sql)))?;
    if as_json {
        Ok(terminal::line(&format!("{:#}", output::as_json(&ran)))?)
    } else {
        output::write(&ran, show)
    }
}
