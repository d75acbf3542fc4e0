//! A query that the user wrote, under the same guard.

use quillet_sql::export::{CsvOptions, Export};

use super::bar::Bar;
use super::export::Output;
use super::failed::told;
use super::output;
use super::session::Session;
use crate::args::Sql;
use crate::config::Config;
use crate::failure::Failure;
use crate::source;
use crate::terminal;

pub(super) async fn run(args: &Sql, sql: &str, config: &Config) -> Result<(), Failure> {
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
    let show = args.shown();
    let bar = Bar::new();
    let options = output::options(show, session.databases.config())?;
    let (databases, name) = (&session.databases, session.name.as_str());
    if let Some(format) = output::export(show)?.filter(|_| !args.with.json) {
        let mut output = Output::new(show.output.as_deref());
        let into = Export::new(format, CsvOptions::default(), &mut output);
        let ran = databases.export(name, &sql, &options, into).await;
        drop(bar);
        return output::finish(ran, output, Some(&sql));
    }
    let ran = databases.run(name, &sql, &options).await;
    drop(bar);
    let ran = ran.map_err(|error| told(&error, Some(&sql)))?;
    match args.with.json {
        true => Ok(terminal::line(&format!("{:#}", output::as_json(&ran)))?),
        false => output::write(&ran, show),
    }
}
