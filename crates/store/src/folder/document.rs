//! What files may look like inside, and how each becomes JSON.

use std::borrow::Cow;

use quillet_core::store::{Entry, Key, Kind};
use quillet_core::{Diagnostic, Span, Value, json};
use quillet_yaml::{Options, Tags};

/// How a file's content is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Yaml,
    /// A bare template: the text of a prompt in the named format.
    Template(&'static str),
    /// A prompt file, which has a reader of its own: dotprompt, prompty, Semantic Kernel.
    Prompt,
    /// A script: the text of a prompt that is run.
    Script,
}

/// The text of Semantic Kernel's folder form of a function; the folder has the name.
pub(crate) const FOLDER_TEXT: &str = "skprompt.txt";

/// What that text's settings are in.
pub(crate) const FOLDER_CONFIG: &str = "config.json";

/// Values of one file, and levels that they nest; its bytes are bounded where it is read.
const MOST_NODES: usize = 250_000;
const MOST_LEVELS: usize = 120;

/// Endings of the tests of a script, which lie beside it, and of the folder that holds what its
/// requests looked like. They are no definitions.
const TESTS: [&str; 2] = [".fixture.yaml", ".fixture.yml"];
const SNAPSHOTS: &str = ".snapshots";

/// Whether a file or a folder among the prompts belongs to the tests of a script.
pub(crate) fn is_of_tests(kind: Kind, name: &str) -> bool {
    let is_test = name.ends_with(SNAPSHOTS) || TESTS.iter().any(|ending| name.ends_with(ending));
    kind == Kind::Prompt && is_test
}

/// What files of scripts that are written here end in.
const SCRIPT_ENDING: &str = ".ai.yaml";

/// File name endings; those of templates, prompt files and scripts count among prompts only.
const ENDINGS: [(&str, Form); 21] = [
    (SCRIPT_ENDING, Form::Script),
    (".ai.yml", Form::Script),
    (".json", Form::Json),
    (".yaml", Form::Yaml),
    (".yml", Form::Yaml),
    (".gotmpl", Form::Template("go")),
    (".tmpl", Form::Template("go")),
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
    (".tpl", Form::Template("go")),
    (".prompty", Form::Prompt),
    (".prompt", Form::Prompt),
];

/// The stem and the form of a file name; `None` for a file that is no definition.
pub(crate) fn form_of(kind: Kind, file_name: &str) -> Option<(&str, Form)> {
    let fits = |form: &Form| kind == Kind::Prompt || matches!(form, Form::Json | Form::Yaml);
    let mut endings = ENDINGS.iter().filter(|(_, form)| fits(form));
    let (stem, form) = endings.find_map(|(ending, form)| {
        let stem = file_name.strip_suffix(ending)?;
        Some((stem, *form))
    })?;
    (!stem.is_empty()).then_some((stem, form))
}

/// What a text that is put under a key becomes: how its file ends, and what is in it. A
/// script stays a file that people can read; everything else is written as it stands.
pub(crate) fn written(kind: Kind, text: &str) -> (&'static str, Cow<'_, str>) {
    match (kind == Kind::Prompt).then(|| script_of(text)).flatten() {
        Some(source) => (SCRIPT_ENDING, Cow::Owned(source)),
        None => (".json", Cow::Borrowed(text)),
    }
}

/// The text of the script that a definition is, if it says nothing else.
fn script_of(text: &str) -> Option<String> {
    let Value::Map(definition) = json::parse(text).ok()? else {
        return None;
    };
    let is_script = definition.get("format")?.as_str() == Some("script");
    let source = definition.get("source")?.as_str()?;
    (is_script && definition.len() == 2).then(|| source.to_owned())
}

/// The entry of a file's content. JSON is passed on as it stands, whatever is in
/// it; the reader of the entry knows better what is wrong with it. Broken YAML becomes
/// a broken entry that says where.
pub(crate) fn entry(key: Key, origin: &str, form: Form, content: &str) -> Entry {
    let content = content.strip_prefix('\u{feff}').unwrap_or(content);
    match form {
        Form::Json => Entry::new(key, content, origin),
        Form::Template(format) => Entry::new(key, prompt(format, content), origin),
        Form::Prompt => Entry::new(key, content, origin),
        Form::Script => Entry::new(key, script(content), origin),
        Form::Yaml => match yaml(origin, content) {
            // As it stands, so that its reader can name places in it.
            Ok(value) if is_function(&value) => Entry::new(key, content, origin),
            Ok(value) => Entry::new(key, json::to_string(&value), origin),
            Err(problem) => Entry::broken(key, content, *problem),
        },
    }
}

/// Whether this is a function of Semantic Kernel: a `template` with what only
/// such functions have.
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

/// The value of a file of YAML, or the first thing that is wrong with it. Tags say nothing here.
fn yaml(origin: &str, content: &str) -> Result<Value, Box<Diagnostic>> {
    let options = Options {
        code: "store.yaml",
        most_nodes: MOST_NODES,
        most_depth: MOST_LEVELS,
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
            message: format!("broken YAML: {}", first.message),
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
            (Kind::Tool, "a.json", Some(("a", Form::Json))),
            (Kind::Environ, "gpt-4.1.yml", Some(("gpt-4.1", Form::Yaml))),
            (Kind::Prompt, "p.gotmpl", Some(("p", Form::Template("go")))),
            (Kind::Prompt, "p.j2", Some(("p", Form::Template("jinja")))),
            (
                Kind::Prompt,
                "p.hbs",
                Some(("p", Form::Template("handlebars"))),
            ),
            (
                Kind::Prompt,
                "p.sk",
                Some(("p", Form::Template("semantic-kernel"))),
            ),
            (
                Kind::Prompt,
                "p.formal.prompt",
                Some(("p.formal", Form::Prompt)),
            ),
            (Kind::Prompt, "p.prompty", Some(("p", Form::Prompt))),
            (Kind::Prompt, "p.ai.yaml", Some(("p", Form::Script))),
            (Kind::Prompt, "p.b.ai.yml", Some(("p.b", Form::Script))),
            (Kind::Tool, "p.ai.yaml", Some(("p.ai", Form::Yaml))),
            (Kind::Tool, "p.prompt", None),
            (Kind::Tool, "p.j2", None),
            (Kind::Tool, "README.md", None),
            (Kind::Tool, ".json", None),
        ];
        for (kind, name, expected) in cases {
            assert_eq!(form_of(kind, name), expected, "{name}");
        }
    }

    #[test]
    fn contents_become_json() {
        let cases = [
            (
                Form::Yaml,
                "b: 1\na: [x, 2.5, true, null]\n",
                r#"{"b":1,"a":["x",2.5,true,null]}"#,
            ),
            (
                Form::Yaml,
                "text: |\n  one\n  two\n",
                r#"{"text":"one\ntwo\n"}"#,
            ),
            (
                Form::Yaml,
                "template: Hi {{$x}}\ninput_variables: []\n",
                "template: Hi {{$x}}\ninput_variables: []\n",
            ),
            (
                Form::Prompt,
                "---\nmodel: m\n---\nHi",
                "---\nmodel: m\n---\nHi",
            ),
            (Form::Json, "\u{feff}{\"a\": 1 }", "{\"a\": 1 }"),
            (
                Form::Template("go"),
                "hi {{.x}}",
                r#"{"userPrompt":"hi {{.x}}","format":"go"}"#,
            ),
        ];
        for (form, content, expected) in cases {
            let entry = entry(Key::new("k"), "f", form, content);
            assert_eq!((&*entry.text, entry.problem), (expected, None));
        }
    }

    #[test]
    fn scripts_are_files_that_people_can_read() {
        let source = "---\ninput: [name]\n---\nuser: \"Hi {{name}}\"\n";
        let read = entry(Key::new("k"), "prompts/k.ai.yaml", Form::Script, source);
        let (ending, content) = written(Kind::Prompt, &read.text);
        assert_eq!((ending, &*content), (".ai.yaml", source));
        let others = [
            (Kind::Tool, &*read.text),
            (Kind::Prompt, r#"{"userPrompt":"x"}"#),
            (
                Kind::Prompt,
                r#"{"format":"script","source":"x","tags":[]}"#,
            ),
            (Kind::Prompt, r#"{"format":"script","source":1}"#),
            (Kind::Prompt, "{"),
        ];
        for (kind, text) in others {
            assert_eq!(written(kind, text), (".json", Cow::Borrowed(text)));
        }
    }

    #[test]
    fn broken_yaml_keeps_its_text_and_its_place() {
        let entry = entry(
            Key::new("k"),
            "tools/k.yaml",
            Form::Yaml,
            "a: 1\nb: [1, 2\nc: 3\n",
        );
        assert!(entry.text.contains("b: [1"));
        let problem = entry.problem.unwrap().to_string();
        assert!(problem.starts_with("tools/k.yaml:3:"), "{problem}");
    }
}
