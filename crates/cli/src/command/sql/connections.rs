//! Saves, lists, tests and removes stored connections.

use std::path::PathBuf;

use quillet::components::demo_shop::DemoShop;
use quillet::settings::{self, Settings};
use quillet_core::Exit;
use quillet_sql::database::ConnectionReport;
use quillet_sql::{Connection, ConnectionDefinition, ConnectionUrl, Databases, SqlError};
use serde_json::{Value, json};

use super::cell::one_line;
use super::failed::{extra_help, report_error};
use super::files;
use super::session::{self, with_password};
use super::target::{self, DEMO, DatabaseTarget};
use crate::args::{Sql, SqlCommand};
use crate::cells::width;
use crate::databases;
use crate::failure::CliError;
use crate::terminal::{self, Stream, TextStyle, styled};

pub(super) async fn add(
    args: &Sql,
    command: &SqlCommand,
    config: &Settings,
) -> Result<(), CliError> {
    let SqlCommand::Add {
        name,
        url,
        description,
        ssl_disabled,
        glossary,
        values,
        force,
    } = command
    else {
        return Ok(());
    };
    let url = absolute_file_url(address(url)?);
    let url = with_password(url, args.with.password)?;
    let definition = ConnectionDefinition {
        url: url.secret_text().to_owned(),
        ssl_disabled: *ssl_disabled || config.is_on(&settings::SQL_SSL_DISABLED),
        description: description.clone(),
        glossary: match glossary {
            Some(path) => databases::glossary_file("--glossary", &path.to_string_lossy())?,
            None => Vec::new(),
        },
        values: *values,
        ..ConnectionDefinition::default()
    };
    let databases = session::load_databases(config).await?;
    if !force {
        is_free(&databases, name).await?;
    }
    let put = databases.put(name, definition).await;
    let put = put.map_err(|error| report_error(&error, None))?;
    for warning in &put.warnings {
        terminal::warning(&one_line(warning));
    }
    if args.with.json {
        let shown =
            json!({"connection": put.connection, "created": put.created, "warnings": put.warnings});
        return Ok(terminal::line(&format!("{shown:#}"))?);
    }
    let what = if put.created { "kept" } else { "changed" };
    terminal::note(&format!(
        "{what}: {} is {}; quillet sql tables --db {}",
        one_line(name),
        one_line(&put.connection.url),
        one_line(name)
    ));
    Ok(())
}

/// # Errors
/// Checks that no connection with this name exists. Otherwise the user must allow replacing it.
async fn is_free(databases: &Databases, name: &str) -> Result<(), CliError> {
    let known = databases
        .list()
        .await
        .map_err(|error| report_error(&error, None))?;
    match known.iter().find(|known| known.name == *name) {
        None => Ok(()),
        Some(known) => Err(CliError::Usage(format!(
            "{} already exists: {}; pass --force to replace it",
            one_line(name),
            one_line(&known.url)
        ))),
    }
}

/// Makes a file path absolute, because it may be used from another folder later.
fn absolute_file_url(url: ConnectionUrl) -> ConnectionUrl {
    let Some(path) = url.path.as_deref().filter(|path| path.is_relative()) else {
        return url;
    };
    let Ok(path) = std::path::absolute(path) else {
        return url;
    };
    let whole = format!("sqlite:{}", path.display()).parse::<ConnectionUrl>();
    match whole {
        Ok(whole) if whole.path.as_deref() == Some(&*path) => whole,
        // If the path cannot be expressed as an address, the original address is saved.
        _ => url,
    }
}

/// Parses an address or the path of a SQLite file.
fn address(text: &str) -> Result<ConnectionUrl, CliError> {
    match DatabaseTarget::of(text)? {
        DatabaseTarget::Address(url) => Ok(url),
        DatabaseTarget::Files(_) => Err(CliError::Usage(format!(
            "{text} is not a database that can be saved; data files are loaded for each run: --db {text}"
        ))),
        _ => target::address(text),
    }
}

pub(super) async fn list(args: &Sql, config: &Settings) -> Result<(), CliError> {
    let databases = session::load_databases(config).await?;
    let known = databases
        .list()
        .await
        .map_err(|error| report_error(&error, None))?;
    if args.with.json {
        return Ok(terminal::line(&format!("{:#}", json!(known)))?);
    }
    if known.is_empty() {
        terminal::note(
            "no connections; add one with quillet sql add NAME postgresql://user@host/name",
        );
    }
    let widest = known.iter().map(|it| width(&one_line(&it.name))).max();
    let line = |connection: &Connection| line(connection, widest.unwrap_or(0));
    Ok(terminal::result(
        &known.iter().map(line).collect::<String>(),
    )?)
}

fn line(connection: &Connection, widest: usize) -> String {
    let name = one_line(&connection.name);
    let gap = " ".repeat(widest.saturating_sub(width(&name)));
    let about = connection.description.as_deref().map(one_line);
    let about = styled(
        &about.unwrap_or_default(),
        TextStyle::Dim,
        Stream::Out.has_colour(),
    );
    let line = format!("{name}{gap}  {}  {about}", one_line(&connection.url));
    format!("{}\n", line.trim_end())
}

pub(super) async fn remove(name: &str, config: &Settings) -> Result<(), CliError> {
    let databases = session::load_databases(config).await?;
    let was_there = databases.remove(name).await;
    if was_there.map_err(|error| report_error(&error, None))? {
        return Ok(());
    }
    let known = databases
        .list()
        .await
        .map_err(|error| report_error(&error, None))?;
    let names = known.iter().map(|it| it.name.as_str());
    let error = SqlError::NotFound {
        what: "database",
        name: name.to_owned(),
        nearest: quillet_core::nearest(name, names).map(str::to_owned),
    };
    Err(report_error(&error, None))
}

/// Name of a database and the result of its check.
type ConnectionCheck = (String, Result<ConnectionReport, SqlError>);

pub(super) async fn test(
    args: &Sql,
    database: Option<&str>,
    config: &Settings,
) -> Result<(), CliError> {
    let named = database.or_else(|| config.text(&settings::SQL_DATABASE));
    let known = session::load_databases(config).await?;
    let tried = match named.map(DatabaseTarget::of).transpose()? {
        Some(DatabaseTarget::Address(url)) => vec![one(&known, url, args, config).await?],
        Some(DatabaseTarget::Named(name)) => vec![check_stored(&known, name).await],
        Some(DatabaseTarget::Demo) => vec![demo(&known).await?],
        Some(DatabaseTarget::Files(paths)) => vec![loaded(&known, &paths, config).await?],
        None => every(&known).await?,
    };
    print_checks(args, &tried)
}

async fn one(
    known: &Databases,
    url: ConnectionUrl,
    args: &Sql,
    config: &Settings,
) -> Result<ConnectionCheck, CliError> {
    let url = with_password(url, args.with.password)?;
    let definition = ConnectionDefinition {
        url: url.secret_text().to_owned(),
        ssl_disabled: config.is_on(&settings::SQL_SSL_DISABLED),
        ..ConnectionDefinition::default()
    };
    Ok((url.to_string(), known.test(&definition).await))
}

async fn check_stored(known: &Databases, name: String) -> ConnectionCheck {
    let checked = known.test_known(&name).await;
    (name, checked)
}

async fn demo(known: &Databases) -> Result<ConnectionCheck, CliError> {
    let shop = DemoShop::build()?;
    Ok((DEMO.to_owned(), known.test(&shop.definition()).await))
}

async fn loaded(
    known: &Databases,
    paths: &[PathBuf],
    config: &Settings,
) -> Result<ConnectionCheck, CliError> {
    let loaded = files::load(paths, config).await?;
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let checked = known.test(&files::definition(&loaded)).await;
    Ok((names.join(", "), checked))
}

async fn every(known: &Databases) -> Result<Vec<ConnectionCheck>, CliError> {
    let list = known.list().await;
    let mut tried = Vec::new();
    for connection in list.map_err(|error| report_error(&error, None))? {
        tried.push(check_stored(known, connection.name).await);
    }
    Ok(tried)
}

fn print_checks(args: &Sql, tried: &[ConnectionCheck]) -> Result<(), CliError> {
    if args.with.json {
        let shown: Vec<Value> = tried.iter().map(as_json).collect();
        terminal::line(&format!("{:#}", json!(shown)))?;
    } else {
        tried.iter().try_for_each(print_check)?;
    }
    if tried.iter().any(|(_, checked)| checked.is_err()) {
        Err(CliError::Said(Exit::Failure))
    } else {
        Ok(())
    }
}

fn print_check((name, checked): &ConnectionCheck) -> Result<(), CliError> {
    let name = one_line(name);
    match checked {
        Ok(checked) => {
            terminal::line(&format!("{name}: {}", one_line(&checked.version)))?;
            for warning in &checked.warnings {
                terminal::warning(&format!("{name}: {}", one_line(warning)));
            }
            if !checked.warnings.is_empty() {
                terminal::note(&format!("to create a role that can only read {name}, run"));
                for line in checked.reader.lines() {
                    terminal::line(&format!("  {}", one_line(line)))?;
                }
            }
        }
        Err(error) => {
            // Some errors already start with the address, which must not be printed twice.
            let said = one_line(&error.to_string());
            if said.starts_with(&name) {
                terminal::error(&said)
            } else {
                terminal::error(&format!("{name}: {said}"))
            }
            let help = [error.help(), extra_help(error).map(str::to_owned)];
            let help: Vec<String> = help.into_iter().flatten().collect();
            if !help.is_empty() {
                terminal::note(&format!("help: {}", one_line(&help.join("; "))));
            }
        }
    }
    Ok(())
}

fn as_json((name, checked): &ConnectionCheck) -> Value {
    match checked {
        Ok(checked) => {
            json!({"name": name, "version": checked.version, "warnings": checked.warnings, "reader": checked.reader})
        }
        Err(error) => json!({"name": name, "error": error.to_string(), "code": error.code()}),
    }
}
