//! The formats of an export, by name, file ending and media type.

use std::str::FromStr;

use quillet_core::ErrorCode;

/// An export format.
///
/// ```
/// use quillet_sql::export::ExportFormat;
///
/// let format: ExportFormat = "CSV".parse()?;
/// assert_eq!(format.ending(), "csv");
/// assert_eq!("arrows".parse(), Ok(ExportFormat::ArrowStream));
/// # Ok::<(), quillet_sql::export::UnknownFormat>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One JSON object, as the API gives it out; see [`rows_json`].
    Json,
    /// A JSON object a line and row.
    Ndjson,
    /// Text with commas (RFC 4180).
    Csv,
    /// A file of Apache Arrow.
    Arrow,
    /// Apache Arrow for readers that begin before the end is there.
    ArrowStream,
    /// A file of Apache Parquet.
    Parquet,
    /// A workbook of Excel.
    Xlsx,
}

impl ExportFormat {
    /// All of them.
    pub const ALL: [ExportFormat; 7] = [
        ExportFormat::Json,
        ExportFormat::Ndjson,
        ExportFormat::Csv,
        ExportFormat::Arrow,
        ExportFormat::ArrowStream,
        ExportFormat::Parquet,
        ExportFormat::Xlsx,
    ];

    /// Returns the name, as used in options and requests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ExportFormat::Json => "json",
            ExportFormat::Ndjson => "ndjson",
            ExportFormat::Csv => "csv",
            ExportFormat::Arrow => "arrow",
            ExportFormat::ArrowStream => "arrow-stream",
            ExportFormat::Parquet => "parquet",
            ExportFormat::Xlsx => "xlsx",
        }
    }

    /// Returns the value of `Content-Type`.
    ///
    /// ```
    /// use quillet_sql::export::ExportFormat;
    ///
    /// assert_eq!(ExportFormat::Csv.media_type(), "text/csv; charset=utf-8");
    /// ```
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            ExportFormat::Json => "application/json",
            ExportFormat::Ndjson => "application/x-ndjson",
            ExportFormat::Csv => "text/csv; charset=utf-8",
            ExportFormat::Arrow => "application/vnd.apache.arrow.file",
            ExportFormat::ArrowStream => "application/vnd.apache.arrow.stream",
            ExportFormat::Parquet => "application/vnd.apache.parquet",
            ExportFormat::Xlsx => {
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
            }
        }
    }

    /// Returns the file ending, without the dot.
    #[must_use]
    pub fn ending(self) -> &'static str {
        match self {
            ExportFormat::ArrowStream => "arrows",
            _ => self.name(),
        }
    }
}

/// The error of an unknown export format.
///
/// ```
/// use quillet_sql::export::ExportFormat;
///
/// let error = "xslx".parse::<ExportFormat>().unwrap_err();
/// assert!(error.to_string().contains("did you mean \"xlsx\"?"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format {name:?}{}; known formats are {}", suggestion(.name), names())]
pub struct UnknownFormat {
    /// The requested name.
    pub name: String,
}

impl UnknownFormat {
    /// Stable code, as in error bodies.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::SqlInvalidFormat
    }
}

fn names() -> String {
    ExportFormat::ALL.map(ExportFormat::name).join(", ")
}

fn suggestion(name: &str) -> String {
    let near = quillet_core::nearest(name, ExportFormat::ALL.map(ExportFormat::name));
    near.map_or_else(String::new, |near| format!(", did you mean {near:?}?"))
}

impl FromStr for ExportFormat {
    type Err = UnknownFormat;

    /// A name or the ending of a file, in any case of letters.
    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let is = |format: &ExportFormat| {
            text.eq_ignore_ascii_case(format.name()) || text.eq_ignore_ascii_case(format.ending())
        };
        ExportFormat::ALL
            .into_iter()
            .find(is)
            .ok_or_else(|| UnknownFormat {
                name: text.chars().take(40).collect(),
            })
    }
}
