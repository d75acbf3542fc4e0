//! Exports for clients that fill in variables. Their result must equal our own render.

use std::sync::Arc;

use futures_util::FutureExt;
use proptest::prelude::*;
use quillet_core::store::EntryKind::{Environ, Prompt, Tool};
use quillet_core::{Map, Value};
use quillet_prompt::{
    Notation, PromptService, RenderInput, Residual, ResidualError, ResidualMessage, residual,
};
use quillet_template::{
    CompileOptions, NoFunctions, Render, RenderLimits, TemplateFactory, TemplateSource, render,
};
use quillet_test_support::TestStore;

use crate::loaded;

const SHARED: [(quillet_core::store::EntryKind, &str, &str); 4] = [
    (Environ, "vscode:lang", "\"go\""),
    (Environ, "vscode:frameworks", r#"["gin","gorm"]"#),
    (Environ, "braces", "\"{{b}}\""),
    (
        Tool,
        "weather",
        r#"{"parameters":{"type":"object","properties":{"city":{"type":"string"}}}}"#,
    ),
];

async fn left(service: &PromptService, id: &str, notation: Notation) -> Result<String, String> {
    let snapshot = service.catalogue().snapshot();
    let entry = snapshot.prompt(id).unwrap();
    let entry = entry.usable(Prompt).map_err(|error| error.to_string())?;
    match residual(service, &entry.prompt, notation, "test").await {
        Ok(Residual::Text(text)) => Ok(text),
        Ok(Residual::Messages(messages)) => {
            let one = |message: &ResidualMessage| match message {
                ResidualMessage::Said { role, content } => format!("{role}: {content}"),
                ResidualMessage::Thread(name) => format!("<{name}>"),
            };
            Ok(messages.iter().map(one).collect::<Vec<_>>().join("\n"))
        }
        Err(ResidualError::Refused(found)) => {
            let all: Vec<String> = found.iter().map(ToString::to_string).collect();
            Err(all.join("; "))
        }
        Err(ResidualError::Service(error)) => Err(format!("service: {error}")),
    }
}

#[tokio::test]
async fn shared_variables_and_tools_are_filled_in_and_the_rest_left_open() {
    let cases: [(&str, Result<&str, &str>); 45] = [
        // Plain variables in each template format.
        (
            r#"{"prompt":"{{.variables.a}} in {{.vscode.lang}}, {{ .args.b }}!"}"#,
            Ok("{{a}} in go, {{b}}!"),
        ),
        (
            r#"{"format":"jinja","prompt":"{{ a }} in {{ vscode.lang }}, {{ variables.b }}!"}"#,
            Ok("{{a}} in go, {{b}}!"),
        ),
        (
            r#"{"format":"jinja","prompt":"{# no #}{% for f in vscode.frameworks %}{{ f }}{{ a }};{% endfor %}"}"#,
            Ok("gin{{a}};gorm{{a}};"),
        ),
        (
            r#"{"prompt":"{{range .vscode.frameworks}}{{.}} {{end}}{{if .vscode.lang}}{{.variables.a}}{{end}}"}"#,
            Ok("gin gorm {{a}}"),
        ),
        (
            r#"{"prompt":"{{weather \"Paris\"}} {{.variables.a}}"}"#,
            Ok("weather{\"city\":\"Paris\"} {{a}}"),
        ),
        (
            r#"{"prompt":"{{weather .vscode.lang}}"}"#,
            Ok("weather{\"city\":\"go\"}"),
        ),
        (
            r#"{"format":"mustache","prompt":"{{ a }}, {{{b}}}, {{&c}}"}"#,
            Ok("{{a}}, {{b}}, {{c}}"),
        ),
        (
            r#"{"format":"handlebars","prompt":"{{a}} {{vscode.lang}}"}"#,
            Ok("{{a}} go"),
        ),
        (
            r#"{"format":"f-string","prompt":"{a} {{b}}"}"#,
            Ok("{{a}} {b}"),
        ),
        (
            r#"{"format":"liquid","prompt":"{{ a }} {{ vscode.lang }}"}"#,
            Ok("{{a}} go"),
        ),
        (
            r#"{"format":"semantic-kernel","prompt":"{{$a}}"}"#,
            Ok("{{a}}"),
        ),
        (
            r#"{"prompt":"{\"a\": {{.variables.a}}}"}"#,
            Ok("{\"a\": {{a}}}"),
        ),
        (r#"{"prompt":"no variables } }}"}"#, Ok("no variables } }}")),
        (
            r#"{"prompt":"{{.variables.a}}","parameters":[{"name":"a","type":"string","enum":["x","y"]}]}"#,
            Ok("{{a}}"),
        ),
        (
            r#"{"messages":[{"role":"system","content":"{{.vscode.lang}}"},
                {"type":"placeholder","name":"history"},{"role":"user","content":"{{.variables.a}}"}]}"#,
            Ok("system: go\n<history>\nuser: {{a}}"),
        ),
        (
            r#"{"messages":[{"type":"placeholder","name":"history"}]}"#,
            Ok("<history>"),
        ),
        (
            r#"{"format":"jinja","messageSyntax":"role-lines","prompt":"system:\nYou are {{ a }}.\nuser:\nSay {{ b }}!"}"#,
            Ok("system: You are {{a}}.\nuser: Say {{b}}!"),
        ),
        // The neutral tree cannot express these templates, but they use only shared variables.
        (
            r#"{"prompt":"{{join \", \" .vscode.frameworks}}{{if and .vscode.lang true}} {{.vscode.lang | upper}}{{end}} {{- .variables.a -}} !"}"#,
            Ok("gin, gorm GO{{a}}!"),
        ),
        (
            r#"{"format":"jinja","prompt":"{{ vscode.frameworks | join(', ') }} {{ vscode.lang | upper }} {{- a }}"}"#,
            Ok("gin, gorm GO{{a}}"),
        ),
        (
            r#"{"prompt":"{{template \"calm\" .}} {{.variables.a}}"}"#,
            Ok("calm go {{a}}"),
        ),
        (
            r#"{"format":"jinja","prompt":"{% set a = vscode.lang %}{{ a }} {{ b }}"}"#,
            Err("no exact counterpart"),
        ),
        (
            r#"{"format":"jinja","prompt":"{{ a }}{% set a = vscode.lang %}{{ a }}"}"#,
            Err("no exact counterpart"),
        ),
        (
            r#"{"prompt":"{{.variables.a | upper}} {{.variables.a}}"}"#,
            Err("the variable a of the request is used"),
        ),
        (
            r#"{"prompt":"{{if and .variables.a true}}x{{end}}{{.variables.a}}"}"#,
            Err("the variable a of the request is used"),
        ),
        // A client cannot fill in these variables.
        (
            r#"{"prompt":"x\n{{if .variables.a}}y{{end}}"}"#,
            Err("p.prompt:2:6: the variable a of the request is a condition"),
        ),
        (
            r#"{"prompt":"{{if .variables.a}}y{{end}}"}"#,
            Err("the variable a of the request is a condition"),
        ),
        (
            r#"{"prompt":"{{range .variables.a}}y{{end}}"}"#,
            Err("is the list of a loop"),
        ),
        (
            r#"{"prompt":"{{weather .variables.a}}"}"#,
            Err("is an argument of a function"),
        ),
        (
            r#"{"prompt":"{{.variables.a.b}}"}"#,
            Err("a field of the variable a"),
        ),
        (r#"{"prompt":"{{.variables}}"}"#, Err("is printed")),
        (
            r#"{"format":"jinja","prompt":"{{ a.b }}"}"#,
            Err("a field of the variable a"),
        ),
        (
            r#"{"format":"jinja","prompt":"{{ a | upper }}"}"#,
            Err("no exact counterpart"),
        ),
        (r#"{"prompt":"{{template \"other\" .}}"}"#, Err("")),
        (
            r#"{"prompt":"{{.variables.a}}","parameters":[{"name":"a","type":"string","default":"x"}]}"#,
            Err("has a default"),
        ),
        (
            r#"{"prompt":"{{.variables.a}}","parameters":[{"name":"a","type":"boolean"}]}"#,
            Err("a type other than text"),
        ),
        (
            r#"{"format":"jinja","prompt":"{{ ä }}"}"#,
            Err("clients read in different ways"),
        ),
        // A client would read these texts as variables.
        (
            r#"{"prompt":"{{.braces}} {{.variables.b}}"}"#,
            Err("literal braces"),
        ),
        (
            r#"{"format":"jinja","prompt":"{% raw %}{{ b }}{% endraw %} {{ a }}"}"#,
            Err("literal braces"),
        ),
        (
            r#"{"prompt":"{{\"{\"}}{{.variables.a}}"}"#,
            Err("literal braces"),
        ),
        // Structure.
        (
            r#"{"format":"jinja","messageSyntax":"role-lines","prompt":"user:\n{{ a }}"}"#,
            Err("begins or ends with the variable a"),
        ),
        // These tools use variables by name.
        (
            r#"{"format":"mustache","prompt":"{{weather}} {{city}}"}"#,
            Err("by name"),
        ),
        (
            r#"{"format":"mustache","prompt":"{{weather}}"}"#,
            Ok("weather{}"),
        ),
        (r#"{"format":"mustache","prompt":"{{#a}}x{{/a}}"}"#, Err("")),
        (r#"{"format":"script","prompt":"x"}"#, Err("")),
        (r#"{"prompt":"{{.nope.x}}"}"#, Err("service: ")),
    ];
    let mut wrong = Vec::new();
    for (definition, expected) in cases {
        let mut entries = SHARED.to_vec();
        entries.push((Prompt, "p", definition));
        entries.push((Prompt, "other", r#"{"prompt":"other {{.variables.a}}"}"#));
        entries.push((Prompt, "calm", r#"{"prompt":"calm {{.vscode.lang}}"}"#));
        let service = loaded(&TestStore::new(&entries)).await;
        let given = left(&service, "p", Notation::Double).await;
        let fits = match (&given, expected) {
            (Ok(text), Ok(expected)) => text == expected,
            (Err(found), Err(part)) => found.contains(part),
            _ => false,
        };
        if !fits {
            wrong.push(format!("{definition}: {given:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn single_braces_are_what_litellm_replaces() {
    for (definition, expected) in [
        (
            r#"{"prompt":"{{.variables.a}} {\"x\": 1}"}"#,
            Some("{a} {\"x\": 1}"),
        ),
        (r#"{"prompt":"{{.variables.a}} {b}"}"#, None),
        (r#"{"format":"mustache","prompt":"{{a}}"}"#, Some("{a}")),
    ] {
        let service = loaded(&TestStore::new(&[(Prompt, "p", definition)])).await;
        let given = left(&service, "p", Notation::Single).await.ok();
        assert_eq!(given.as_deref(), expected, "{definition}");
    }
}

/// Fills in variables like Langfuse's Python client: one pass, names between the nearest braces.
fn python(text: &str, values: &[(&str, String)]) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        out.push_str(before);
        match values.iter().find(|(known, _)| *known == name.trim()) {
            Some((_, value)) => out.push_str(value),
            None => out.push_str(&format!("{{{{{name}}}}}")),
        }
        rest = after;
    }
    out + rest
}

/// Fills in variables like Langfuse's Node client: Mustache without escaping.
fn node(text: &str, values: &[(&str, String)]) -> String {
    let factory = TemplateFactory::standard();
    let sources = [TemplateSource::new("p", text)];
    let template = factory.compile("mustache", &sources, &CompileOptions::default());
    let render = render(&Render {
        template: &*template.unwrap(),
        entries: &["p"],
        variables: &variables(values),
        functions: &NoFunctions,
        limits: &RenderLimits::default(),
    })
    .now_or_never();
    render.unwrap().unwrap().into_text()
}

fn variables(values: &[(&str, String)]) -> Map {
    let pair = |(name, value): &(&str, String)| (Arc::from(*name), Value::from(value.as_str()));
    values.iter().map(pair).collect()
}

/// Parts of templates, each in Go and in Jinja.
const PIECES: [[&str; 2]; 22] = [
    ["text", "text"],
    [" {", " {"],
    ["} ", "} "],
    ["}} ", "}} "],
    ["\n", "\n"],
    ["{\"x\": 1}", "{\"x\": 1}"],
    ["{{.variables.a}}", "{{ a }}"],
    ["{{- .variables.b -}}", "{{- b -}}"],
    ["{{ .args.c }}", "{{ variables.c }}"],
    ["{{.vscode.lang}}", "{{ vscode.lang }}"],
    ["{{.braces}}", "{{ braces }}"],
    [
        "{{range .vscode.frameworks}}{{.}}{{end}}",
        "{% for f in vscode.frameworks %}{{ f }}{% endfor %}",
    ],
    [
        "{{if .vscode.lang}}{{.variables.a}}{{else}}x{{end}}",
        "{% if vscode.lang %}{{ a }}{% else %}x{% endif %}",
    ],
    ["{{if .variables.a}}x{{end}}", "{% if a %}x{% endif %}"],
    ["{{weather \"P\"}}", "{{ weather(\"P\") }}"],
    ["{{weather .variables.b}}", "{{ weather(b) }}"],
    ["{{upper .vscode.lang}}", "{{ vscode.lang | upper }}"],
    ["{{$x := .vscode.lang}}{{$x}}", "{% set a = vscode.lang %}"],
    [
        "{{with .vscode}}{{.lang}}{{$.variables.b}}{{end}}",
        "{% set b = c %}",
    ],
    [
        "{{with upper .vscode.lang}}{{.}}{{end}}",
        "{% macro m(a) %}{{ a }}{% endmacro %}{{ m('x') }}",
    ],
    ["{{if eq (len .variables.a) 1}}x{{end}}", "{{ a ~ b }}"],
    ["{{printf \"%s!\" .variables.a}}", "{{ a | upper }}"],
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_client_ends_up_with_our_text(
        pieces in prop::collection::vec(0..PIECES.len(), 1..7),
        jinja in any::<bool>(),
        values in prop::collection::vec(
            prop::sample::select(vec!["", " x ", "{{a}}", "{{b}}", "{", "}}", "<&\"'>", "\n", "ü", "{% if %}"]), 3),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let text: String = pieces.iter().map(|piece| PIECES[*piece][usize::from(jinja)]).collect();
        let format = if jinja { "jinja" } else { "go" };
        let definition = serde_json::json!({"prompt": text, "format": format}).to_string();
        let values: Vec<(&str, String)> =
            ["a", "b", "c"].into_iter().zip(values.into_iter().map(str::to_owned)).collect();
        let (ours, open) = runtime.block_on(async {
            let mut entries = SHARED.to_vec();
            entries.push((Prompt, "p", &definition));
            let service = loaded(&TestStore::new(&entries)).await;
            let given = variables(&values);
            let ours = service.render("p", &RenderInput::new(&given, "test")).await;
            (ours.map(|ours| ours.prompt.to_string()), left(&service, "p", Notation::Double).await)
        });
        if let Ok(open) = open {
            let ours = ours.unwrap();
            prop_assert_eq!(&python(&open, &values), &ours, "{} {}", definition, open);
            prop_assert_eq!(&node(&open, &values), &ours, "{} {}", definition, open);
        }
    }
}
