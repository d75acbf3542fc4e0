//! Reading of data files, with size limits and located errors.

use std::fs;
use std::io::Read;

use quillet_core::{Diagnostic, LineColumn, Span, Value, json};
use quillet_store::{PROMPT_FILE_ENDINGS, TEMPLATE_ENDINGS};
use quillet_yaml::{Duplicates, Options, Tags};

use crate::components::disk::Schemas;
use crate::error::{Error, LocatedDiagnostic};

/// Maximum size of a file in bytes; larger files are rejected before reading.
const MOST_BYTES: u64 = 8 << 20;

/// YAML options: limits of the file size, and tags are ignored.
const YAML: Options = Options {
    code: "data",
    most_nodes: 1_000_000,
    most_depth: 120,
    most_bytes: 64 << 20,
    tags: Tags::Keep,
    duplicates: Duplicates::Refuse,
};

/// Byte order mark in UTF-8, which is removed.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Kind of a file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFileKind<'a> {
    /// A template of this format.
    Template(&'a str),
    /// A prompt file, which has its own parser.
    Prompt,
    /// A JSON file.
    Json,
    /// A YAML file.
    Yaml,
    /// A TOML file.
    Toml,
}

const DATA_ENDINGS: [(&str, InputFileKind<'static>); 4] = [
    (".json", InputFileKind::Json),
    (".yaml", InputFileKind::Yaml),
    (".yml", InputFileKind::Yaml),
    (".toml", InputFileKind::Toml),
];

/// Returns the kind of a file by its name: templates and prompt files as in a folder store, and data.
///
/// ```
/// use quillet::files::{InputFileKind, kind_of_file};
///
/// assert_eq!(kind_of_file("rows.toml"), Some(InputFileKind::Toml));
/// assert_eq!(kind_of_file("rows.yml"), Some(InputFileKind::Yaml));
/// assert_eq!(kind_of_file("rows.csv"), None);
/// ```
pub fn kind_of_file(name: &str) -> Option<InputFileKind<'static>> {
    let template = |(ending, format): &(&str, &'static str)| {
        let is_template = name.ends_with(ending);
        is_template.then_some(InputFileKind::Template(format))
    };
    if let Some(template) = TEMPLATE_ENDINGS.iter().find_map(template) {
        return Some(template);
    }
    let mut prompts = PROMPT_FILE_ENDINGS.iter().chain(&["skprompt.txt"]);
    if prompts.any(|ending| name.ends_with(ending)) {
        return Some(InputFileKind::Prompt);
    }
    let data =
        |(ending, kind): &(&str, InputFileKind<'static>)| name.ends_with(ending).then_some(*kind);
    DATA_ENDINGS.iter().find_map(data)
}

/// Reads a text file, or standard input for `-`.
///
/// # Errors
/// The file cannot be read, is too large, or is not UTF-8.
pub fn read(path: &str) -> Result<String, Error> {
    let refuse = |why: String| Error::other(format!("{}: {why}", display_name(path)));
    let unreadable = |error: std::io::Error| {
        Error::other_from(format!("{}: {error}", display_name(path)), error)
    };
    let reader: Box<dyn Read> = match path {
        "-" => Box::new(std::io::stdin()),
        _ => {
            let about = fs::metadata(path).map_err(unreadable)?;
            // On Unix a folder can be opened, and only reading it fails, with an unclear error.
            if about.is_dir() {
                return Err(refuse("is a folder".into()));
            }
            Box::new(fs::File::open(path).map_err(unreadable)?)
        }
    };
    let mut bytes = Vec::new();
    // Reading one byte more than the limit distinguishes a file of exactly that size from a larger
    // one. The size in the metadata is not enough: standard input and pipes have none.
    let read = reader.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(refuse(format!("is larger than {MOST_BYTES} bytes")));
    }
    // Some editors on Windows start every file with a byte order mark.
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        refuse(format!("invalid UTF-8 at byte offset {at}"))
    })
}

/// Returns the name of a file for messages.
///
/// ```
/// use quillet::files::display_name;
///
/// assert_eq!(display_name("-"), "standard input");
/// assert_eq!(display_name("rows.json"), "rows.json");
/// ```
pub fn display_name(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// Parses data of the given kind; other kinds are parsed as YAML, which includes JSON.
///
/// # Errors
/// The data is invalid; the diagnostic has the location.
///
/// # Examples
/// ```
/// use quillet::files::{InputFileKind, parse};
///
/// let data = parse("shop.toml", "name = \"Quill\"", InputFileKind::Toml)?;
/// assert_eq!(data.as_map().unwrap().get("name").unwrap().as_str(), Some("Quill"));
/// assert!(parse("shop.json", "{", InputFileKind::Json).is_err());
/// # Ok::<(), quillet::Error>(())
/// ```
pub fn parse(path: &str, text: &str, form: InputFileKind<'_>) -> Result<Value, Error> {
    let wrong = |message: String, place: Option<LineColumn>| {
        let mut diagnostic = Diagnostic::error("data", display_name(path), message);
        diagnostic.position = place;
        Error::Findings(vec![LocatedDiagnostic {
            diagnostic,
            text: Some(text.to_owned()),
        }])
    };
    match form {
        InputFileKind::Json => json::parse(text).map_err(|error| {
            // serde_json reports column 0 for an empty text; diagnostics count from 1.
            let (line, column) = (error.line().max(1), error.column().max(1));
            wrong(
                format!("not JSON: {error}"),
                Some(LineColumn { line, column }),
            )
        }),
        InputFileKind::Toml => toml::from_str(text).map_err(|error: toml::de::Error| {
            let place = error.span().map(|span| LineColumn::of(text, span.start));
            let message = toml_message(&error, text);
            wrong(format!("not TOML: {message}"), place)
        }),
        InputFileKind::Yaml | InputFileKind::Template(_) | InputFileKind::Prompt => {
            let whole = Span {
                start: 0,
                end: text.len(),
            };
            let (node, findings) = quillet_yaml::parse(display_name(path), text, whole, &YAML);
            match findings.into_iter().next() {
                None => Ok(node.map_or(Value::Null, |node| node.value())),
                Some(first) => Err(Error::Findings(vec![LocatedDiagnostic {
                    diagnostic: Diagnostic {
                        message: format!("not YAML: {}", first.message),
                        ..first
                    },
                    text: Some(text.to_owned()),
                }])),
            }
        }
    }
}

/// Reads a file as a value: JSON or TOML by its name, or else YAML.
///
/// # Errors
/// The file cannot be read, or is invalid; with location.
pub fn data(path: &str) -> Result<Value, Error> {
    // YAML includes JSON, so standard input may be either of them.
    let form = kind_of_file(path).unwrap_or(InputFileKind::Yaml);
    // Users often pass the value itself instead of a file.
    if path.trim_start().starts_with('{') {
        return Err(Error::setting(
            "-d takes a file, or - for standard input; for a value use -D name:=json".into(),
        ));
    }
    parse(path, &read(path)?, form)
}

/// Reads schemas by name: the schemas of the settings, overridden by `NAME=FILE` on the command
/// line.
///
/// # Errors
/// An argument is not `NAME=FILE`, or a file cannot be read or is not a schema.
pub fn schemas(configured: &[(String, String)], defines: &[String]) -> Result<Schemas, Error> {
    let mut schemas = Schemas::default();
    for (name, path) in configured {
        schemas.add(name, schema(&format!("prompts.schemas.{name}"), path)?);
    }
    for define in defines {
        let named = define.split_once('=').filter(|(name, _)| !name.is_empty());
        let Some((name, path)) = named else {
            return Err(Error::setting(format!(
                "--schema {define:?} must be NAME=FILE"
            )));
        };
        schemas.add(name, schema(&format!("--schema {name}"), path)?);
    }
    Ok(schemas)
}

/// Reads a schema file. `who` names it in errors.
fn schema(who: &str, path: &str) -> Result<serde_json::Value, Error> {
    let text = read(path).map_err(|failure| match failure {
        Error::Other(failure) => Error::Other(failure.prefixed(who)),
        failure => failure,
    })?;
    let schema = parse(
        path,
        &text,
        kind_of_file(path).unwrap_or(InputFileKind::Yaml),
    )?;
    if schema.as_map().is_none() {
        return Err(Error::setting(format!(
            "{who}: {path} must be a JSON Schema object, not {}",
            match schema.kind() {
                kind @ ("array" | "integer") => format!("an {kind}"),
                "null" => "nothing".to_owned(),
                kind => format!("a {kind}"),
            }
        )));
    }
    Ok((&schema).into())
}

/// Returns the message of a TOML error. A missing value gets its own message, because the parser
/// reports it as an unquoted string.
pub fn toml_message(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.and_then(|text| text.lines().next_back());
    let key = line.and_then(|line| line.trim_end().strip_suffix('='));
    let after = error.span().and_then(|span| text.get(span.start..));
    let ends = after.is_some_and(|rest| {
        rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n') || rest.trim().is_empty()
    });
    match key.filter(|_| ends) {
        // If the value is missing at the end of a line, the parser's own message would be about
        // quotes.
        Some(key) => format!("the value of {} is missing", key.trim()),
        None => error.message().to_owned(),
    }
}
