//! Reading of files as definitions: templates, prompts, tools, extensions and variables.

use std::path::Path;

pub(crate) use quillet::files::{
    InputFileKind, data, display_name, kind_of_file, parse, read, schemas,
};
use quillet_core::store::EntryKind;
use quillet_core::{Map, Value, json};
use quillet_prompt::file;

use crate::failure::CliError;

/// Returns whether a file is a script, by its name.
pub(crate) fn is_script(name: &str) -> bool {
    name.ends_with(".ai.yaml") || name.ends_with(".ai.yml")
}

/// Returns the kind of a file, by its name and, for YAML, by its text.
pub(crate) fn form(name: &str, text: &str) -> Option<InputFileKind<'static>> {
    match file::kind(name, text) {
        Some(_) => Some(InputFileKind::Prompt),
        None => kind_of_file(name),
    }
}

/// Returns the definition in a file as JSON text.
///
/// # Errors
/// The file is invalid; the diagnostic has the location.
pub(crate) fn definition(path: &str, text: &str) -> Result<String, CliError> {
    if is_script(path) {
        return Ok(quillet_prompt::script_definition(text));
    }
    match form(path, text) {
        Some(InputFileKind::Prompt) => Err(CliError::Other(format!(
            "{}: a prompt file cannot be converted; copy it to prompts/ of a folder store",
            display_name(path)
        ))),
        // JSON is not parsed here, because the parser of definitions has better errors.
        Some(InputFileKind::Json) => Ok(text.to_owned()),
        Some(InputFileKind::Template(format)) => Ok(template(text, Some(format), false)),
        Some(form) => Ok(json::to_string(&parse(path, text, form)?)),
        // JSON from a file without an extension; the parser of definitions reports its errors.
        None if text.trim_start().starts_with('{') => Ok(text.to_owned()),
        None => Ok(json::to_string(&parse(path, text, InputFileKind::Yaml)?)),
    }
}

/// Returns the definition of a prompt with a single template.
pub(crate) fn template(text: &str, format: Option<&str>, lenient: bool) -> String {
    // The definition is generated as JSON, so both kinds of prompt use one parser.
    let missing = if lenient { "lenient" } else { "strict" };
    serde_json::json!({"userPrompt": text, "format": format, "missing": missing}).to_string()
}

/// Returns the kind of a definition, by its fields.
pub(crate) fn kind_of(definition: &Value) -> Option<EntryKind> {
    let map = definition.as_map()?;
    let has = |keys: &[&str]| keys.iter().any(|key| map.get(key).is_some());
    if has(&["contributes", "extensionType"]) {
        return Some(EntryKind::Extension);
    }
    if has(&["messages", "userPrompt", "prompt"]) {
        return Some(EntryKind::Prompt);
    }
    has(&["type", "restful", "grpc", "mcp", "url"]).then_some(EntryKind::Tool)
}

/// Returns the variables of a command line: those of the data file, overridden by `-D`.
///
/// # Errors
/// A file cannot be read, or an argument is not `name=value`.
pub(crate) fn variables(data: Option<&str>, defines: &[String]) -> Result<Map, CliError> {
    let mut root = match data {
        Some(path) => self::data(path)?,
        None => Value::Map(Map::default()),
    };
    for define in defines {
        let (path, value) = defined(define)?;
        let path: Vec<&str> = path.split('.').collect();
        root = set_path(&root, &path, value);
    }
    match root {
        Value::Map(map) => Ok(map),
        Value::Null => Ok(Map::default()),
        other => Err(CliError::Usage(format!(
            "{}: variables must be an object, not {}",
            display_name(data.unwrap_or("-D")),
            other.kind()
        ))),
    }
}

/// Parses `name=text`, `name=@file` or `name:=json`.
fn defined(define: &str) -> Result<(&str, Value), CliError> {
    let Some((name, value)) = define
        .split_once('=')
        .filter(|(name, _)| !matches!(*name, "" | ":"))
    else {
        return Err(CliError::Usage(format!(
            "-D {define:?} must be name=text, name=@file or name:=json"
        )));
    };
    if let Some(name) = name.strip_suffix(':') {
        let value = json::parse(value);
        return value.map(|value| (name, value)).map_err(|error| {
            CliError::Usage(format!(
                "-D {name}:= needs JSON: {error}; for text write {name}=…"
            ))
        });
    }
    match value.strip_prefix('@') {
        Some(path) => Ok((name, read(path)?.into())),
        None => Ok((name, value.into())),
    }
}

/// Returns the object with a value set at a path; replaces non-objects along the path.
pub(crate) fn set_path(root: &Value, path: &[&str], value: Value) -> Value {
    let [first, rest @ ..] = path else {
        return value;
    };
    let mut table = root.as_map().map(Map::to_table).unwrap_or_default();
    let inner = table.get(*first).cloned().unwrap_or_default();
    table.insert((*first).into(), set_path(&inner, rest, value));
    Value::Map(Map::new(table))
}

/// Returns whether a name must be a file, not an id.
pub(crate) fn looks_like_a_path(name: &str) -> bool {
    name.contains(std::path::MAIN_SEPARATOR) || name.contains('/') || kind_of_file(name).is_some()
}

/// Returns the file name without folders and ending.
pub(crate) fn stem(path: &str) -> String {
    if kind_of_file(path) == Some(InputFileKind::Prompt) {
        return file::stem(path).to_owned();
    }
    let name = Path::new(path).file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
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
            assert!(matches!(set(&[wrong]), Err(CliError::Usage(_))), "{wrong}");
        }
    }

    #[test]
    fn definitions_are_known_by_their_fields() {
        let cases = [
            (r#"{"contributes":{}}"#, Some(EntryKind::Extension)),
            (r#"{"messages":[]}"#, Some(EntryKind::Prompt)),
            (r#"{"type":"restful"}"#, Some(EntryKind::Tool)),
            (r#"{"x":1}"#, None),
            ("[]", None),
        ];
        for (text, kind) in cases {
            assert_eq!(kind_of(&json::parse(text).unwrap()), kind, "{text}");
        }
    }
}
