//! Converts a hostile vector of any kind to the files of a script.

use std::path::Path;
use std::time::Duration;

use quillet_core::{Map, Value, json};
use quillet_script::host::ScriptLimits;

/// Our own files, then those of third parties.
pub(super) const FILES: &[&str] = &[
    "scripts.jsonl",
    "ppe.jsonl",
    "yaml.jsonl",
    "regex.jsonl",
    "js.jsonl",
];

/// The expected result of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    Refuse,
    Bounded,
    Ok,
}

/// A package of scripts whose `main` is run, and its limits.
pub(super) struct Case {
    pub(super) files: Vec<(String, String)>,
    pub(super) expect: Expect,
    pub(super) result: Option<Value>,
    /// Required parts of the error message.
    pub(super) says: Vec<String>,
    /// Text that neither a result nor an error may contain.
    pub(super) never: Vec<String>,
    pub(super) milliseconds: u64,
    pub(super) megabytes: u64,
    pub(super) limits: ScriptLimits,
    /// Behaviour of the model.
    pub(super) model: Map,
}

/// Returns the lines of a file of vectors, if it is available.
pub(super) fn lines(file: &str) -> Option<Vec<Value>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = match file {
        "scripts.jsonl" => root.join("conformance/hostile"),
        _ => root.join("../shared/vectors/hostile"),
    };
    let text = std::fs::read_to_string(folder.join(file)).ok()?;
    let parse = |line: &str| json::parse(line).expect("a line is JSON");
    Some(text.lines().map(parse).collect())
}

pub(super) fn text<'a>(line: &'a Value, key: &str) -> &'a str {
    let found = line.get_path(&[key]).and_then(Value::as_str);
    found.unwrap_or_default()
}

fn number(line: &Value, path: &[&str]) -> Option<u64> {
    match line.get_path(path) {
        Some(Value::Int(number)) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Returns the items of a list, or none if the value is not a list.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::List(list)) => list.as_slice(),
        _ => &[],
    }
}

fn texts(line: &Value, key: &str) -> Vec<String> {
    let texts = items(line.get_path(&[key]))
        .iter()
        .filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

impl Case {
    pub(super) fn of(line: &Value) -> Self {
        let milliseconds = number(line, &["limits", "ms"]).unwrap_or(2_000);
        Case {
            files: files(line),
            expect: match text(line, "expect") {
                // Matching such a pattern is also accepted if it takes almost no time.
                "refuse" if text(line, "format") == "ppe" && text(line, "class") == "regex" => {
                    Expect::Bounded
                }
                "refuse" => Expect::Refuse,
                "ok" => Expect::Ok,
                _ => Expect::Bounded,
            },
            result: line.get_path(&["result"]).cloned(),
            says: texts(line, "says"),
            never: texts(line, "must_not_contain"),
            milliseconds,
            megabytes: number(line, &["limits", "mb"]).unwrap_or(128),
            limits: limits(line, milliseconds),
            model: model(line),
        }
    }
}

/// Returns the limits that a host would set for this time.
fn limits(line: &Value, milliseconds: u64) -> ScriptLimits {
    let own = number(line, &["engine", "own_time"]).unwrap_or(milliseconds * 3 / 4);
    let count = |name: &str| number(line, &["engine", name]);
    let size = |name: &str| count(name).and_then(|count| usize::try_from(count).ok());
    let defaults = ScriptLimits::default();
    ScriptLimits {
        steps: count("steps").unwrap_or(defaults.steps),
        model_calls: count("model_calls").unwrap_or(defaults.model_calls),
        messages: size("messages").unwrap_or(defaults.messages),
        bytes: size("bytes").unwrap_or(64 << 20),
        own_time: Duration::from_millis(own),
        js_time: Duration::from_millis(milliseconds / 2),
        js_memory: 48 << 20,
        ..defaults
    }
}

fn model(line: &Value) -> Map {
    let given = line.get_path(&["model"]).and_then(Value::as_map).cloned();
    let calls = line.get_path(&["model_calls"]).cloned();
    let calls = calls.map(|calls| Map::from_iter([("calls", calls)]));
    given.or(calls).unwrap_or_default()
}

/// Returns the files for a vector, depending on its kind.
fn files(line: &Value) -> Vec<(String, String)> {
    let main = |text: String| vec![("main.ai.yaml".to_owned(), text)];
    let quoted = |text: &str| serde_json::to_string(text).expect("text is JSON");
    match text(line, "format") {
        "js" => main(javascript(text(line, "code"))),
        "yaml" => main(yaml(
            &decoded(line.get_path(&["input"])),
            line.get_path(&["result"]),
        )),
        "regex" => {
            let pattern = text(line, "pattern").replace('/', "\\/");
            let subject = quoted(&decoded(line.get_path(&["text"])));
            let hole = quoted(&format!("#[[/{pattern}/:A:1]]"));
            let plain = quoted(&format!("#[[/{pattern}/:A]]"));
            let hole = if text(line, "expect") == "ok" {
                hole
            } else {
                plain
            };
            main(format!("- $set: {{A: {subject}}}\n- $echo: {hole}\n"))
        }
        _ => {
            let files = line.get_path(&["files"]).and_then(Value::as_map);
            let files = files.into_iter().flat_map(Map::iter);
            files
                .map(|(name, text)| (name.to_string(), decoded(Some(text))))
                .collect()
        }
    }
}

/// Wraps a document as a script, or as the front matter of a script that returns it.
fn yaml(document: &str, result: Option<&Value>) -> String {
    let Some(map) = result.and_then(Value::as_map) else {
        return document.to_owned();
    };
    let names: Vec<String> = map
        .iter()
        .map(|(name, _)| format!("{name}: {name}"))
        .collect();
    format!(
        "---\n{document}\n---\n$echo: \"?=({{{}}})\"\n",
        names.join(", ")
    )
}

/// Wraps JavaScript code in a function that returns its last value.
fn javascript(code: &str) -> String {
    let (before, last) = code.split_at(code.rfind(';').map_or(0, |at| at + 1));
    let statement = ["for", "try", "let", "function"]
        .iter()
        .any(|word| last.starts_with(word));
    let body = if statement || last.is_empty() {
        code.to_owned()
    } else {
        format!("{before} return {last}")
    };
    format!("!fn |-\n  hostile() {{ {body} }}\n---\n$hostile: null\n")
}

/// Decodes a text, or segments with repetition counts.
fn decoded(value: Option<&Value>) -> String {
    match value {
        Some(Value::Str(text)) => text.to_string(),
        Some(Value::Map(map)) => items(map.get("segments")).iter().map(segment).collect(),
        _ => String::new(),
    }
}

fn segment(value: &Value) -> String {
    let pair = items(Some(value));
    match (pair.first(), pair.get(1)) {
        (Some(Value::Str(text)), Some(Value::Int(count))) => {
            text.repeat(usize::try_from(*count).unwrap_or(0))
        }
        _ => String::new(),
    }
}
