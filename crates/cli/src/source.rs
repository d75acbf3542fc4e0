//! Files as definitions: templates, prompts, tools, extensions, variables.

use std::fs;
use std::io::Read;
use std::path::Path;

use quillet_core::store::Kind;
use quillet_core::{Diagnostic, Map, Position, Span, Value, json};
use quillet_prompt::file;
use quillet_yaml::{Duplicates, Options, Tags};

use crate::failure::Failure;
use crate::report::Finding;
use crate::surroundings::Schemas;

/// A file larger than this is refused before it is read.
const MOST_BYTES: u64 = 8 << 20;

/// How data is read: as much as fits into a file, and tags say nothing.
const YAML: Options = Options {
    code: "data",
    most_nodes: 1_000_000,
    most_depth: 120,
    most_bytes: 64 << 20,
    tags: Tags::Keep,
    duplicates: Duplicates::Refuse,
};

/// The byte order mark in UTF-8, which says nothing.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form<'a> {
    /// A template in this format.
    Template(&'a str),
    /// A prompt file, which has a reader of its own.
    Prompt,
    Json,
    Yaml,
    Toml,
}

/// Endings and what they mean, as in folders that are stores.
const ENDINGS: [(&str, Form<'static>); 21] = [
    (".gotmpl", Form::Template("go")),
    (".tmpl", Form::Template("go")),
    (".tpl", Form::Template("go")),
    (".jinja", Form::Template("jinja")),
    (".jinja2", Form::Template("jinja")),
    (".j2", Form::Template("jinja")),
    (".handlebars", Form::Template("handlebars")),
    (".hbs", Form::Template("handlebars")),
    (".mustache", Form::Template("mustache")),
    (".liquid", Form::Template("liquid")),
    (".skprompt", Form::Template("semantic-kernel")),
    (".sk", Form::Template("semantic-kernel")),
    (".fstring", Form::Template("f-string")),
    (".fstr", Form::Template("f-string")),
    ("skprompt.txt", Form::Prompt),
    (".prompty", Form::Prompt),
    (".prompt", Form::Prompt),
    (".json", Form::Json),
    (".yaml", Form::Yaml),
    (".yml", Form::Yaml),
    (".toml", Form::Toml),
];

/// What the name of a file says that it is.
pub(crate) fn form_of(name: &str) -> Option<Form<'static>> {
    let ending = |(ending, form): &(&str, Form<'static>)| name.ends_with(ending).then_some(*form);
    ENDINGS.iter().find_map(ending)
}

/// Whether a file is a script, by its name.
pub(crate) fn is_script(name: &str) -> bool {
    name.ends_with(".ai.yaml") || name.ends_with(".ai.yml")
}

/// What a file is, by its name and, for YAML, by its text.
pub(crate) fn form(name: &str, text: &str) -> Option<Form<'static>> {
    match file::kind(name, text) {
        Some(_) => Some(Form::Prompt),
        None => form_of(name),
    }
}

/// Reads a text file, or standard input for `-`.
///
/// # Errors
/// It cannot be read, is too large or no UTF-8.
pub(crate) fn read(path: &str) -> Result<String, Failure> {
    let refuse = |why: String| Failure::Other(format!("{}: {why}", shown(path)));
    let reader: Box<dyn Read> = match path {
        "-" => Box::new(std::io::stdin()),
        _ => {
            let about = fs::metadata(path).map_err(|error| refuse(error.to_string()))?;
            if about.is_dir() {
                return Err(refuse("is a folder".into()));
            }
            Box::new(fs::File::open(path).map_err(|error| refuse(error.to_string()))?)
        }
    };
    let mut bytes = Vec::new();
    let read = reader.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| refuse(error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(refuse(format!("is larger than {MOST_BYTES} bytes")));
    }
    // Editors of some systems begin every text with it.
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        refuse(format!("not UTF-8 from byte {at} on"))
    })
}

/// The name of a file in messages.
pub(crate) fn shown(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// Reads data in a form; what stands in no form is JSON or YAML.
///
/// # Errors
/// A finding with its place.
pub(crate) fn parse(path: &str, text: &str, form: Form<'_>) -> Result<Value, Failure> {
    let wrong = |message: String, place: Option<Position>| {
        let mut diagnostic = Diagnostic::error("data", shown(path), message);
        diagnostic.position = place;
        Failure::Findings(vec![Finding {
            diagnostic,
            text: Some(text.to_owned()),
        }])
    };
    match form {
        Form::Json => json::parse(text).map_err(|error| {
            let (line, column) = (error.line().max(1), error.column().max(1));
            wrong(
                format!("not JSON: {error}"),
                Some(Position { line, column }),
            )
        }),
        Form::Toml => toml::from_str(text).map_err(|error: toml::de::Error| {
            let place = error.span().map(|span| Position::of(text, span.start));
            let message = toml_message(&error, text);
            wrong(format!("not TOML: {message}"), place)
        }),
        Form::Yaml | Form::Template(_) | Form::Prompt => {
            let whole = Span {
                start: 0,
                end: text.len(),
            };
            let (node, findings) = quillet_yaml::parse(shown(path), text, whole, &YAML);
            match findings.into_iter().next() {
                None => Ok(node.map_or(Value::Null, |node| node.value())),
                Some(first) => Err(Failure::Findings(vec![Finding {
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

/// The JSON text of a definition's file.
///
/// # Errors
/// A finding with its place.
pub(crate) fn definition(path: &str, text: &str) -> Result<String, Failure> {
    if is_script(path) {
        return Ok(quillet_prompt::script_definition(text));
    }
    match form(path, text) {
        Some(Form::Prompt) => Err(Failure::Other(format!(
            "{}: a prompt file is stored as it stands, in the prompts/ of a folder store",
            shown(path)
        ))),
        // The reader of definitions says best what is wrong with JSON.
        Some(Form::Json) => Ok(text.to_owned()),
        Some(Form::Template(format)) => Ok(template(text, Some(format), false)),
        Some(form) => Ok(json::to_string(&parse(path, text, form)?)),
        None if text.trim_start().starts_with('{') => Ok(text.to_owned()),
        None => Ok(json::to_string(&parse(path, text, Form::Yaml)?)),
    }
}

/// The definition of a prompt that is one template.
pub(crate) fn template(text: &str, format: Option<&str>, lenient: bool) -> String {
    let missing = if lenient { "lenient" } else { "strict" };
    serde_json::json!({"userPrompt": text, "format": format, "missing": missing}).to_string()
}

/// What a definition is, by what is in it.
pub(crate) fn kind_of(definition: &Value) -> Option<Kind> {
    let map = definition.as_map()?;
    let has = |keys: &[&str]| keys.iter().any(|key| map.get(key).is_some());
    if has(&["contributes", "extensionType"]) {
        return Some(Kind::Extension);
    }
    if has(&["messages", "userPrompt", "prompt"]) {
        return Some(Kind::Prompt);
    }
    has(&["type", "restful", "grpc", "mcp", "url"]).then_some(Kind::Tool)
}

/// Variables of a command line: a file and definitions over it.
///
/// # Errors
/// Something cannot be read, or is no `name=value`.
pub(crate) fn variables(data: Option<&str>, defines: &[String]) -> Result<Map, Failure> {
    let mut root = match data {
        Some(path) => self::data(path)?,
        None => Value::Map(Map::default()),
    };
    for define in defines {
        let (path, value) = defined(define)?;
        let path: Vec<&str> = path.split('.').collect();
        root = with(&root, &path, value);
    }
    match root {
        Value::Map(map) => Ok(map),
        Value::Null => Ok(Map::default()),
        other => Err(Failure::Usage(format!(
            "{}: variables must be an object, not {}",
            shown(data.unwrap_or("-D")),
            other.kind()
        ))),
    }
}

/// The value of a file: by its name JSON or TOML, else YAML.
///
/// # Errors
/// It cannot be read, with its place.
pub(crate) fn data(path: &str) -> Result<Value, Failure> {
    let form = form_of(path).unwrap_or(Form::Yaml);
    if path.trim_start().starts_with('{') {
        return Err(Failure::Usage(
            "-d takes a file, or - for standard input; a value is given by -D name:=json".into(),
        ));
    }
    parse(path, &read(path)?, form)
}

/// Schemas by name: those of the settings, and over them those of a command line, `NAME=FILE`.
///
/// # Errors
/// Something is no `NAME=FILE`, cannot be read, or is no schema.
pub(crate) fn schemas(
    configured: &[(String, String)],
    defines: &[String],
) -> Result<Schemas, Failure> {
    let mut schemas = Schemas::default();
    for (name, path) in configured {
        schemas.add(name, schema(&format!("prompts.schemas.{name}"), path)?);
    }
    for define in defines {
        let named = define.split_once('=').filter(|(name, _)| !name.is_empty());
        let Some((name, path)) = named else {
            return Err(Failure::Usage(format!(
                "--schema {define:?} must be NAME=FILE"
            )));
        };
        schemas.add(name, schema(&format!("--schema {name}"), path)?);
    }
    Ok(schemas)
}

/// A file that holds a schema; `who` names it.
fn schema(who: &str, path: &str) -> Result<serde_json::Value, Failure> {
    let text = read(path).map_err(|failure| match failure {
        Failure::Other(why) => Failure::Other(format!("{who}: {why}")),
        failure => failure,
    })?;
    let schema = parse(path, &text, form_of(path).unwrap_or(Form::Yaml))?;
    if schema.as_map().is_none() {
        return Err(Failure::Usage(format!(
            "{who}: {path} holds {}, and a JSON Schema is an object",
            match schema.kind() {
                kind @ ("array" | "integer") => format!("an {kind}"),
                "null" => "nothing".to_owned(),
                kind => format!("a {kind}"),
            }
        )));
    }
    Ok((&schema).into())
}

/// `name=text`, `name=@file` or `name:=json`.
fn defined(define: &str) -> Result<(&str, Value), Failure> {
    let Some((name, value)) = define
        .split_once('=')
        .filter(|(name, _)| !matches!(*name, "" | ":"))
    else {
        return Err(Failure::Usage(format!(
            "-D {define:?} must be name=text, name=@file or name:=json"
        )));
    };
    if let Some(name) = name.strip_suffix(':') {
        let value = json::parse(value);
        return value.map(|value| (name, value)).map_err(|error| {
            Failure::Usage(format!(
                "-D {name}:= needs JSON: {error}; for text write {name}=…"
            ))
        });
    }
    match value.strip_prefix('@') {
        Some(path) => Ok((name, read(path)?.into())),
        None => Ok((name, value.into())),
    }
}

/// The object with the value under a path; what is in the way is replaced.
pub(crate) fn with(root: &Value, path: &[&str], value: Value) -> Value {
    let [first, rest @ ..] = path else {
        return value;
    };
    let mut table = root.as_map().map(Map::to_table).unwrap_or_default();
    let inner = table.get(*first).cloned().unwrap_or_default();
    table.insert((*first).into(), with(&inner, rest, value));
    Value::Map(Map::new(table))
}

/// Whether a name can only be meant as a file.
pub(crate) fn looks_like_a_path(name: &str) -> bool {
    name.contains(std::path::MAIN_SEPARATOR) || name.contains('/') || form_of(name).is_some()
}

/// The name of a file without folders and ending.
pub(crate) fn stem(path: &str) -> String {
    if form_of(path) == Some(Form::Prompt) {
        return file::stem(path).to_owned();
    }
    let name = Path::new(path).file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// What is wrong with TOML; its reader takes a value that is missing for one without quotes.
pub(crate) fn toml_message(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.and_then(|text| text.lines().next_back());
    let key = line.and_then(|line| line.trim_end().strip_suffix('='));
    let after = error.span().and_then(|span| text.get(span.start..));
    let ends = after.is_some_and(|rest| {
        rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n') || rest.trim().is_empty()
    });
    match key.filter(|_| ends) {
        Some(key) => format!("the value of {} is missing", key.trim()),
        None => error.message().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_set_texts_json_and_fields() {
        let set = |defines: &[&str]| {
            let defines: Vec<String> = defines.iter().map(|text| (*text).to_owned()).collect();
            variables(None, &defines).map(|map| json::to_string(&map.into()))
        };
        let cases: [(&[&str], &str); 6] = [
            (&["a=1"], r#"{"a":"1"}"#),
            (&["a:=1"], r#"{"a":1}"#),
            (&["a=b=c", "d="], r#"{"a":"b=c","d":""}"#),
            (&["a.b=x", "a.c:=[2]"], r#"{"a":{"b":"x","c":[2]}}"#),
            (&["a=x", "a.b=y"], r#"{"a":{"b":"y"}}"#),
            (&[], "{}"),
        ];
        for (defines, expected) in cases {
            assert_eq!(set(defines).unwrap(), expected, "{defines:?}");
        }
        for wrong in ["a", "=x", ":=1", "a:={"] {
            assert!(matches!(set(&[wrong]), Err(Failure::Usage(_))), "{wrong}");
        }
    }

    #[test]
    fn definitions_are_known_by_their_fields() {
        let cases = [
            (r#"{"contributes":{}}"#, Some(Kind::Extension)),
            (r#"{"messages":[]}"#, Some(Kind::Prompt)),
            (r#"{"type":"restful"}"#, Some(Kind::Tool)),
            (r#"{"x":1}"#, None),
            ("[]", None),
        ];
        for (text, kind) in cases {
            assert_eq!(kind_of(&json::parse(text).unwrap()), kind, "{text}");
        }
    }
}
