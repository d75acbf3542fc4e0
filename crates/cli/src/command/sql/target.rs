//! Which database is meant: the demo, an address, a file, or a name in the store.

use std::path::Path;

use quillet_core::nearest;
use quillet_sql::ConnectionUrl;

use crate::failure::Failure;

/// The name of the shop that comes with the program.
pub(crate) const DEMO: &str = "demo";
/// Endings of files of SQLite.
const ENDINGS: [&str; 4] = [".db", ".sqlite", ".sqlite3", ".db3"];

/// A database as it was named.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The shop that comes with the program.
    Demo,
    /// An address, or a file as one.
    Address(ConnectionUrl),
    /// A name in the store.
    Named(String),
}

impl Target {
    /// What a text means. Nothing is opened; a file has to be there.
    ///
    /// # Errors
    /// It is an address that cannot be used, or a file that is not there.
    pub(super) fn of(text: &str) -> Result<Self, Failure> {
        if text == DEMO {
            return Ok(Target::Demo);
        }
        if text.contains("://") || text.starts_with("sqlite:") {
            return address(text).map(Target::Address);
        }
        match is_file_name(text) {
            true => file(text).map(Target::Address),
            false => Ok(Target::Named(text.to_owned())),
        }
    }
}

/// An address; that of a file is refused where no file is, since a new one would be empty.
///
/// # Errors
/// It cannot be used.
pub(super) fn address(text: &str) -> Result<ConnectionUrl, Failure> {
    let url = text.parse::<ConnectionUrl>();
    let url = url.map_err(|error| Failure::Usage(error.message))?;
    match &url.path {
        Some(path) => there(path).map(|()| url),
        None => Ok(url),
    }
}

fn is_file_name(text: &str) -> bool {
    let lower = text.to_lowercase();
    text.contains(['/', std::path::MAIN_SEPARATOR])
        || ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

fn file(text: &str) -> Result<ConnectionUrl, Failure> {
    there(Path::new(text))?;
    let whole = std::path::absolute(text).unwrap_or_else(|_| text.into());
    let url: Result<ConnectionUrl, _> = format!("sqlite:{}", whole.display()).parse();
    url.map_err(|error| Failure::Usage(error.message))
}

fn there(path: &Path) -> Result<(), Failure> {
    if path.is_file() {
        return Ok(());
    }
    let shown = path.display();
    if path.is_dir() {
        return Err(Failure::Usage(format!(
            "{shown} is a folder; name a file of SQLite in it"
        )));
    }
    let near = neighbour(path).map(|near| format!("; did you mean {near}?"));
    Err(Failure::Usage(format!(
        "there is no file {shown}{}",
        near.unwrap_or_default()
    )))
}

/// A file beside it whose name is most like its own.
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
        let named = |name: &str| Target::Named(name.to_owned());
        assert_eq!(Target::of("demo").unwrap(), Target::Demo);
        assert_eq!(Target::of("shop").unwrap(), named("shop"));
        assert_eq!(Target::of("店").unwrap(), named("店"));
        assert!(matches!(
            Target::of("postgres://ann@h/d").unwrap(),
            Target::Address(_)
        ));
        for wrong in ["oracle://h/d", "no/such/file", "none.db", "sqlite:none.db"] {
            assert!(
                matches!(Target::of(wrong), Err(Failure::Usage(_))),
                "{wrong}"
            );
        }
    }
}
