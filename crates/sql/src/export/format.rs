//! Export formats by name, file extension and media type.

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
    /// One JSON object, in the format of the API; see [`rows_json`].
    Json,
    /// One JSON object per row, each on its own line.
    Ndjson,
    /// Comma-separated values (RFC 4180).
    Csv,
    /// An Apache Arrow file.
    Arrow,
    /// An Apache Arrow stream, which can be read before it is complete.
    ArrowStream,
    /// An Apache Parquet file.
    Parquet,
    /// An Excel workbook.
    Xlsx,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: [ExportFormat; 7] = [
        ExportFormat::Json,
        ExportFormat::Ndjson,
        ExportFormat::Csv,
        ExportFormat::Arrow,
        ExportFormat::ArrowStream,
        ExportFormat::Parquet,
        ExportFormat::Xlsx,
    ];

    /// Returns the format's name in options and requests.
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

    /// Returns the media type, for the header `Content-Type`.
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

    /// Returns the file extension, without the dot.
    #[must_use]
    pub fn ending(self) -> &'static str {
        match self {
            ExportFormat::ArrowStream => "arrows",
            _ => self.name(),
        }
    }
}

/// Error for an unknown export format.
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
    /// Returns the code for error bodies, which does not change between versions.
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

    /// Parses a name or a file extension, ignoring case.
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
