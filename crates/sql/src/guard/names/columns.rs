//! Looks up columns in the tables of the open scopes.

use quillet_core::ErrorCode;
use sqlparser::ast::Ident;

use super::super::GuardError;
use super::checker::Checker;
use super::frame::{ScopeFrame, ScopeSource};
use crate::SqlDialect;

/// Returns whether the name is a system column that every table has.
fn is_hidden(dialect: SqlDialect, key: &str) -> bool {
    match dialect {
        SqlDialect::PostgreSql => {
            matches!(key, "ctid" | "xmin" | "xmax" | "cmin" | "cmax" | "tableoid")
        }
        SqlDialect::MySql => key == "_rowid",
        SqlDialect::Sqlite => matches!(key, "rowid" | "oid" | "_rowid_" | "rank"),
    }
}

/// Keywords without brackets that the parser may read as columns.
const VALUES: [&str; 18] = [
    "current_catalog",
    "current_date",
    "current_database",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "default",
    "false",
    "localtime",
    "localtimestamp",
    "null",
    "session_user",
    "true",
    "utc_date",
    "utc_time",
    "utc_timestamp",
];

/// MySQL's time units, which can appear in the place of a column: `TIMESTAMPDIFF(DAY, a, b)`.
const UNITS: [&str; 24] = [
    "microsecond",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
    "second_microsecond",
    "minute_microsecond",
    "minute_second",
    "hour_microsecond",
    "hour_second",
    "hour_minute",
    "day_microsecond",
    "day_second",
    "day_minute",
    "day_hour",
    "year_month",
    "date",
    "time",
    "datetime",
    "timestamp",
];

/// Returns whether the identifier is a keyword of the dialect.
fn is_word(dialect: SqlDialect, ident: &Ident) -> bool {
    let word = ident.value.to_lowercase();
    let is_unit = dialect == SqlDialect::MySql && UNITS.contains(&word.as_str());
    ident.quote_style.is_none() && (is_unit || VALUES.contains(&word.as_str()))
}

/// Result of looking up a column.
enum ColumnMatch {
    Here,
    Nowhere,
    /// Ambiguous between these tables.
    Several(Vec<String>),
}

impl Checker<'_> {
    /// Returns the scopes from the current one outwards, without those whose tables are not
    /// visible.
    fn visible(&self) -> impl Iterator<Item = &ScopeFrame> {
        let mut skip = false;
        self.frames.iter().rev().filter(move |frame| {
            let hidden = std::mem::replace(&mut skip, frame.hides_parent);
            !hidden
        })
    }

    /// Returns whether any name may be a column here.
    pub(super) fn is_open(&self) -> bool {
        self.visible().any(|frame| frame.open)
    }

    pub(super) fn source_named(&self, key: &str) -> Option<&ScopeSource> {
        self.visible()
            .flat_map(|frame| &frame.sources)
            .find(|source| source.name.as_deref() == Some(key))
    }

    pub(super) fn check_bare(&self, ident: &Ident) -> Result<(), GuardError> {
        let key = self.key(ident);
        let dialect = self.text.dialect;
        if is_word(dialect, ident) || is_hidden(dialect, &key) {
            return Ok(());
        }
        // SQLite reads an unknown name in double quotes as a string.
        let may_be_text = dialect == SqlDialect::Sqlite && ident.quote_style == Some('"');
        match self.find(&key) {
            ColumnMatch::Nowhere if may_be_text && !self.is_near_miss(ident) => Ok(()),
            ColumnMatch::Here => Ok(()),
            ColumnMatch::Several(tables) => Err(self
                .error(
                    ErrorCode::GuardAmbiguous,
                    format!("ambiguous column {ident}: more than one table has it"),
                    ident.span,
                )
                .help(format!(
                    "write {}.{ident}",
                    tables.join(&format!(".{ident} or "))
                ))),
            // A bare table name means the whole row, or in a full-text search the table to search.
            ColumnMatch::Nowhere if self.source_named(&key).is_some() => Ok(()),
            ColumnMatch::Nowhere => Err(self.unknown_column(ident)),
        }
    }

    /// Returns whether it differs from a column name only in whitespace and symbols. SQLite would
    /// read it as a string and return that string in every row without an error.
    fn is_near_miss(&self, ident: &Ident) -> bool {
        let letters = |name: &str| -> String {
            let letters = name.chars().filter(|c| c.is_alphanumeric());
            letters.flat_map(char::to_lowercase).collect()
        };
        let written = letters(&ident.value);
        let mut columns = self
            .visible()
            .flat_map(|frame| &frame.sources)
            .filter_map(|source| source.columns.as_ref())
            .flat_map(|columns| &columns.names);
        !written.is_empty() && columns.any(|name| letters(name) == written)
    }

    fn find(&self, key: &str) -> ColumnMatch {
        // PostgreSQL accepts output names only in ORDER BY and GROUP BY of the same query; the
        // others also accept them in nested queries.
        let aliases_reach = self.text.dialect != SqlDialect::PostgreSql;
        for (depth, frame) in self.visible().enumerate() {
            if frame.open || ((depth == 0 || aliases_reach) && frame.aliases.contains(key)) {
                return ColumnMatch::Here;
            }
            let (mut certain, mut unknown) = (Vec::new(), false);
            for source in &frame.sources {
                match &source.columns {
                    Some(columns) if columns.keys.contains(key) => certain.push(source),
                    Some(_) => {}
                    None => unknown = true,
                }
            }
            // A column merged by USING or NATURAL is a single column, although two tables have it.
            let is_merged = frame.natural || frame.merged.contains(key);
            match certain.as_slice() {
                // A table whose columns are unknown may have the column.
                [] if unknown => return ColumnMatch::Here,
                [] => {}
                [_, _, ..] if !is_merged && !unknown => {
                    let names = certain.iter().filter_map(|source| source.name.clone());
                    return ColumnMatch::Several(names.collect());
                }
                _ => return ColumnMatch::Here,
            }
        }
        ColumnMatch::Nowhere
    }

    pub(super) fn check_qualified(&self, parts: &[Ident]) -> Result<(), GuardError> {
        let [.., table, column] = parts else {
            return Ok(());
        };
        let (table_key, key) = (self.key(table), self.key(column));
        let Some(source) = self.source_named(&table_key) else {
            return if self.is_open() {
                Ok(())
            } else {
                Err(self.unknown_source(table))
            };
        };
        let Some(columns) = &source.columns else {
            return Ok(());
        };
        if columns.keys.contains(&key) || is_hidden(self.text.dialect, &key) {
            return Ok(());
        }
        let message = format!("{table} has no column {column}");
        let error = self.error(ErrorCode::GuardColumn, message, column.span);
        Err(match self.suggest_column(column, &[source]) {
            Some(near) => error.help(near),
            None => error.help(list(&columns.names)),
        })
    }

    fn unknown_column(&self, ident: &Ident) -> GuardError {
        let sources: Vec<&ScopeSource> = self.visible().flat_map(|frame| &frame.sources).collect();
        let message = format!("no table of this query has a column {ident}");
        let error = self.error(ErrorCode::GuardColumn, message, ident.span);
        match self
            .suggest_column(ident, &sources)
            .or_else(|| self.suggest_tables(ident))
        {
            Some(help) => error.help(help),
            None => error,
        }
    }

    pub(super) fn unknown_source(&self, ident: &Ident) -> GuardError {
        let message = format!("unknown table or alias {ident} in this part of the query");
        let names: Vec<String> = self
            .visible()
            .flat_map(|frame| &frame.sources)
            .filter_map(|source| source.name.clone())
            .collect();
        let near = quillet_core::nearest(&ident.value, names.iter().map(String::as_str));
        self.error(ErrorCode::GuardTable, message, ident.span)
            .help(match near {
                Some(near) => format!("did you mean {near}?"),
                None if names.is_empty() => "add it to FROM".to_owned(),
                None => format!("add it to FROM, which has {}", names.join(", ")),
            })
    }

    /// Returns the column that was probably meant: the same name in another case, or the most
    /// similar one.
    fn suggest_column(&self, ident: &Ident, sources: &[&ScopeSource]) -> Option<String> {
        let names = || {
            sources
                .iter()
                .filter_map(|s| s.columns.as_ref())
                .flat_map(|c| &c.names)
        };
        let folded = ident.value.to_lowercase();
        if let Some(same) = names().find(|name| name.to_lowercase() == folded) {
            let written = crate::chain::quoted(same, self.text.dialect);
            return Some(format!("write {written}"));
        }
        let near = quillet_core::nearest(&ident.value, names().map(String::as_str))?;
        Some(format!("did you mean {near}?"))
    }

    /// Returns tables of the catalogue that have the column, for a query with a missing join.
    fn suggest_tables(&self, ident: &Ident) -> Option<String> {
        let key = self.key(ident);
        let has = |table: &&crate::catalogue::DatabaseTable| {
            table
                .columns
                .iter()
                .any(|c| self.stored_key(&c.name) == key)
        };
        // Three names fit into one line of an error message. More names would not help the reader
        // choose.
        let tables = self.catalogue?.tables.iter().filter(has).take(3);
        let tables: Vec<String> = tables
            .map(crate::catalogue::DatabaseTable::qualified)
            .collect();
        (!tables.is_empty()).then(|| format!("{} has it", tables.join(" or ")))
    }
}

/// Lists a few columns of a table for the error about an unknown column.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let shown = names
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        format!("it has {shown}, …")
    } else {
        format!("it has {shown}")
    }
}
