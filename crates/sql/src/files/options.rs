//! File formats, and options and limits for reading files.

use std::path::Path;

/// A file format that can be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// Values separated by commas, semicolons, tabs or pipes; the separator is detected from the
    /// first lines.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// One JSON object per line.
    JsonLines,
    /// Parquet.
    Parquet,
}

/// File extensions and their formats.
const ENDINGS: [(&str, FileForm); 6] = [
    ("csv", FileForm::Csv),
    ("tsv", FileForm::Tsv),
    ("tab", FileForm::Tsv),
    ("jsonl", FileForm::JsonLines),
    ("ndjson", FileForm::JsonLines),
    ("parquet", FileForm::Parquet),
];

impl FileForm {
    /// Returns the format for a file name's extension, ignoring case.
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

    /// Returns the supported file extensions, without the dot.
    pub fn endings() -> impl Iterator<Item = &'static str> {
        ENDINGS.iter().map(|(ending, _)| *ending)
    }
}

/// Whether the first line of a CSV file contains the column names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// Detects it: the first line is a header unless it contains a number that is not a year.
    #[default]
    Auto,
    /// The first line is a header.
    Yes,
    /// There is no header; columns are named `column1`, `column2`, ….
    No,
}

impl Header {
    /// Returns the option with this name, which is `auto`, `yes` or `no`.
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
    /// Maximum total number of rows in all files.
    pub rows: u64,
    /// Maximum total size in bytes of all files, and also of all their values.
    pub bytes: u64,
    /// Maximum size of one row in bytes.
    pub row_bytes: u64,
    /// Text encoding by its WHATWG name (`gbk`, `windows-1252`). If `None`, a byte order mark
    /// selects the encoding; a file without a mark is read as UTF-8.
    pub encoding: Option<String>,
    /// Byte that separates the values of a CSV file; detected from the first lines if `None`.
    pub separator: Option<u8>,
    /// Whether the first line of a CSV file contains the column names.
    pub header: Header,
}

impl Default for FileOptions {
    /// 20,000,000 rows, 2 GiB, 16 MiB per row.
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
