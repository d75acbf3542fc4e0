//! File formats of definitions, and their conversion to JSON.

use std::borrow::Cow;

use quillet_core::store::{EntryKey, EntryKind, StoreEntry};
use quillet_core::{Diagnostic, Span, Value, json};
use quillet_yaml::{Options, Tags};

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    Json,
    Yaml,
    /// A plain template: the text of a prompt in the named format.
    Template(&'static str),
    /// A prompt file with its own parser: dotprompt, prompty, Semantic Kernel.
    Prompt,
    /// A script: the text of an executable prompt.
    Script,
}

/// File with the text of a Semantic Kernel function that is a folder; the folder has its name.
pub(crate) const FOLDER_TEXT: &str = "skprompt.txt";

/// File with the configuration of such a function.
pub(crate) const FOLDER_CONFIG: &str = "config.json";

/// Maximum number of values in one file, and their maximum depth. The size of the file is limited
/// where it is read.
// Aliases in YAML can expand a small file to billions of nodes.
const MOST_NODES: usize = 250_000;
const MOST_LEVELS: usize = 120;

/// Suffixes of script tests, which are stored next to the script, and of the folder with their
/// recorded requests. They are not definitions.
const TESTS: [&str; 2] = [".fixture.yaml", ".fixture.yml"];
const SNAPSHOTS: &str = ".snapshots";

/// Whether a file or folder among the prompts belongs to the tests of a script.
pub(crate) fn is_of_tests(kind: EntryKind, name: &str) -> bool {
    let is_test = name.ends_with(SNAPSHOTS) || TESTS.iter().any(|ending| name.ends_with(ending));
    kind == EntryKind::Prompt && is_test
}

/// Extension of script files that this store writes.
const SCRIPT_ENDING: &str = ".ai.yaml";

/// Extensions of template files, and the format for each extension. Other crates use this list.
///
/// # Examples
///
/// ```
/// use quillet_store::TEMPLATE_ENDINGS;
///
/// assert!(TEMPLATE_ENDINGS.contains(&(".hbs", "handlebars")));
/// ```
pub const TEMPLATE_ENDINGS: &[(&str, &str)] = &[
    (".gotmpl", "go"),
    (".tmpl", "go"),
    (".tpl", "go"),
    (".jinja", "jinja"),
    (".jinja2", "jinja"),
    (".j2", "jinja"),
    (".handlebars", "handlebars"),
    (".hbs", "handlebars"),
    (".mustache", "mustache"),
    (".liquid", "liquid"),
    (".skprompt", "semantic-kernel"),
    (".sk", "semantic-kernel"),
    (".fstring", "f-string"),
    (".fstr", "f-string"),
];

/// Extensions of prompt files. Other crates use this list.
pub const PROMPT_FILE_ENDINGS: &[&str] = &[".prompty", ".prompt"];

/// Other extensions. Scripts come first, because their names also end in `.yaml`.
const ENDINGS: [(&str, FileFormat); 5] = [
    (SCRIPT_ENDING, FileFormat::Script),
    (".ai.yml", FileFormat::Script),
    (".json", FileFormat::Json),
    (".yaml", FileFormat::Yaml),
    (".yml", FileFormat::Yaml),
];

/// Returns all extensions with their formats. Templates, prompt files and scripts are only valid
/// for prompts.
fn endings() -> impl Iterator<Item = (&'static str, FileFormat)> {
    let templates = TEMPLATE_ENDINGS.iter();
    let templates = templates.map(|(ending, format)| (*ending, FileFormat::Template(format)));
    let prompts = PROMPT_FILE_ENDINGS.iter();
    let prompts = prompts.map(|ending| (*ending, FileFormat::Prompt));
    ENDINGS.into_iter().chain(templates).chain(prompts)
}

/// Returns the stem and the format of a file name; `None` if the file is not a definition.
pub(crate) fn form_of(kind: EntryKind, file_name: &str) -> Option<(&str, FileFormat)> {
    let fits = |form: &FileFormat| {
        kind == EntryKind::Prompt || matches!(form, FileFormat::Json | FileFormat::Yaml)
    };
    // The list is ordered: `.ai.yaml` must be found before `.yaml`.
    let mut endings = endings().filter(|(_, form)| fits(form));
    let (stem, form) = endings.find_map(|(ending, form)| {
        let stem = file_name.strip_suffix(ending)?;
        Some((stem, form))
    })?;
    (!stem.is_empty()).then_some((stem, form))
}

/// Returns the extension and the content of a new file for a text. A script is stored as a readable
/// script file, any other text unchanged.
pub(crate) fn written(kind: EntryKind, text: &str) -> (&'static str, Cow<'_, str>) {
    match (kind == EntryKind::Prompt)
        .then(|| script_of(text))
        .flatten()
    {
        Some(source) => (SCRIPT_ENDING, Cow::Owned(source)),
        None => (".json", Cow::Borrowed(text)),
    }
}

/// Returns the script text of a definition without any other members.
fn script_of(text: &str) -> Option<String> {
    let Value::Map(definition) = json::parse(text).ok()? else {
        return None;
    };
    let is_script = definition.get("format")?.as_str() == Some("script");
    let source = definition.get("source")?.as_str()?;
    // A plain script file cannot represent any other members.
    (is_script && definition.len() == 2).then(|| source.to_owned())
}

/// Converts the content of a file into an entry. JSON is not checked here, because the parser of
/// the entry reports better errors. Invalid YAML becomes an invalid entry with the location of the
/// error.
pub(crate) fn entry(key: EntryKey, origin: &str, form: FileFormat, content: &str) -> StoreEntry {
    // Editors on Windows add a byte order mark, which JSON parsers reject.
    let content = content.strip_prefix('\u{feff}').unwrap_or(content);
    match form {
        FileFormat::Json => StoreEntry::new(key, content, origin),
        FileFormat::Template(format) => StoreEntry::new(key, prompt(format, content), origin),
        FileFormat::Prompt => StoreEntry::new(key, content, origin),
        FileFormat::Script => StoreEntry::new(key, script(content), origin),
        FileFormat::Yaml => match yaml(origin, content) {
            // The content stays unchanged, so the parser of functions can report locations in it.
            Ok(value) if is_function(&value) => StoreEntry::new(key, content, origin),
            Ok(value) => StoreEntry::new(key, json::to_string(&value), origin),
            Err(problem) => StoreEntry::invalid(key, content, *problem),
        },
    }
}

/// Whether this is a Semantic Kernel function: a `template` with members that only such functions
/// have.
fn is_function(value: &Value) -> bool {
    let has = |key: &str| value.as_map().is_some_and(|map| map.get(key).is_some());
    has("template") && (has("template_format") || has("input_variables"))
}

fn prompt(format: &str, text: &str) -> String {
    serde_json::json!({ "userPrompt": text, "format": format }).to_string()
}

fn script(text: &str) -> String {
    serde_json::json!({ "format": "script", "source": text }).to_string()
}

/// Parses a YAML file into a value without tags, or returns the first error.
fn yaml(origin: &str, content: &str) -> Result<Value, Box<Diagnostic>> {
    let options = Options {
        code: "store.yaml",
        most_nodes: MOST_NODES,
        most_depth: MOST_LEVELS,
        // Accepted, because prompt files of other tools contain tags.
        tags: Tags::Keep,
        ..Options::default()
    };
    let whole = Span {
        start: 0,
        end: content.len(),
    };
    let (node, findings) = quillet_yaml::parse(origin, content, whole, &options);
    match findings.into_iter().next() {
        None => Ok(node.map_or(Value::Null, |node| node.value())),
        Some(first) => Err(Box::new(Diagnostic {
            message: format!("invalid YAML: {}", first.message),
            ..first
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_give_stems_and_forms() {
        let cases = [
            (EntryKind::Tool, "a.json", Some(("a", FileFormat::Json))),
            (
                EntryKind::Environ,
                "gpt-4.1.yml",
                Some(("gpt-4.1", FileFormat::Yaml)),
            ),
            (
                EntryKind::Prompt,
                "p.gotmpl",
                Some(("p", FileFormat::Template("go"))),
            ),
            (
                EntryKind::Prompt,
                "p.j2",
                Some(("p", FileFormat::Template("jinja"))),
            ),
            (
                EntryKind::Prompt,
                "p.hbs",
                Some(("p", FileFormat::Template("handlebars"))),
            ),
            (
                EntryKind::Prompt,
                "p.sk",
                Some(("p", FileFormat::Template("semantic-kernel"))),
            ),
            (
                EntryKind::Prompt,
                "p.formal.prompt",
                Some(("p.formal", FileFormat::Prompt)),
            ),
            (
                EntryKind::Prompt,
                "p.prompty",
                Some(("p", FileFormat::Prompt)),
            ),
            (
                EntryKind::Prompt,
                "p.ai.yaml",
                Some(("p", FileFormat::Script)),
            ),
            (
                EntryKind::Prompt,
                "p.b.ai.yml",
                Some(("p.b", FileFormat::Script)),
            ),
            (
                EntryKind::Tool,
                "p.ai.yaml",
                Some(("p.ai", FileFormat::Yaml)),
            ),
            (EntryKind::Tool, "p.prompt", None),
            (EntryKind::Tool, "p.j2", None),
            (EntryKind::Tool, "README.md", None),
            (EntryKind::Tool, ".json", None),
        ];
        for (kind, name, expected) in cases {
            assert_eq!(form_of(kind, name), expected, "{name}");
        }
    }

    #[test]
    fn contents_become_json() {
        let cases = [
            (
                FileFormat::Yaml,
                "b: 1\na: [x, 2.5, true, null]\n",
                r#"{"b":1,"a":["x",2.5,true,null]}"#,
            ),
            (
                FileFormat::Yaml,
                "text: |\n  one\n  two\n",
                r#"{"text":"one\ntwo\n"}"#,
            ),
            (
                FileFormat::Yaml,
                "template: Hi {{$x}}\ninput_variables: []\n",
                "template: Hi {{$x}}\ninput_variables: []\n",
            ),
            (
                FileFormat::Prompt,
                "---\nmodel: m\n---\nHi",
                "---\nmodel: m\n---\nHi",
            ),
            (FileFormat::Json, "\u{feff}{\"a\": 1 }", "{\"a\": 1 }"),
            (
                FileFormat::Template("go"),
                "hi {{.x}}",
                r#"{"userPrompt":"hi {{.x}}","format":"go"}"#,
            ),
        ];
        for (form, content, expected) in cases {
            let entry = entry(EntryKey::new("k"), "f", form, content);
            assert_eq!((&*entry.text, entry.problem), (expected, None));
        }
    }

    #[test]
    fn scripts_are_files_that_people_can_read() {
        let source = "---\ninput: [name]\n---\nuser: \"Hi {{name}}\"\n";
        let read = entry(
            EntryKey::new("k"),
            "prompts/k.ai.yaml",
            FileFormat::Script,
            source,
        );
        let (ending, content) = written(EntryKind::Prompt, &read.text);
        assert_eq!((ending, &*content), (".ai.yaml", source));
        let others = [
            (EntryKind::Tool, &*read.text),
            (EntryKind::Prompt, r#"{"userPrompt":"x"}"#),
            (
                EntryKind::Prompt,
                r#"{"format":"script","source":"x","tags":[]}"#,
            ),
            (EntryKind::Prompt, r#"{"format":"script","source":1}"#),
            (EntryKind::Prompt, "{"),
        ];
        for (kind, text) in others {
            assert_eq!(written(kind, text), (".json", Cow::Borrowed(text)));
        }
    }

    #[test]
    fn broken_yaml_keeps_its_text_and_its_place() {
        let entry = entry(
            EntryKey::new("k"),
            "tools/k.yaml",
            FileFormat::Yaml,
            "a: 1\nb: [1, 2\nc: 3\n",
        );
        assert!(entry.text.contains("b: [1"));
        let problem = entry.problem.unwrap().to_string();
        assert!(problem.starts_with("tools/k.yaml:3:"), "{problem}");
    }
}
