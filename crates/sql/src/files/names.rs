//! Derives table and column names from files.

use std::path::Path;

use foldhash::HashMap;
use quillet_core::ErrorCode;

use super::FileError;

/// Maximum columns of a SQLite table (`SQLITE_MAX_COLUMN`).
pub(super) const MOST_COLUMNS: usize = 2_000;

/// Names in use, in lower case, because SQLite ignores case.
#[derive(Debug, Default)]
pub(super) struct UsedNames(HashMap<String, u32>);

impl UsedNames {
    /// Returns the name, or the first unused one of `name_2`, `name_3`, ….
    pub(super) fn free(&mut self, name: &str) -> String {
        let mut count = self.0.get(&folded(name)).copied().unwrap_or(1);
        let mut free = name.to_owned();
        while self.0.contains_key(&folded(&free)) {
            count += 1;
            free = format!("{name}_{count}");
        }
        self.0.insert(folded(name), count);
        self.0.entry(folded(&free)).or_insert(1);
        free
    }
}

/// Lowercases ASCII letters only, as SQLite does when it compares names.
fn folded(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// Returns the table name for a file: its name without the extension, with `_` for all characters
/// except letters and digits, so that queries do not need quotes.
pub(super) fn table(path: &Path, taken: &mut UsedNames) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let words = stem.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let name = words.join("_");
    let begins = |c: char| c.is_numeric() || name.to_ascii_lowercase().starts_with("sqlite_");
    let name = match name.chars().next() {
        None => "data".to_owned(),
        Some(first) if begins(first) => format!("_{name}"),
        Some(_) => name,
    };
    taken.free(&name)
}

/// Returns the column names, trimmed. An empty name becomes `columnN`, and a duplicate gets a
/// number.
///
/// # Errors
/// Fails if there are more columns than a table allows.
pub(super) fn columns<'a>(
    path: &Path,
    names: impl Iterator<Item = &'a str>,
) -> Result<Vec<String>, FileError> {
    let mut taken = UsedNames::default();
    let mut columns = Vec::new();
    for (place, name) in names.enumerate() {
        columns.push(taken.free(&column(place, name)));
    }
    bounded(path, columns.len())?;
    Ok(columns)
}

/// Returns one column name, with line ends and control characters replaced by spaces.
pub(super) fn column(place: usize, name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match name.trim() {
        "" => format!("column{}", place + 1),
        name => name.to_owned(),
    }
}

/// # Errors
/// Fails if a SQLite table cannot have this number of columns.
pub(super) fn bounded(path: &Path, columns: usize) -> Result<(), FileError> {
    if columns <= MOST_COLUMNS {
        return Ok(());
    }
    let message = format!("too many columns: {columns} (limit {MOST_COLUMNS} in SQLite)");
    let error = FileError::new(ErrorCode::FileLimit, path, message);
    Err(error.help("remove columns, or store each one as a row with its name and value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_named_after_their_files() {
        let mut taken = UsedNames::default();
        for (file, name) in [
            ("sales.csv", "sales"),
            ("dir/my-data.2024.csv", "my_data_2024"),
            ("2024 sales (final).csv", "_2024_sales_final"),
            ("订单.csv", "订单"),
            ("SALES.parquet", "SALES_2"),
            ("sales.tsv", "sales_3"),
            ("sqlite_master.csv", "_sqlite_master"),
            ("---.csv", "data"),
            ("Größe.jsonl", "Größe"),
        ] {
            assert_eq!(table(Path::new(file), &mut taken), name, "{file}");
        }
    }

    #[test]
    fn columns_keep_their_names_and_are_told_apart() {
        let given = ["id", " Name ", "name", "", "ID", "a\nb", "name_2", ""];
        let named = columns(Path::new("x.csv"), given.into_iter()).unwrap();
        let expected = [
            "id", "Name", "name_2", "column4", "ID_2", "a b", "name_2_2", "column8",
        ];
        assert_eq!(named, expected);
    }

    #[test]
    fn too_many_columns_are_told() {
        let names = vec!["a"; MOST_COLUMNS + 1];
        let error = columns(Path::new("x.csv"), names.into_iter()).unwrap_err();
        assert_eq!(error.code, "sql.file.limit");
    }
}
