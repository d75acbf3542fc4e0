//! `quillet sql tables`, `schema` and `refresh`: show and reload the schema of a database.

use std::sync::Arc;

use quillet::settings::Settings;
use quillet_sql::catalogue::{DatabaseTable, TableColumn};
use quillet_sql::chain::PreparedCatalogue;
use quillet_sql::rank::RankedTable;
use quillet_sql::{Catalogue, SqlError};
use serde_json::json;

use super::cell::one_line;
use super::failed::report_error;
use super::session::SqlSession;
use crate::args::Sql;
use crate::cells::width;
use crate::failure::CliError;
use crate::progress_bar::ProgressBar;
use crate::terminal::{self, Stream, TextStyle, styled};

/// Returns the catalogue, with a progress bar while it loads.
pub(super) async fn read(session: &SqlSession, refresh: bool) -> Result<Arc<Catalogue>, CliError> {
    let bar = ProgressBar::new();
    let tell = |done, total, what: &str| bar.set_progress(done, total, what);
    let read = session.databases.catalogue(&session.name, refresh, &tell);
    read.await.map_err(|error| report_error(&error, None))
}

/// Returns the catalogue prepared for questions.
async fn prepared(session: &SqlSession) -> Result<Arc<PreparedCatalogue>, CliError> {
    let bar = ProgressBar::new();
    let tell = |done, total, what: &str| bar.set_progress(done, total, what);
    let read = session.databases.prepared(&session.name, false, &tell);
    read.await.map_err(|error| report_error(&error, None))
}

pub(super) async fn tables(
    args: &Sql,
    words: Option<&str>,
    most: usize,
    config: &Settings,
) -> Result<(), CliError> {
    let session = SqlSession::open(args, config).await?;
    list_tables(&session, words, most, args.with.json).await
}

/// Lists tables of an open database.
pub(super) async fn list_tables(
    session: &SqlSession,
    words: Option<&str>,
    most: usize,
    as_json: bool,
) -> Result<(), CliError> {
    let prepared = prepared(session).await?;
    let catalogue = &prepared.catalogue;
    let found: Vec<(&DatabaseTable, Vec<String>)> = match words {
        Some(words) if !is_pattern(words, catalogue) => ranked(&prepared, words, most),
        pattern => {
            let all = catalogue.tables.iter();
            let fits = |table: &&DatabaseTable| pattern.is_none_or(|pattern| named(pattern, table));
            all.filter(fits).map(|table| (table, Vec::new())).collect()
        }
    };
    if as_json {
        let found = found.iter().map(|(table, why)| {
            json!({
                "name": table.qualified(),
                "type": table.table_type,
                "comment": table.comment,
                "rowCount": table.row_count,
                "columns": table.columns.len(),
                "why": why,
            })
        });
        let found: Vec<_> = found.collect();
        return Ok(terminal::line(&format!("{:#}", json!(found)))?);
    }
    if found.is_empty() {
        let words = words.unwrap_or_default();
        return match words {
            "" => {
                terminal::note("the database has no tables");
                Ok(())
            }
            words => {
                let near = catalogue.nearest(words);
                let near = near.map(|near| format!("; did you mean {near:?}?"));
                Err(CliError::Other(format!(
                    "no table matches {words:?}{}; `quillet sql tables` lists all tables",
                    near.unwrap_or_default()
                )))
            }
        };
    }
    Ok(terminal::result(&list(&found))?)
}

/// Whether the words are a pattern or a table name, and not a question.
fn is_pattern(words: &str, catalogue: &Catalogue) -> bool {
    // A single word may be the name of a table or a question. It is a name if the table exists.
    let has_name = catalogue.tables.iter().any(|table| named(words, table));
    (words.contains('*') && !words.contains(char::is_whitespace)) || has_name
}

/// Whether a name or a pattern with `*` matches a table, ignoring case.
fn named(pattern: &str, table: &DatabaseTable) -> bool {
    let pattern = pattern.to_lowercase();
    let parts: Vec<&str> = pattern.split('*').collect();
    let fits = |name: &str| fits(&parts, &name.to_lowercase());
    fits(&table.table_name) || fits(&table.qualified())
}

/// Whether a name starts with the first part, ends with the last one, and contains the others in
/// order.
fn fits(parts: &[&str], name: &str) -> bool {
    let [first, between @ .., last] = parts else {
        return parts.first().is_some_and(|only| *only == name);
    };
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn ranked<'a>(
    prepared: &'a PreparedCatalogue,
    question: &str,
    most: usize,
) -> Vec<(&'a DatabaseTable, Vec<String>)> {
    let found = prepared.rank(question, None, most);
    let table =
        |ranked: RankedTable| Some((prepared.catalogue.tables.get(ranked.table)?, ranked.why));
    found.into_iter().filter_map(table).collect()
}

/// Lists tables with their row counts, and with the reason for a match or the table's description.
fn list(found: &[(&DatabaseTable, Vec<String>)]) -> String {
    let colour = Stream::Out.has_colour();
    let names = found.iter().map(|(table, _)| one_line(&table.qualified()));
    let names: Vec<String> = names.collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let line = |((table, why), name): (&(&DatabaseTable, Vec<String>), &String)| {
        let gap = " ".repeat(widest.saturating_sub(width(name)));
        let rows = table
            .row_count
            .map_or_else(String::new, |rows| rows.to_string());
        let about = if why.is_empty() {
            about(table)
        } else {
            one_line(&why.join(", "))
        };
        let about = styled(&about, TextStyle::Dim, colour);
        format!(
            "{}\n",
            format!("{name}{gap}  {rows:>9}  {about}").trim_end()
        )
    };
    found.iter().zip(&names).map(line).collect()
}

/// Returns the comment of a table, after its type if it is not a plain table.
fn about(table: &DatabaseTable) -> String {
    let kind = table.table_type.to_string();
    let kind = if kind == "table" {
        String::new()
    } else {
        format!("({kind}) ")
    };
    let comment = table.comment.as_deref().unwrap_or_default();
    format!("{kind}{}", one_line(comment))
}

pub(super) async fn schema(
    args: &Sql,
    names: &[String],
    config: &Settings,
) -> Result<(), CliError> {
    let session = SqlSession::open(args, config).await?;
    describe(&session, names, args.with.json).await
}

/// Describes tables of an open database.
pub(super) async fn describe(
    session: &SqlSession,
    names: &[String],
    as_json: bool,
) -> Result<(), CliError> {
    let catalogue = read(session, false).await?;
    let tables = if names.is_empty() {
        catalogue.tables.iter().collect()
    } else {
        chosen(names, &catalogue)?
    };
    if as_json {
        return Ok(terminal::line(&format!("{:#}", json!(tables)))?);
    }
    let colour = Stream::Out.has_colour();
    let shown: Vec<String> = tables
        .iter()
        .map(|table| described(table, colour))
        .collect();
    Ok(terminal::result(&shown.join("\n"))?)
}

/// Returns the tables that match these names or patterns.
fn chosen<'a>(
    names: &[String],
    catalogue: &'a Catalogue,
) -> Result<Vec<&'a DatabaseTable>, CliError> {
    let mut chosen: Vec<&DatabaseTable> = Vec::new();
    for name in names {
        let found = catalogue.tables.iter().filter(|table| named(name, table));
        let before = chosen.len();
        chosen.extend(found);
        if chosen.len() == before {
            let error = SqlError::NotFound {
                what: "table",
                name: name.clone(),
                nearest: catalogue.nearest(name.rsplit('.').next().unwrap_or(name)),
            };
            return Err(report_error(&error, None));
        }
    }
    Ok(chosen)
}

/// Formats a table with its columns, keys and comments.
fn described(table: &DatabaseTable, colour: bool) -> String {
    let name = styled(&one_line(&table.qualified()), TextStyle::Bold, colour);
    let comment = styled(&about(table), TextStyle::Dim, colour);
    let mut shown = format!("{}\n", format!("{name}  {comment}").trim_end());
    let widest = |text: fn(&TableColumn) -> &str| {
        let widths = table
            .columns
            .iter()
            .map(|column| width(&one_line(text(column))));
        widths.max().unwrap_or(0)
    };
    let (names, types) = (
        widest(|column| &column.name),
        widest(|column| &column.data_type),
    );
    let padded = |text: &str, most: usize| {
        let text = one_line(text);
        let gap = " ".repeat(most.saturating_sub(width(&text)));
        text + &gap
    };
    for column in &table.columns {
        let name = padded(&column.name, names);
        let data_type = padded(&column.data_type, types);
        let notes = styled(&notes(table, column), TextStyle::Dim, colour);
        let line = format!("  {name}  {data_type}  {notes}");
        shown.push_str(line.trim_end());
        shown.push('\n');
    }
    shown
}

/// Returns the keys, properties and comment of a column.
fn notes(table: &DatabaseTable, column: &TableColumn) -> String {
    let mut notes = Vec::new();
    if column.is_primary_key {
        notes.push("key".to_owned());
    }
    if !column.is_nullable && !column.is_primary_key {
        notes.push("not null".to_owned());
    }
    let keys = table.foreign_keys.iter();
    for key in keys.filter(|key| key.columns.contains(&column.name)) {
        let columns = key.ref_columns.join(", ");
        notes.push(format!("→ {}.{}({columns})", key.ref_schema, key.ref_table));
    }
    if !column.values.is_empty() {
        notes.push(column.values.join(" | "));
    }
    notes.extend(column.extra.clone());
    notes.extend(column.comment.clone());
    one_line(&notes.join(" · "))
}

pub(super) async fn refresh(args: &Sql, config: &Settings) -> Result<(), CliError> {
    let session = SqlSession::open(args, config).await?;
    let catalogue = read(&session, true).await?;
    let sampled = session.databases.sample(&session.name).await;
    let sampled = sampled.map_err(|error| report_error(&error, None))?;
    let columns: usize = catalogue
        .tables
        .iter()
        .map(|table| table.columns.len())
        .sum();
    let keys: usize = catalogue
        .tables
        .iter()
        .map(|table| table.foreign_keys.len())
        .sum();
    let counts = json!({
        "database": session.name,
        "version": catalogue.version,
        "schemas": catalogue.schemas.len(),
        "tables": catalogue.tables.len(),
        "columns": columns,
        "foreignKeys": keys,
        "sampledColumns": sampled,
        "lastRefreshed": catalogue.last_refreshed.to_string(),
    });
    if args.with.json {
        return Ok(terminal::line(&format!("{counts:#}"))?);
    }
    let sampled = match sampled {
        0 => String::new(),
        some => format!(", values of {some} columns"),
    };
    Ok(terminal::line(&format!(
        "{} {}: {} tables, {columns} columns, {keys} foreign keys{sampled}",
        catalogue.dialect.title(),
        one_line(&catalogue.version),
        catalogue.tables.len(),
    ))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_tables() {
        let table = DatabaseTable {
            schema_name: "public".into(),
            table_name: "Order_Items".into(),
            ..DatabaseTable::default()
        };
        for (pattern, fits) in [
            ("order_items", true),
            ("public.order_items", true),
            ("order*", true),
            ("*items", true),
            ("o*r*s", true),
            ("*", true),
            ("public.*", true),
            ("*.order*", true),
            ("order", false),
            ("items*", false),
            ("order_items*s", false),
            ("", false),
        ] {
            assert_eq!(named(pattern, &table), fits, "{pattern:?}");
        }
    }
}
