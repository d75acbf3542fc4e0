//! Results of renders.

use quillet_core::store::EntryKind::{Environ, Extension, Prompt, Tool};
use quillet_core::{Map, Value};
use quillet_prompt::{RenderInput, RenderedPrompt, ServiceError};
use quillet_test_support::TestStore;

use crate::{loaded, render};

/// The expected text, or parts of the expected error code and message.
type Expected = Result<&'static str, &'static [&'static str]>;

#[tokio::test]
async fn the_seed_s_own_example() {
    let store = TestStore::new(&[
        (Environ, "vscode:programming_language", "\"go\""),
        (Environ, "vscode:frameworks", r#"["gin","gorm"]"#),
        (
            Extension,
            "zgsm:evaluator",
            r#"{"name":"evaluator","extensionType":"prompt","contributes":{"prompts":[{"name":"q","messages":[
                {"role":"system","content":"You know {{.vscode.programming_language}}."},
                {"role":"user","content":"{{range .vscode.frameworks}}[{{.}}]{{end}} {{.variables.repo}}"}],
                "parameters":[{"name":"repo","type":"string","default":"none"}]}]}}"#,
        ),
    ]);
    let service = loaded(&store).await;
    let text = render(&service, "evaluator.q", "{}").await.unwrap();
    assert_eq!(text, "system: You know go.\nuser: [gin][gorm] none");
}

#[tokio::test]
async fn outcomes() {
    let store = TestStore::new(&[
        (Environ, "vscode:lang", "\"go\""),
        (Environ, "n", "1234567"),
        (Environ, "model:gpt-4.1", "{\"size\":8}"),
        (Environ, "variables:code", "\"evil\""),
        (
            Prompt,
            "e:plain",
            r#"{"userPrompt":"{{.vscode.lang}} {{.n}} {{.variables.x}} {{.args.x}}"}"#,
        ),
        (
            Prompt,
            "e:jinja",
            r#"{"format":"jinja","prompt":"{{ vscode.lang }} {{ variables.x }}"}"#,
        ),
        (
            Prompt,
            "e:two_missing",
            r#"{"prompt":"{{.vscode.lnag}} {{.nope.a}} {{.variables.x}}"}"#,
        ),
        (
            Prompt,
            "e:unknown",
            r#"{"prompt":"{{lookup 1}} {{tool_one 1}}{{tool_tow 2}}{{upperr 3}}"}"#,
        ),
        (
            Prompt,
            "e:both",
            r#"{"prompt":"{{.vscode.lnag}} {{tool_tow 2}} {{.nope}}"}"#,
        ),
        (Prompt, "e:syntax", r#"{"prompt":"a\n{{if}}"}"#),
        (
            Prompt,
            "e:optional",
            r#"{"prompt":"[{{if .variables.opt}}yes{{end}}]","parameters":[{"name":"opt","type":"string","required":false}]}"#,
        ),
        (
            Prompt,
            "e:lenient",
            r#"{"prompt":"{{.nope}}","missing":"lenient"}"#,
        ),
        (
            Prompt,
            "e:typed",
            r#"{"prompt":"{{.variables.n}}","parameters":[{"name":"n","type":"integer","required":true}]}"#,
        ),
        (
            Prompt,
            "e:index",
            r#"{"prompt":"{{index .model \"gpt-4.1\" \"size\"}}"}"#,
        ),
        (Prompt, "e:shadow", r#"{"prompt":"{{.variables.code}}"}"#),
        (
            Prompt,
            "e:tools",
            r#"{"prompt":"{{tool_one 1}} {{tool_two \"x\" 2}} {{tool \"len\" 3}} {{my_mod_x 4}}"}"#,
        ),
        (
            Tool,
            "tool:one",
            r#"{"parameters":{"properties":{"a":{}}}}"#,
        ),
        (
            Tool,
            "tool:two",
            r#"{"parameters":{"properties":{"b":{},"a":{}}}}"#,
        ),
        (Tool, "len", r#"{"parameters":{"properties":{"a":{}}}}"#),
        (
            Tool,
            "my-mod:x",
            r#"{"parameters":{"properties":{"a":{}}}}"#,
        ),
    ]);
    let service = loaded(&store).await;
    let cases: &[(&str, &str, Expected)] = &[
        ("e.plain", r#"{"x":"v"}"#, Ok("go 1234567 v v")),
        ("e.jinja", r#"{"x":"v"}"#, Ok("go v")),
        (
            "e.two_missing",
            "{}",
            Err(&[
                "render.missing_variable",
                "vscode.lnag, nope.a, variables.x",
            ]),
        ),
        (
            "e.unknown",
            "{}",
            Err(&[
                "render.unknown_function",
                "\"lookup\", \"tool_tow\"",
                "tool_tow: did you mean tool_two?",
                "upperr: did you mean upper?",
            ]),
        ),
        (
            "e.both",
            "{}",
            Err(&[
                "render.unknown_function",
                "function \"tool_tow\" not defined",
                "tool_tow: did you mean tool_two?",
                "missing variables: vscode.lnag, nope",
            ]),
        ),
        (
            "e.syntax",
            "{}",
            Err(&[
                "definition.invalid",
                "e.syntax.prompt:2:",
                "missing value for if",
            ]),
        ),
        ("e.optional", "{}", Ok("[]")),
        ("e.optional", r#"{"opt":"o"}"#, Ok("[yes]")),
        ("e.lenient", "{}", Ok("<no value>")),
        (
            "e.typed",
            "{}",
            Err(&["variables.invalid", "\"n\" is a required property"]),
        ),
        (
            "e.typed",
            r#"{"n":"x"}"#,
            Err(&["variables.invalid", "variables.n", "integer"]),
        ),
        ("e.typed", r#"{"n":7}"#, Ok("7")),
        ("e.index", "{}", Ok("8")),
        ("e.shadow", r#"{"code":"mine"}"#, Ok("mine")),
        (
            "e.plian",
            "{}",
            Err(&["not_found", "did you mean \"e.plain\"?"]),
        ),
        (
            "e.tools",
            "{}",
            Ok(r#"tool_one{"a":1} tool_two{"b":"x","a":2} len{"a":3} my_mod_x{"a":4}"#),
        ),
    ];
    for (id, variables, expected) in cases {
        let got = render(&service, id, variables).await;
        match (got, expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, *expected, "{id}"),
            (Err(error), Err(parts)) => {
                let text = format!("{} {error}", error.code());
                for part in *parts {
                    assert!(text.contains(part), "{id}: {part:?} is not in {text:?}");
                }
            }
            (got, _) => panic!("{id}: {got:?}"),
        }
    }
}

#[tokio::test]
async fn a_failed_tool_leaves_its_default_and_is_reported() {
    let schema = r#""parameters":{"properties":{"a":{}}}"#;
    let store = TestStore::new(&[
        (
            Tool,
            "bad",
            &format!(r#"{{"fail":true,"default":"-",{schema}}}"#),
        ),
        (
            Tool,
            "slow",
            &format!(r#"{{"hang":true,"default":[],{schema}}}"#),
        ),
        (
            Prompt,
            "p",
            r#"{"prompt":"[{{bad 1}}][{{slow 2}}][{{bad 1 2}}]"}"#,
        ),
    ]);
    let service = loaded(&store).await;
    let outcome = service
        .render(
            "p",
            &quillet_prompt::RenderInput::new(&Map::default(), "r1"),
        )
        .await
        .unwrap();
    assert_eq!(
        outcome.prompt,
        quillet_prompt::RenderedPrompt::Text("[-][[]][-]".into())
    );
    let mut failed: Vec<(&str, &str)> = outcome
        .failures
        .iter()
        .map(|f| (f.tool.as_str(), f.code.as_str()))
        .collect();
    failed.sort_unstable();
    assert_eq!(
        failed,
        [
            ("bad", "tool.arguments"),
            ("bad", "tool.remote"),
            ("slow", "tool.timeout")
        ]
    );
}

#[tokio::test]
async fn prompts_call_partials_and_each_other() {
    let store = TestStore::new(&[
        (
            Prompt,
            "e:_head",
            r#"{"prompt":"HEAD {{.variables.x}}{{define \"sign\"}}!{{end}}"}"#,
        ),
        (
            Prompt,
            "e:body",
            r#"{"prompt":"{{template \"_head\" .}} {{template \"f.other\" .variables}}{{template \"sign\"}}"}"#,
        ),
        (Prompt, "f:other", r#"{"prompt":"other {{.x}}"}"#),
        (
            Prompt,
            "f:first",
            r#"{"messages":[{"role":"system","content":"{{define \"d\"}}D{{end}}s"},{"role":"user","content":"{{template \"d\"}}"}]}"#,
        ),
        (
            Prompt,
            "f:loop",
            r#"{"prompt":"{{template \"f.loop\" .}}"}"#,
        ),
        (
            Prompt,
            "f:nowhere",
            r#"{"prompt":"{{template \"f.gone\" .}}"}"#,
        ),
    ]);
    let service = loaded(&store).await;
    assert_eq!(
        render(&service, "e.body", r#"{"x":"v"}"#).await.unwrap(),
        "HEAD v other v!"
    );
    assert_eq!(
        render(&service, "f.first", "{}").await.unwrap(),
        "system: s\nuser: D"
    );
    let error = render(&service, "f.loop", "{}").await.unwrap_err();
    assert!(error.code().as_str().starts_with("render."), "{error}");
    assert!(render(&service, "f.nowhere", "{}").await.is_err());
}

#[tokio::test]
async fn broken_definitions_are_listed_and_hide_nothing() {
    let store = TestStore::new(&[
        (Prompt, "a", "{oops"),
        (Prompt, "b", r#"{"prompt":"fine"}"#),
        (Prompt, "c", r#"{"prompt":"{{","format":"go"}"#),
        (Prompt, "d", r#"{"prompt":"x","format":"jnja"}"#),
        (Extension, "x", "[]"),
        (Tool, "t", "{"),
    ]);
    let service = loaded(&store).await;
    let snapshot = service.catalogue().snapshot();
    let states: Vec<(&str, &str)> = snapshot
        .prompts
        .values()
        .map(|prompt| (&*prompt.id, prompt.status()))
        .collect();
    assert_eq!(
        states,
        [
            ("a", "invalid"),
            ("b", "valid"),
            ("c", "invalid"),
            ("d", "invalid")
        ]
    );
    assert_eq!(snapshot.extensions.get("x").unwrap().status(), "invalid");
    assert_eq!(snapshot.tools.get("t").unwrap().status(), "invalid");
    assert_eq!(render(&service, "b", "{}").await.unwrap(), "fine");
    let error = render(&service, "a", "{}").await.unwrap_err();
    assert!(
        matches!(error, ServiceError::Invalid { .. }) && error.to_string().contains("prompt a:1:2"),
        "{error}"
    );
    let error = render(&service, "d", "{}").await.unwrap_err().to_string();
    assert!(error.contains("did you mean jinja?"), "{error}");
}

#[tokio::test]
async fn a_direct_prompt_wins_over_an_extension_s() {
    let store = TestStore::new(&[
        (
            Extension,
            "z",
            r#"{"name":"e","contributes":{"prompts":[{"name":"p","prompt":"from extension"}]}}"#,
        ),
        (Prompt, "e:p", r#"{"prompt":"direct"}"#),
    ]);
    assert_eq!(
        render(&loaded(&store).await, "e.p", "{}").await.unwrap(),
        "direct"
    );
}

#[tokio::test]
async fn shared_variables_by_id() {
    let store = TestStore::new(&[
        (Environ, "a", r#"{"x":1}"#),
        (Environ, "a:b", "2"),
        (Environ, "a:c:d", "3"),
        (Environ, "model:gpt-4.1", "4"),
        (Environ, "raw", "not json"),
    ]);
    let service = loaded(&store).await;
    let ids = service.variables().ids().await.unwrap();
    assert_eq!(ids, ["a", "a.b", "a.c.d", "model.gpt-4.1", "raw"]);
    let cases = [
        ("a", r#"{"x":1,"b":2,"c":{"d":3}}"#),
        ("a.b", "2"),
        ("a.c", r#"{"d":3}"#),
        ("a.x", "1"),
        ("model.gpt-4.1", "4"),
        ("raw", "\"not json\""),
    ];
    for (id, expected) in cases {
        let value: Value = service.variables().get(id).await.unwrap();
        assert_eq!(quillet_core::json::to_string(&value), expected, "{id}");
    }
    assert_eq!(
        service.variables().get("a.q").await.unwrap_err().code(),
        "not_found"
    );
}

#[tokio::test]
async fn names_are_tools_as_the_format_looks_for_them() {
    const TOOL: &str = r#"{"parameters":{"properties":{"city":{}}}}"#;
    let prompt = |format: &str, text: &str| {
        serde_json::json!({"userPrompt": text, "format": format}).to_string()
    };
    let cases = [
        ("semantic-kernel", "{{Weather.Of}}"),
        ("semantic-kernel-handlebars", "{{weather-of}}"),
        ("semantic-kernel-jinja2", "{{ weather_of() }}"),
        ("handlebars", "{{weather_of}}"),
        ("mustache", "{{weather_of}}"),
        ("f-string", "{weather_of}"),
    ];
    for (format, text) in cases {
        let text = prompt(format, text);
        let store = TestStore::new(&[
            (Tool, "weather:of", TOOL),
            (Environ, "city", r#""Oslo""#),
            (Prompt, "p", &text),
        ]);
        let service = loaded(&store).await;
        // The tool's parameter gets the value of the shared variable with the same name.
        for _ in 0..2 {
            let rendered = render(&service, "p", "{}").await.unwrap();
            assert_eq!(rendered, r#"weather_of{"city":"Oslo"}"#, "{format}");
        }
        // A variable of the request takes precedence.
        let rendered = render(&service, "p", r#"{"city":"Rome"}"#).await.unwrap();
        assert_eq!(rendered, r#"weather_of{"city":"Rome"}"#, "{format}");
    }
}

#[tokio::test]
async fn what_is_neither_variable_nor_tool_is_missing() {
    let cases = [
        ("mustache", "{{wether_of}}", "render.missing_variable"),
        ("f-string", "{wether_of}", "render.missing_variable"),
        (
            "semantic-kernel",
            "{{wether.of}}",
            "render.unknown_function",
        ),
        ("go", "{{.weather_of}}", "render.missing_variable"),
    ];
    for (format, text, code) in cases {
        let text = serde_json::json!({"userPrompt": text, "format": format}).to_string();
        let store = TestStore::new(&[(Tool, "weather:of", "{}"), (Prompt, "p", &text)]);
        let service = loaded(&store).await;
        let error = render(&service, "p", "{}").await.unwrap_err();
        assert_eq!(error.code(), code, "{format}: {error}");
    }
}

/// Every kind of store provides the keys of `_head.prompt`, `_head.hbs` and `_head.j2`.
#[tokio::test]
async fn partials_work_in_a_store() {
    let store = TestStore::new(&[
        (
            Prompt,
            "h:_head",
            r#"{"prompt":"[{{x}}]","format":"handlebars"}"#,
        ),
        (
            Prompt,
            "h:one",
            r#"{"prompt":"{{> head}}","format":"handlebars"}"#,
        ),
        (
            Prompt,
            "h:full",
            r#"{"prompt":"{{> _head}}","format":"handlebars"}"#,
        ),
        (
            Prompt,
            "h:d",
            r#"{"prompt":"{{> head}}","format":"dotprompt"}"#,
        ),
        (
            Prompt,
            "h:go",
            r#"{"prompt":"{{.variables.x}}","format":"go"}"#,
        ),
        (
            Prompt,
            "j:_head",
            r#"{"prompt":"[{{ x }}]","format":"jinja"}"#,
        ),
        (
            Prompt,
            "j:one",
            r#"{"prompt":"{% include 'head' %}","format":"jinja"}"#,
        ),
        (
            Prompt,
            "j:plain",
            r#"{"prompt":"{% include '_head' %}","format":"jinja-plain"}"#,
        ),
    ]);
    let service = loaded(&store).await;
    for (id, expected) in [
        ("h.one", "[1]"),
        ("h.full", "[1]"),
        ("h.d", "[1]"),
        ("h.go", "1"),
        ("j.one", "[1]"),
        ("j.plain", "[1]"),
    ] {
        let got = render(&service, id, r#"{"x":"1"}"#).await;
        assert_eq!(
            got.as_deref().map_err(ToString::to_string),
            Ok(expected),
            "{id}"
        );
    }
}

/// A dry render can access fields of skipped tool calls.
#[tokio::test]
async fn a_dry_render_looks_into_calls_that_are_not_made() {
    let store = TestStore::new(&[
        (Tool, "t", "{}"),
        (
            Prompt,
            "p",
            r#"{"prompt": "[{{(t 1).field}}{{range t 2}}x{{end}}{{(tool \"t\").a}}]"}"#,
        ),
    ]);
    let service = loaded(&store).await;
    let variables = Map::default();
    let input = RenderInput {
        dry: true,
        ..RenderInput::new(&variables, "test")
    };
    let outcome = service.render("p", &input).await.unwrap();
    assert_eq!(outcome.prompt, RenderedPrompt::Text("[]".to_owned()));
}

#[tokio::test]
async fn a_place_for_messages_is_there_in_every_format() {
    let factory = quillet_template::TemplateFactory::standard();
    let names: Vec<&str> = factory
        .formats()
        .iter()
        .flat_map(|format| std::iter::once(format.name()).chain(format.aliases().iter().copied()))
        .collect();
    let definitions: Vec<(String, String)> = names
        .iter()
        .map(|name| {
            let text = format!(
                r#"{{"format":"{name}","messages":[{{"role":"system","content":"Be kind."}},
                {{"type":"placeholder","name":"history"}},{{"role":"user","content":"Why?"}}]}}"#
            );
            (format!("e:{name}"), text)
        })
        .collect();
    let entries: Vec<_> = definitions
        .iter()
        .map(|(id, text)| (Prompt, id.as_str(), text.as_str()))
        .collect();
    let service = loaded(&TestStore::new(&entries)).await;
    let history =
        r#"{"history":[{"role":"user","content":"<b>&"},{"role":"assistant","content":"{{x}}"}]}"#;
    for name in names {
        let text = render(&service, &format!("e.{name}"), history).await;
        assert_eq!(
            text.unwrap_or_else(|error| error.to_string()),
            "system: Be kind.\nuser: <b>&\nassistant: {{x}}\nuser: Why?",
            "{name}"
        );
    }
}
