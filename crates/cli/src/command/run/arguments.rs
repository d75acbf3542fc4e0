//! Input of a script: files, texts, definitions and standard input.

use std::io::{IsTerminal, stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_core::value::MapTable;
use quillet_core::{Map, Value, json};
use quillet_script::answer::Inputs;
use quillet_script::expression;
use quillet_script::library::{BuiltinLibrary, Folders, LayeredLibrary, Library, OpenedScript};
use quillet_script::run::ScriptInput;
use quillet_script::syntax::{Script, ScriptSource};
use quillet_script::{ErrorKind, ScriptError, reader};
use quillet_yaml::Node;

use crate::args::RunArgs;
use crate::failure::CliError;
use crate::source;

/// Name of the argument for standard input. Unnamed text also gets this name if there are named
/// arguments and the script has no first input.
const CONTENT: &str = "content";

/// Reads all arguments. Later sources override earlier ones: the file of -d, -a, the text, -D, and
/// standard input as `content`.
///
/// # Errors
/// An argument cannot be read.
pub(super) fn read(
    args: &RunArgs,
    text: Option<&str>,
    script_is_stdin: bool,
) -> Result<ScriptArguments, CliError> {
    let mut all = ScriptArguments::default();
    if let Some(path) = &args.data {
        all.add(source::data(path)?);
    }
    if let Some(text) = &args.argument {
        all.add(data("-a", text)?);
    }
    if let Some(text) = text {
        all.add(typed(text)?);
    }
    for define in &args.define {
        all.define(define)?;
    }
    // Standard input can be read only once, and the script, the data or the dialogue may use it
    // already.
    let piped = !script_is_stdin && args.data.as_deref() != Some("-") && !args.interactive;
    if piped && !stdin().is_terminal() {
        all.content(&source::read("-")?);
    }
    Ok(all)
}

/// Input of a script before its declaration is known.
#[derive(Debug, Default)]
pub(super) struct ScriptArguments {
    named: Map,
    single: Option<Value>,
}

impl ScriptArguments {
    fn add(&mut self, value: Value) {
        match value {
            Value::Null => {}
            Value::Map(map) => {
                let mut table = self.named.to_table();
                table.extend(map.to_table());
                self.named = Map::new(table);
            }
            other => self.single = Some(other),
        }
    }

    fn define(&mut self, define: &str) -> Result<(), CliError> {
        let (path, value) = defined(define)?;
        let path: Vec<&str> = path.split('.').collect();
        let root = source::set_path(&Value::Map(self.named.clone()), &path, value);
        self.named = root.as_map().cloned().unwrap_or_default();
        Ok(())
    }

    /// Adds a text as `content`, unless it is blank.
    fn content(&mut self, text: &str) {
        let is_given = self.named.get(CONTENT).is_some() || self.single.is_some();
        if !is_given && !text.trim().is_empty() {
            let mut table = self.named.to_table();
            // Programs such as `echo` add a new line, which is not part of the input.
            let text = text.strip_suffix('\n').unwrap_or(text);
            table.insert(CONTENT.into(), text.into());
            self.named = Map::new(table);
        }
    }

    /// Returns the arguments as variables of a prompt.
    ///
    /// # Errors
    /// An argument has no name.
    pub(super) fn variables(self) -> Result<Map, CliError> {
        match self.single {
            None => Ok(self.named),
            Some(_) => Err(CliError::Usage(
                "the variables of a prompt need names: -D name=value, or {name: \"value\"}"
                    .to_owned(),
            )),
        }
    }

    /// Returns the arguments as input of a script.
    pub(super) fn input(self, script: &Script) -> ScriptInput {
        match (self.single, self.named.is_empty()) {
            (None, true) => ScriptInput::None,
            (Some(single), true) => ScriptInput::Single(single),
            (None, false) => ScriptInput::Named(self.named),
            (Some(single), false) => {
                let mut table: MapTable = self.named.to_table();
                // A named value takes precedence over unnamed text, so `or_insert` is used.
                table.entry(first_input(script).into()).or_insert(single);
                ScriptInput::Named(Map::new(table))
            }
        }
    }
}

/// Returns the name of the input for unnamed text.
fn first_input(script: &Script) -> String {
    let inputs = script.config.get("input").map(Node::value);
    let inputs = inputs.and_then(|inputs| Inputs::read(&inputs).ok());
    let first = inputs.as_ref().and_then(|inputs| inputs.field_at_index(0));
    first.map_or_else(|| CONTENT.to_owned(), |input| input.name.clone())
}

/// Parses the text after the script: an object or list in JavaScript notation, other JSON, or plain
/// text.
fn typed(text: &str) -> Result<Value, CliError> {
    if text.trim_start().starts_with(['{', '[']) {
        return data("the arguments", text);
    }
    Ok(json::parse(text).unwrap_or_else(|_| text.into()))
}

fn data(what: &str, text: &str) -> Result<Value, CliError> {
    let value = expression::data(text, &Map::default());
    let value = value.map_err(|error| CliError::Usage(format!("{what}: {error}: {text}")))?;
    Ok(value.unwrap_or_default())
}

/// Parses `name=value`, where valid JSON is a JSON value, and `name=@file`.
fn defined(define: &str) -> Result<(&str, Value), CliError> {
    let parts = define.split_once('=').filter(|(name, _)| !name.is_empty());
    let Some((name, value)) = parts else {
        return Err(CliError::Usage(format!(
            "-D {define:?} must be name=value or name=@file"
        )));
    };
    let value = match value.strip_prefix('@') {
        Some(path) => source::read(path)?.into(),
        None => json::parse(value).unwrap_or_else(|_| value.into()),
    };
    Ok((name.strip_suffix(':').unwrap_or(name), value))
}

/// Reads the script from standard input. Its relative names refer to the working folder.
pub(super) fn script_of_stdin(search: &[PathBuf]) -> Result<OpenedScript, ScriptError> {
    let name = source::display_name("-");
    let text = source::read("-")
        .map_err(|failure| ScriptError::plain(ErrorKind::Script, name, failure.to_string()))?;
    let source = ScriptSource {
        name: name.to_owned(),
        path: None,
        text: text.into(),
    };
    let script = reader::read(Arc::new(source)).finish();
    let script = script.map_err(|diagnostics| ScriptError {
        diagnostics,
        ..ScriptError::plain(ErrorKind::Script, name, "")
    })?;
    let own = std::iter::once(Path::new(".").to_owned());
    let folders: Vec<PathBuf> = own.chain(search.iter().cloned()).collect();
    let layers: Vec<Arc<dyn Library>> =
        vec![Arc::new(Folders::new(&folders)?), Arc::new(BuiltinLibrary)];
    Ok(OpenedScript {
        script: Arc::new(script),
        library: Arc::new(LayeredLibrary::new(layers)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_json_where_they_read_as_json() {
        let cases = [
            ("a=1", "1"),
            ("a=true", "true"),
            ("a=x y", "\"x y\""),
            ("a=[1, 2]", "[1,2]"),
            ("a:={\"b\":1}", "{\"b\":1}"),
            ("a=", "\"\""),
            ("a=b=c", "\"b=c\""),
        ];
        for (define, expected) in cases {
            let (name, value) = defined(define).unwrap();
            assert_eq!((name, json::to_string(&value).as_str()), ("a", expected));
        }
        for wrong in ["a", "=1"] {
            assert!(matches!(defined(wrong), Err(CliError::Usage(_))), "{wrong}");
        }
    }

    #[test]
    fn texts_objects_and_standard_input_come_together() {
        let script = |text: &str| {
            let source = ScriptSource {
                name: "s".into(),
                path: None,
                text: text.into(),
            };
            reader::read(Arc::new(source)).finish().unwrap()
        };
        let with = |front: &str, texts: &[&str], defines: &[&str], piped: &str| {
            let mut all = ScriptArguments::default();
            texts.iter().for_each(|text| all.add(typed(text).unwrap()));
            defines.iter().for_each(|text| all.define(text).unwrap());
            all.content(piped);
            match all.input(&script(front)) {
                ScriptInput::None => "none".to_owned(),
                ScriptInput::Named(map) => json::to_string(&map.into()),
                ScriptInput::Single(value) => format!("single {}", json::to_string(&value)),
            }
        };
        let input = |texts: &[&str], defines: &[&str], piped: &str| with("", texts, defines, piped);
        let named = "---\ninput: [{text: {index: 0}}]\n---\n";
        assert_eq!(with(named, &["hi"], &["a=1"], ""), r#"{"a":1,"text":"hi"}"#);
        assert_eq!(input(&[], &[], " \n"), "none");
        assert_eq!(input(&["hello you"], &[], "piped"), "single \"hello you\"");
        assert_eq!(input(&["5"], &[], ""), "single 5");
        assert_eq!(
            input(&["{a: 'x', b: 2,}"], &["b=3"], ""),
            r#"{"a":"x","b":3}"#
        );
        assert_eq!(
            input(&["hi"], &["a.b=1"], ""),
            r#"{"a":{"b":1},"content":"hi"}"#
        );
        assert_eq!(input(&[], &[], "piped\n"), r#"{"content":"piped"}"#);
        assert_eq!(
            input(&["{content: 'x'}"], &[], "piped"),
            r#"{"content":"x"}"#
        );
    }
}
