//! `quillet run` with prompts: prompt files and stored prompts are sent to their model.

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};
use serde_json::Value;

use crate::Place;
use crate::ask::{borrowed, reach};

const PROMPTY: &str = "---\nname: Support\nmodel:\n  api: chat\n  configuration:\n    type: openai\n    name: gpt-4o-mini\n  parameters:\n    temperature: 0.25\ninputs:\n  question:\n    type: string\n    required: true\n---\nsystem:\nYou help.\n\nuser:\n{{question}}\n";
const DOTPROMPT: &str = "---\nmodel: gpt-4o\nconfig:\n  maxOutputTokens: 50\n---\n{{role \"system\"}}Be brief.\n{{role \"user\"}}{{question}}\n";
const DEFINITION: &str = r#"{"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "{{.variables.question}}"}]}"#;

fn place() -> Place {
    Place::new().with(&[
        ("support.prompty", PROMPTY),
        ("brief.prompt", DOTPROMPT),
        ("kind.json", DEFINITION),
        ("plain.j2", "Answer: {{ question }}"),
        ("s/prompts/kind.json", DEFINITION),
    ])
}

/// Runs with a provider that returns these answers, and also returns its requests.
fn asked(place: &Place, args: &[&str], answers: &[&str]) -> (crate::Done, Vec<Value>) {
    let turns = answers.iter().map(|answer| ScriptedReply::text([*answer]));
    let provider = FakeProvider::start(ReplyScript::turns(turns.collect::<Vec<_>>()));
    let env = reach(&provider);
    let mut all = vec!["run"];
    all.extend(args);
    let done = place.run_with(&all, "", &borrowed(&env));
    let requests = provider.requests();
    let requests = requests
        .iter()
        .map(quillet_fake_provider::RecordedRequest::json);
    (done, requests.collect())
}

#[test]
fn a_prompt_is_sent_as_its_messages_with_its_own_model_and_options() {
    let place = place();
    // Each case has a prompt file, additional arguments, and the expected model, roles and field of
    // the request.
    type Case = (
        &'static str,
        &'static [&'static str],
        &'static str,
        &'static [&'static str],
        (&'static str, f64),
    );
    let cases: [Case; 6] = [
        (
            "support.prompty",
            &[],
            "gpt-4o-mini",
            &["system", "user"],
            ("temperature", 0.25),
        ),
        (
            "support.prompty",
            &["-m", "gpt-4o", "--temperature", "1"],
            "gpt-4o",
            &["system", "user"],
            ("temperature", 1.0),
        ),
        (
            "brief.prompt",
            &[],
            "gpt-4o",
            &["system", "user"],
            ("max_tokens", 50.0),
        ),
        (
            "kind.json",
            &["-m", "gpt-4o"],
            "gpt-4o",
            &["system", "user"],
            ("n", 0.0),
        ),
        (
            "plain.j2",
            &["-m", "gpt-4o"],
            "gpt-4o",
            &["user"],
            ("n", 0.0),
        ),
        (
            "kind",
            &["-s", "dir:s", "-m", "gpt-4o"],
            "gpt-4o",
            &["system", "user"],
            ("n", 0.0),
        ),
    ];
    for (file, more, model, roles, (member, wanted)) in cases {
        let mut args = vec![file, "-D", "question=Why?"];
        args.extend(more);
        let (done, requests) = asked(&place, &args, &["Because."]);
        done.gives("Because.\n");
        assert_eq!(requests.len(), 1, "{file}");
        let request = &requests[0];
        assert_eq!(request["model"], model, "{file} {more:?}");
        let messages = request["messages"].as_array().unwrap();
        let got: Vec<&str> = messages
            .iter()
            .map(|it| it["role"].as_str().unwrap())
            .collect();
        assert_eq!(got, *roles, "{file}");
        let last = messages.last().unwrap()["content"].to_string();
        assert!(last.contains("Why?"), "{file}: {last}");
        if member != "n" {
            assert_eq!(request[member].as_f64(), Some(wanted), "{file} {request}");
        }
    }
}

#[test]
fn a_temperature_that_the_model_refuses_is_not_sent() {
    let model = ["support.prompty", "-D", "question=Why?", "-m"];
    for (name, sent) in [
        ("claude-opus-4-6", Some(0.25)),
        ("claude-opus-5-5", None),
        ("gpt-6-sol", None),
    ] {
        let args = [&model[..], &[name]].concat();
        let (done, requests) = asked(&place(), &args, &["Because."]);
        assert_eq!((done.code, done.out.as_str()), (Some(0), "Because.\n"));
        assert_eq!(requests[0]["temperature"].as_f64(), sent, "{name}");
        let warning = format!("the model {name} does not accept temperature");
        assert_eq!(done.err.contains(&warning), sent.is_none(), "{done:?}");
    }
}

#[test]
fn several_models_are_compared() {
    let place = place();
    let args = [
        "support.prompty",
        "-D",
        "question=Why?",
        "-m",
        "gpt-4o",
        "-m",
        "gpt-4o-mini",
    ];
    let (done, requests) = asked(&place, &args, &["One.", "Two."]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let models: Vec<&str> = requests
        .iter()
        .map(|it| it["model"].as_str().unwrap())
        .collect();
    assert_eq!(models, ["gpt-4o", "gpt-4o-mini"]);
    let lines: Vec<&str> = done.out.lines().collect();
    assert_eq!(
        lines[..6],
        ["gpt-4o", "One.", "", "gpt-4o-mini", "Two.", ""]
    );
    for word in ["model", "seconds", "in", "out", "US$", "ended"] {
        assert!(lines[6].contains(word), "{}", lines[6]);
    }
    assert!(
        lines[7].starts_with("gpt-4o ") && lines[7].ends_with("stop"),
        "{}",
        lines[7]
    );
    let (json, _) = asked(
        &place,
        &[&args[..], &["--json"]].concat(),
        &["One.", "Two."],
    );
    let answers: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(answers[1]["text"], "Two.");
    assert_eq!(answers[1]["model"], "gpt-4o-mini");
    // A failing model does not hide the results of the others.
    let args = [
        "support.prompty",
        "-D",
        "question=Why?",
        "-m",
        "mock-fail-500",
        "-m",
        "mock",
    ];
    let failed = place.run(&[&["run"], &args[..]].concat());
    assert_eq!(failed.code, Some(4), "{failed:?}");
    assert!(
        failed.out.contains("Why?") && failed.out.contains("500"),
        "{failed:?}"
    );
}

#[test]
fn what_is_wrong_with_a_prompt_is_said_before_a_model_is_asked() {
    let place = place();
    type Case = (&'static [&'static str], i32, &'static [&'static str]);
    let cases: [Case; 6] = [
        (&["support.prompty"], 3, &["question"]),
        (&["support.prompty", "Why?"], 2, &["-D name=value"]),
        (
            &["support.prompty", "-i", "-D", "question=x"],
            2,
            &["support.prompty is a prompt", "quillet chat"],
        ),
        (&["kind", "-s", "dir:s"], 3, &["variables.question"]),
        (&["kin", "-s", "dir:s"], 1, &["kin"]),
        (&["nowhere.prompty"], 1, &["nowhere.prompty"]),
    ];
    for (args, code, words) in cases {
        let (done, requests) = asked(&place, args, &["never"]);
        done.fails(code, words);
        assert!(requests.is_empty(), "{args:?}");
    }
    let several = place.run(&["run", "x.ai.yaml", "-m", "a", "-m", "b"]);
    several.fails(2, &["one model"]);
}

#[test]
fn a_dry_run_shows_the_messages_and_asks_nobody() {
    let place = place();
    let args = ["support.prompty", "--dry-run", "-D", "question=Why?"];
    let (done, requests) = asked(&place, &args, &["never"]);
    assert!(requests.is_empty());
    assert_eq!(done.out, "[system]\nYou help.\n\n[user]\nWhy?\n");
    assert_eq!(done.err, "gpt-4o-mini\n");
    let (json, _) = asked(&place, &[&args[..], &["--json"]].concat(), &["never"]);
    let request: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(request[0]["model"], "gpt-4o-mini");
    assert_eq!(request[0]["temperature"], 0.25);
    assert_eq!(request[0]["messages"][1]["content"], "Why?");
}

#[test]
fn without_any_model_the_mock_answers_and_says_so() {
    let place = place();
    let done = place.run(&["run", "plain.j2", "-D", "question=Why?"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("built-in mock model"), "{}", done.out);
    assert!(done.err.contains("no model is configured"), "{}", done.err);
}

#[test]
fn a_prompt_is_asked_with_tools_at_hand_too() {
    let place = place();
    let provider = FakeProvider::start(ReplyScript::turns([
        ScriptedReply::text(["Yes."]),
        ScriptedReply::text(["No."]),
    ]));
    let env = reach(&provider);
    let asked = ["ask", "support.prompty", "-D", "question=Is it open?"];
    let done = place.run_with(&asked, "", &borrowed(&env));
    assert_eq!(
        (done.code, done.out.as_str()),
        (Some(0), "Yes.\n"),
        "{done:?}"
    );
    let mut named = asked.to_vec();
    named.extend(["-m", "gpt-4o", "--temperature", "1", "--system", "Be rude."]);
    let done = place.run_with(&named, "", &borrowed(&env));
    assert_eq!(
        (done.code, done.out.as_str()),
        (Some(0), "No.\n"),
        "{done:?}"
    );
    let requests: Vec<Value> = provider
        .requests()
        .iter()
        .map(quillet_fake_provider::RecordedRequest::json)
        .collect();
    let told = |request: &Value| {
        let text = |at: usize| {
            request["messages"][at]["content"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        (
            request["model"].clone(),
            request["temperature"].clone(),
            text(0),
            text(1),
        )
    };
    let own = told(&requests[0]);
    assert_eq!((own.0, own.1), ("gpt-4o-mini".into(), 0.25.into()));
    assert!(
        own.2.contains("You help.") && own.3 == "Is it open?",
        "{requests:?}"
    );
    let other = told(&requests[1]);
    assert_eq!((other.0, other.1), ("gpt-4o".into(), 1.0.into()));
    assert!(
        other.2.contains("Be rude.") && other.3 == "Is it open?",
        "{requests:?}"
    );
}

#[test]
fn what_does_not_go_with_a_prompt_that_is_asked_is_said() {
    let place = place();
    let cases: [(&[&str], i32, &str); 4] = [
        (
            &["ask", "hello", "-D", "a=1", "-m", "mock"],
            2,
            "no prompt file was given",
        ),
        (
            &[
                "ask",
                "support.prompty",
                "-D",
                "question=x",
                "--session",
                "s",
                "-m",
                "mock",
            ],
            2,
            "--session cannot be used with a prompt",
        ),
        (&["ask", "support.prompty", "-m", "mock"], 3, "question"),
        (
            &[
                "ask",
                "kind",
                "-D",
                "question=x",
                "-s",
                "dir:s",
                "-m",
                "mock",
            ],
            0,
            "",
        ),
    ];
    for (args, code, part) in cases {
        let done = place.run(args);
        assert_eq!(done.code, Some(code), "{args:?} {done:?}");
        assert!(done.err.contains(part), "{args:?} {done:?}");
    }
}

#[test]
fn a_variable_that_a_file_uses_and_does_not_declare_is_told() {
    let place = Place::new().with(&[
        (
            "a.prompty",
            "---\nname: A\ninputs:\n  firstName: {type: string}\n---\nsystem:\nHi {{ frstName }}.\n",
        ),
        (
            "b.prompt",
            "---\ninput: {schema: {firstName?: string}}\n---\nHi {{frstName}}{{@state.x}}",
        ),
        ("open.prompt", "---\nmodel: gpt-4o\n---\nHi {{anything}}"),
        (
            "told.prompty",
            "---\nname: T\ninputs:\n  firstName: {type: string}\n---\nsystem:\nHi {{ firstName }}{{ other | default('x') }}.\n",
        ),
    ]);
    let near = "did you mean firstName?";
    for (file, words) in [
        ("a.prompty", Some(near)),
        ("b.prompt", Some(near)),
        ("open.prompt", None),
        ("told.prompty", None),
    ] {
        for command in [
            &["render", file][..],
            &["run", file, "-m", "mock"],
            &["check", file],
        ] {
            let done = place.run(command);
            assert_eq!(done.code, Some(0), "{command:?} {done:?}");
            let said = format!("{}{}", done.out, done.err);
            match words {
                Some(words) => assert!(said.contains(words), "{command:?} {done:?}"),
                None => assert!(!said.contains("declare"), "{command:?} {done:?}"),
            }
        }
    }
    let given = place.run(&["render", "a.prompty", "-D", "frstName=Bob"]);
    assert_eq!(given.out, "[system]\nHi Bob.\n", "{given:?}");
    assert_eq!(given.err, "", "{given:?}");
}
