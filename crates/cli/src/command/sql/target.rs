//! Selection of a database: the demo, an address, a file, data files, or a stored name.

use std::path::{Path, PathBuf};

use quillet_core::nearest;
use quillet_sql::ConnectionUrl;
use quillet_sql::files::FileForm;

use crate::failure::CliError;

/// Name of the built-in demo database.
pub(crate) const DEMO: &str = "demo";
/// File extensions of SQLite databases.
const ENDINGS: [&str; 4] = [".db", ".sqlite", ".sqlite3", ".db3"];

/// File extensions that are not supported, with the way to convert each.
const OTHERS: [(&str, &str); 6] = [
    (
        "json",
        "write one object per line: jq -c '.[]' FILE > rows.jsonl",
    ),
    ("xlsx", "save the sheet as CSV"),
    ("xls", "save the sheet as CSV"),
    (
        "duckdb",
        "export its tables as Parquet: EXPORT DATABASE 'folder' (FORMAT parquet)",
    ),
    ("gz", "unpack it: gunzip -k FILE"),
    ("zip", "unpack it"),
];

/// A selected database.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DatabaseTarget {
    /// The built-in demo database.
    Demo,
    /// An address, or a file as an address.
    Address(ConnectionUrl),
    /// Data files, one table each.
    Files(Vec<PathBuf>),
    /// Name of a stored connection.
    Named(String),
}

impl DatabaseTarget {
    /// Parses a database argument without opening it. A file must exist.
    ///
    /// # Errors
    /// The address is invalid, or the file does not exist.
    pub(super) fn of(text: &str) -> Result<Self, CliError> {
        if text == DEMO {
            return Ok(DatabaseTarget::Demo);
        }
        if text.contains("://") || text.starts_with("sqlite:") {
            return address(text).map(DatabaseTarget::Address);
        }
        let path = Path::new(text);
        if FileForm::of(path).is_some() && !path.is_dir() {
            return there(path).map(|()| DatabaseTarget::Files(vec![path.to_owned()]));
        }
        let ending = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        let other = OTHERS.iter().find(|(other, _)| *other == ending);
        if let Some((_, fix)) = other.filter(|_| path.is_file()) {
            return Err(CliError::Usage(format!(
                "cannot read {text} as a database: expected .{}; {fix}",
                endings()
            )));
        }
        if is_file_name(text) && path.is_dir() {
            return folder(path).map(DatabaseTarget::Files);
        }
        if is_file_name(text) {
            file(text).map(DatabaseTarget::Address)
        } else {
            Ok(DatabaseTarget::Named(text.to_owned()))
        }
    }
}

/// Combines several arguments. Only data files can be combined to one database.
///
/// # Errors
/// An argument is not a data file, or has an error of [`DatabaseTarget::of`].
pub(super) fn together(texts: &[String]) -> Result<DatabaseTarget, CliError> {
    let mut files = Vec::new();
    for text in texts {
        match DatabaseTarget::of(text)? {
            DatabaseTarget::Files(more) => files.extend(more),
            _ => {
                return Err(CliError::Usage(format!(
                    "--db {text} is a single database and cannot be combined with others; only data files can: .{}",
                    endings()
                )));
            }
        }
    }
    Ok(DatabaseTarget::Files(files))
}

/// Returns the data files in a folder, sorted by name.
fn folder(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    let wrong = |error| CliError::Usage(format!("{}: {error}", path.display()));
    let entries = std::fs::read_dir(path).map_err(wrong)?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = paths
        .filter(|path| FileForm::of(path).is_some() && path.is_file())
        .collect();
    if files.is_empty() {
        return Err(CliError::Usage(format!(
            "{} is a folder without data files (.{}); pass an SQLite file by its own path",
            path.display(),
            endings()
        )));
    }
    files.sort();
    Ok(files)
}

fn endings() -> String {
    let endings: Vec<&str> = FileForm::endings().collect();
    endings.join(", .")
}

/// Parses an address. A missing SQLite file is rejected, because opening it would create an empty
/// database.
///
/// # Errors
/// The address is invalid.
pub(super) fn address(text: &str) -> Result<ConnectionUrl, CliError> {
    let url = text.parse::<ConnectionUrl>();
    let url = url.map_err(|error| CliError::Usage(error.message))?;
    match &url.path {
        Some(path) => there(path).map(|()| url),
        None => Ok(url),
    }
}

fn is_file_name(text: &str) -> bool {
    let lower = text.to_lowercase();
    text.contains(['/', std::path::MAIN_SEPARATOR])
        || FileForm::of(Path::new(text)).is_some()
        || ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

fn file(text: &str) -> Result<ConnectionUrl, CliError> {
    there(Path::new(text))?;
    let whole = std::path::absolute(text).unwrap_or_else(|_| text.into());
    let url: Result<ConnectionUrl, _> = format!("sqlite:{}", whole.display()).parse();
    url.map_err(|error| CliError::Usage(error.message))
}

fn there(path: &Path) -> Result<(), CliError> {
    if path.is_file() {
        return Ok(());
    }
    let shown = path.display();
    if path.is_dir() {
        return Err(CliError::Usage(format!(
            "{shown} is a folder; pass an SQLite file in it"
        )));
    }
    let near = neighbour(path).map(|near| format!("; did you mean {near}?"));
    Err(CliError::Usage(format!(
        "no such file: {shown}{}",
        near.unwrap_or_default()
    )))
}

/// Returns the file in the same folder with the most similar name.
fn neighbour(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let files = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let names: Vec<String> = names.filter(|name| is_file_name(name)).collect();
    let near = nearest(name, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_names_addresses_or_files() {
        let named = |name: &str| DatabaseTarget::Named(name.to_owned());
        assert_eq!(DatabaseTarget::of("demo").unwrap(), DatabaseTarget::Demo);
        assert_eq!(DatabaseTarget::of("shop").unwrap(), named("shop"));
        assert_eq!(DatabaseTarget::of("店").unwrap(), named("店"));
        assert!(matches!(
            DatabaseTarget::of("postgres://ann@h/d").unwrap(),
            DatabaseTarget::Address(_)
        ));
        for wrong in [
            "oracle://h/d",
            "no/such/file",
            "none.db",
            "sqlite:none.db",
            "none.csv",
        ] {
            assert!(
                matches!(DatabaseTarget::of(wrong), Err(CliError::Usage(_))),
                "{wrong}"
            );
        }
    }
}
