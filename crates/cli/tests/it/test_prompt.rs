//! `quillet test` with prompts and their fixtures, with one or several models.

use quillet_fake_provider::{FakeProvider, RecordedRequest, ReplyScript, ScriptedReply};
use serde_json::Value;

use crate::Place;
use crate::ask::{borrowed, reach};

const PROMPTY: &str = "---\nname: Support\nmodel:\n  api: chat\n  configuration:\n    type: openai\n    name: gpt-4o-mini\n  parameters:\n    temperature: 0.25\ninputs:\n  question:\n    type: string\n    required: true\n---\nsystem:\nYou help.\n\nuser:\n{{question}}\n";
const DOTPROMPT: &str = "---\nmodel: gpt-4o\ninput:\n  schema:\n    text: string\noutput:\n  format: json\n  schema:\n    lang: string\n---\n{{role \"system\"}}Name the language.\n{{role \"user\"}}{{text}}\n";
const DEFINITION: &str = r#"{"userPrompt": "Be kind to {{.variables.name}}."}"#;

fn place() -> Place {
    Place::new().with(&[
        ("support.prompty", PROMPTY),
        ("lang.prompt", DOTPROMPT),
        ("s/prompts/kind.json", DEFINITION),
    ])
}

#[test]
fn every_part_of_a_prompt_can_be_expected() {
    let fixture = "---
replies: [\"Hello Ada\"]
---
- title: all of it
  input: {question: Why?}
  parameters: {top_p: 0.5}
  output: /ada/i
  expect:
    requests: {$first: {temperature: 0.25, top_p: 0.5, messages: {$contains: {role: system, content: You help.}}}}
    messages: {$last: {role: assistant, content: Hello Ada}}
    tokens-below: 100
- {title: wrong, input: {question: Why?}, output: Salut}
- {title: fails, input: {qestion: Why?}, expect: {error: /question/}, replies: []}
- {title: broken, input: {}, output: a}
- {title: no name, input: Why?, output: a}
";
    let place = place().with(&[("support.fixture.yaml", fixture)]);
    for target in ["support.fixture.yaml", "support.prompty", "."] {
        let done = place.run(&["test", target]);
        assert_eq!((done.code, done.err.as_str()), (Some(1), ""), "{done:?}");
        for part in [
            "ok 1 all of it",
            "FAILED 2 wrong",
            "expected \"Salut\"",
            "got \"Hello Ada\"",
            "ok 3 fails",
            "ERROR 4 broken",
            "\"question\" is a required property",
            "ERROR 5 no name",
            "write input: {name: value}",
            "2 passed, 1 failed, 2 broken",
        ] {
            assert!(done.out.contains(part), "{part} is not in\n{}", done.out);
        }
    }
}

#[test]
fn answers_in_json_are_values_and_calls_are_seen() {
    let fixture = "
- title: a value
  input: {text: Bonjour}
  replies: [{reply: '{\"lang\": \"fr\"}'}]
  output: {lang: fr}
- title: a call
  input: {text: Bonjour}
  replies: [{tool_calls: [{name: detect, args: {text: Bonjour}}]}]
  expect: {tool-called: {detect: {text: Bonjour}}}
- title: cut
  input: {text: Bonjour}
  replies: [{reply: '{\"lang', finish: length}]
  expect: {error: /limit|length/}
";
    let place = place().with(&[("lang.fixture.yaml", fixture)]);
    let done = place.run(&["test", "lang.prompt"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.ends_with("3 passed\n"), "{done:?}");
}

#[test]
fn several_models_take_the_same_tests_and_a_table_compares_them() {
    let fixture = "
- {title: says yes, input: {question: Is it?}, output: Yes}
- {title: is scripted, input: {question: Is it?}, output: Perhaps, replies: [Perhaps]}
";
    let place = place().with(&[("support.fixture.yaml", fixture)]);
    let provider = FakeProvider::start(ReplyScript::turns([
        ScriptedReply::text(["Yes"]),
        ScriptedReply::text(["No"]),
    ]));
    let env = reach(&provider);
    let args = [
        "test",
        "support.prompty",
        "-m",
        "gpt-4o",
        "-m",
        "gpt-4o-mini",
    ];
    let done = place.run_with(&args, "", &borrowed(&env));
    assert_eq!(done.code, Some(1), "{done:?}");
    for part in [
        "support.prompty with gpt-4o\n    ok 1 says yes",
        "support.prompty\n    ok 2 is scripted",
        "support.prompty with gpt-4o-mini\n    FAILED 1 says yes",
        "2 passed, 1 failed",
    ] {
        assert!(done.out.contains(part), "{part} is not in\n{}", done.out);
    }
    let row = |name: &str| {
        let row = done.out.lines().find(|line| line.starts_with(name));
        row.map(|row| {
            row.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(row("gpt-4o ").unwrap()[1..4], ["1", "0", "0"]);
    assert_eq!(row("gpt-4o-mini ").unwrap()[1..4], ["0", "1", "0"]);
    let models: Vec<Value> = provider
        .requests()
        .iter()
        .map(|asked| RecordedRequest::json(asked)["model"].clone())
        .collect();
    assert_eq!(models, ["gpt-4o", "gpt-4o-mini"]);
}

#[test]
fn fixtures_find_variants_and_stored_prompts() {
    let fixture = "---
replies: [ok]
---
- {title: a file, input: {question: x}, output: ok}
- {title: stored, script: kind, input: {name: Bob}, expect: {requests: {$first: {messages: {$last: {content: Be kind to Bob.}}}}}}
";
    let place = place().with(&[
        ("support.fixture.yaml", fixture),
        ("support.short.prompty", PROMPTY),
    ]);
    let done = place.run(&["test", ".", "-s", "dir:s"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    for part in [
        "support.prompty\n    ok 1",
        "support.short.prompty\n    ok 1",
        "kind\n    ok 2",
        "3 passed",
    ] {
        assert!(done.out.contains(part), "{part} is not in\n{}", done.out);
    }
    let without = place.run(&["test", "lang.prompt"]);
    assert_eq!(without.code, Some(2), "{without:?}");
    assert!(
        without
            .err
            .contains("missing lang.fixture.yaml with its tests"),
        "{without:?}"
    );
}
