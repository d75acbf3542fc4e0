//! Formats of files, and options and limits for reading them.

use std::path::Path;

/// A form of files that can be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// Values with commas, semicolons, tabs or bars between them; which, the first lines say.
    Csv,
    /// Values with tabs between them.
    Tsv,
    /// One JSON object a line.
    JsonLines,
    /// Parquet.
    Parquet,
}

/// Endings of files and their forms.
const ENDINGS: [(&str, FileForm); 6] = [
    ("csv", FileForm::Csv),
    ("tsv", FileForm::Tsv),
    ("tab", FileForm::Tsv),
    ("jsonl", FileForm::JsonLines),
    ("ndjson", FileForm::JsonLines),
    ("parquet", FileForm::Parquet),
];

impl FileForm {
    /// The form that the ending of a name says, in any case of letters.
    ///
    /// ```
    /// use quillet_sql::files::FileForm;
    /// use std::path::Path;
    ///
    /// assert_eq!(FileForm::of(Path::new("orders.CSV")), Some(FileForm::Csv));
    /// assert_eq!(FileForm::of(Path::new("orders.txt")), None);
    /// ```
    #[must_use]
    pub fn of(path: &Path) -> Option<FileForm> {
        let ending = path.extension()?.to_str()?.to_lowercase();
        let known = ENDINGS.iter().find(|(known, _)| *known == ending);
        known.map(|(_, form)| *form)
    }

    /// Endings of the forms, without the dot.
    pub fn endings() -> impl Iterator<Item = &'static str> {
        ENDINGS.iter().map(|(ending, _)| *ending)
    }
}

/// Whether the first line of a CSV names the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// It does, unless a number that is no year stands in it.
    #[default]
    Auto,
    /// It does.
    Yes,
    /// It does not; columns are `column1`, `column2`, ….
    No,
}

impl Header {
    /// The choice of that name: `auto`, `yes`, `no`.
    ///
    /// ```
    /// use quillet_sql::files::Header;
    ///
    /// assert_eq!(Header::from_name("no"), Some(Header::No));
    /// assert_eq!(Header::from_name("maybe"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Header> {
        Some(match name {
            "auto" => Header::Auto,
            "yes" => Header::Yes,
            "no" => Header::No,
            _ => return None,
        })
    }
}

/// Options and limits for reading files.
#[derive(Clone, Debug)]
pub struct FileOptions {
    /// Most rows of all files together.
    pub rows: u64,
    /// Most bytes of all files together, and of the values that are read from them.
    pub bytes: u64,
    /// Most bytes of one row.
    pub row_bytes: u64,
    /// The encoding of texts by a name of the WHATWG's list (`gbk`, `windows-1252`); where `None`,
    /// UTF-8, or what the byte order mark says.
    pub encoding: Option<String>,
    /// The byte between the values of a CSV; where `None`, what fits its first lines.
    pub separator: Option<u8>,
    /// Whether the first line of a CSV names the columns.
    pub header: Header,
}

impl Default for FileOptions {
    /// 20,000,000 rows, 2 GiB, 16 MiB a row.
    fn default() -> Self {
        FileOptions {
            rows: 20_000_000,
            bytes: 2 << 30,
            row_bytes: 16 << 20,
            encoding: None,
            separator: None,
            header: Header::Auto,
        }
    }
}
