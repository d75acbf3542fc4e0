//! `quillet ask` with a scripted provider, over all provider APIs.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use quillet_fake_provider::{FakeProvider, InjectedFault, ProviderApi, ReplyScript, ScriptedReply};
use serde_json::{Value, json};

use crate::Place;

/// Environment variables that direct all provider APIs to this provider.
pub(crate) fn reach(provider: &FakeProvider) -> Vec<(&'static str, String)> {
    vec![
        (
            "OPENAI_BASE_URL",
            provider.base_url(ProviderApi::OpenAiChat),
        ),
        ("OPENAI_API_KEY", "key-canary".to_owned()),
        (
            "ANTHROPIC_BASE_URL",
            provider.base_url(ProviderApi::Anthropic),
        ),
        ("ANTHROPIC_API_KEY", "key-canary".to_owned()),
        (
            "GOOGLE_GEMINI_BASE_URL",
            provider.base_url(ProviderApi::Gemini),
        ),
        ("GEMINI_API_KEY", "key-canary".to_owned()),
    ]
}

pub(crate) fn borrowed<'a>(env: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    env.iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect()
}

/// A reply that starts but does not end during a test.
pub(crate) fn stuck() -> ScriptedReply {
    let pieces = std::iter::once("It begins").chain(vec![" ."; 10_000]);
    ScriptedReply::text(pieces).pause(Duration::from_millis(20))
}

/// A provider whose replies start but do not end.
pub(crate) fn endless() -> FakeProvider {
    FakeProvider::start(ReplyScript::turns([stuck()]))
}

/// Starts a command in the background.
pub(crate) fn start(mut command: Command, provider: &FakeProvider) -> Child {
    command
        .envs(reach(provider))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Reads output until it contains this text.
pub(crate) fn hear(child: &mut Child, expected: &str) {
    let mut heard = vec![0; expected.len()];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut heard)
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&heard), expected);
}

pub(crate) fn interrupt(child: &Child) {
    let id = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
}

pub(crate) fn wait(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future);
}

#[test]
fn the_answer_comes_over_every_wire() {
    let place = Place::new();
    let models = [
        ("gpt-4o", ProviderApi::OpenAiChat),
        ("openai-responses/gpt-4o", ProviderApi::OpenAiResponses),
        ("claude-sonnet-4-5", ProviderApi::Anthropic),
        ("gemini-2.5-flash", ProviderApi::Gemini),
    ];
    for (model, wire) in models {
        let provider =
            FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Four", ".\n"])]));
        let env = reach(&provider);
        let args = ["ask", "What is 2+2?", "-m", model, "--system", "Be brief."];
        let done = place.run_with(&args, "", &borrowed(&env));
        done.gives("Four.\n");
        let asked = &provider.requests()[0];
        assert_eq!(asked.wire, Some(wire), "{model}");
        assert_eq!(asked.key.as_deref(), Some("key-canary"), "{model}");
        assert!(
            asked.text().contains("Be brief."),
            "{model}: {}",
            asked.text()
        );
    }
}

#[test]
fn standard_input_is_appended_and_a_dash_is_standard_input_alone() {
    let place = Place::new();
    for (question, expected) in [
        (Some("Count this:"), "Count this:\n\na b c\n"),
        (Some("-"), "a b c\n"),
        (None, "a b c\n"),
    ] {
        let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["3"])]));
        let env = reach(&provider);
        let mut args = vec!["ask", "-m", "gpt-4o"];
        args.extend(question);
        let done = place.run_with(&args, "a b c\n", &borrowed(&env));
        // Output that does not go to a terminal also ends with a new line.
        done.gives("3\n");
        let asked = provider.requests()[0].json();
        assert_eq!(asked["messages"][0]["content"], expected, "{question:?}");
    }
}

#[test]
fn what_is_missing_is_named_with_the_mend() {
    let place = Place::new().with(&[("a.txt", "no image")]);
    let cases: [(&[&str], &[&str]); 7] = [
        (
            &["ask", "hi"],
            &["no model is set", "-m MODEL", "OPENAI_API_KEY", "keys set"],
        ),
        (&["ask", "-m", "mock"], &["missing question"]),
        (
            &["ask", "hi", "-m", "mock", "-t", "wether"],
            &["--tool wether matches no tool"],
        ),
        (
            &["ask", "hi", "--demo", "-t", "prompt/helo"],
            &["did you mean prompt/hello?"],
        ),
        (
            &["ask", "hi", "--demo", "-a", "nobody"],
            &["unknown agent \"nobody\""],
        ),
        (
            &["ask", "hi", "-m", "mock", "--image", "a.txt"],
            &["not a PNG, JPEG, GIF or WebP"],
        ),
        (
            &["ask", "hi", "-m", "mock", "--temperature", "3"],
            &["a number from 0 to 2"],
        ),
    ];
    for (args, words) in cases {
        place.run(args).fails(2, words);
    }
    let no_key = place.run(&["ask", "hi", "-m", "claude-sonnet-4-5"]);
    no_key.fails(4, &["ANTHROPIC_API_KEY"]);
}

#[test]
fn a_provider_that_fails_is_exit_code_4() {
    let place = Place::new();
    for model in ["fake-fail-400", "fake-fail-401"] {
        let provider = FakeProvider::start(ReplyScript::turns([]));
        let env = reach(&provider);
        let done = place.run_with(&["ask", "hi", "-m", model], "", &borrowed(&env));
        done.fails(4, &["error:"]);
        assert!(!done.err.contains("canary"), "{}", done.err);
    }
    let cut = FakeProvider::start(ReplyScript::turns([
        ScriptedReply::text(["Half ", "an"]).fault(InjectedFault::cut(2))
    ]));
    let env = reach(&cut);
    let done = place.run_with(&["ask", "hi", "-m", "gpt-4o"], "", &borrowed(&env));
    assert_eq!(
        (done.code, done.out.is_empty()),
        (Some(4), false),
        "{done:?}"
    );
    assert!(done.err.contains("error:"), "{done:?}");
}

#[test]
fn tools_of_the_store_are_called_and_noted() {
    let place = Place::new().with(&[(
        "s/prompts/greet.yaml",
        "description: Greets\nuserPrompt: Hello {{.variables.name}}\nparameters:\n  - {name: name, type: string}\n",
    )]);
    let provider = FakeProvider::start(ReplyScript::turns([
        ScriptedReply::call("prompt_greet", ["{\"name\":\"Ada\"}"]),
        ScriptedReply::text(["Done."]).spent(1000, 100),
    ]));
    let env = reach(&provider);
    let args = ["ask", "hi", "-m", "gpt-4o", "-s", "dir:s", "-t", "prompt/*"];
    let done = place.run_with(&args, "", &borrowed(&env));
    assert_eq!(
        (done.code, done.out.as_str()),
        (Some(0), "Done.\n"),
        "{done:?}"
    );
    let notes: Vec<&str> = done.err.lines().collect();
    assert_eq!(notes[0], "→ prompt_greet {\"name\":\"Ada\"}");
    assert!(notes[1].starts_with("← Hello Ada ("), "{notes:?}");
}

#[test]
fn json_has_the_calls_the_tokens_and_the_cost() {
    let place = Place::new();
    let turn = ScriptedReply::text(["Four."])
        .and_reasoning("2+2")
        .spent(1_000_000, 100_000);
    let provider = FakeProvider::start(ReplyScript::turns([turn]));
    let env = reach(&provider);
    let done = place.run_with(
        &["ask", "hi", "-m", "gpt-4o", "--json"],
        "",
        &borrowed(&env),
    );
    let shown: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(shown["text"], "Four.");
    assert_eq!(shown["usage"]["input_tokens"], 1_000_000);
    // 2.5 dollars per million input tokens, and 10 per million output tokens.
    assert_eq!(shown["cost_usd"], json!(3.5));
    let failed = place.run_with(&["ask", "hi", "-m", "mock-fail-401", "--json"], "", &[]);
    let shown: Value = serde_json::from_str(&failed.out).unwrap();
    assert_eq!((failed.code, &shown["ending"]), (Some(4), &json!("failed")));
    assert!(shown["error"]["code"].is_string(), "{shown}");
}

#[test]
fn images_go_with_the_question() {
    let place = Place::new();
    std::fs::write(place.path().join("a.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["A dot."])]));
    let env = reach(&provider);
    let args = [
        "ask",
        "What is it?",
        "-m",
        "gpt-4o",
        "--image",
        "a.png",
        "--image",
        "https://h/b.png",
    ];
    place.run_with(&args, "", &borrowed(&env)).gives("A dot.\n");
    let content = &provider.requests()[0].json()["messages"][0]["content"];
    assert_eq!(
        content[1]["image_url"]["url"],
        "data:image/png;base64,iVBORw0KGgo="
    );
    assert_eq!(content[2]["image_url"]["url"], "https://h/b.png");
}

#[test]
fn a_session_remembers() {
    let place = Place::new();
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["I will."])]));
    let env = reach(&provider);
    for question in ["My name is Ada.", "Who am I?"] {
        let args = ["ask", question, "-m", "gpt-4o", "--session", "s1"];
        place
            .run_with(&args, "", &borrowed(&env))
            .gives("I will.\n");
    }
    let asked = provider.requests()[1].json();
    let said: Vec<&Value> = asked["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["content"])
        .collect();
    assert_eq!(said, ["My name is Ada.", "I will.", "Who am I?"]);
}

#[test]
fn a_reader_that_leaves_ends_the_answer_silently() {
    let place = Place::new();
    let words = vec!["word ".repeat(100); 2_000];
    let turn = ScriptedReply::text(words).pause(Duration::from_millis(1));
    let provider = FakeProvider::start(ReplyScript::turns([turn]));
    let mut command = place.command(&["ask", "hi", "-m", "gpt-4o"]);
    command.stdin(Stdio::null());
    let mut child = start(command, &provider);
    hear(&mut child, "word ");
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    let notes = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!((ended.status.code(), notes.as_str()), (Some(141), ""));
    wait(provider.disconnected(1));
}

#[test]
fn control_c_ends_the_call_of_the_model() {
    let place = Place::new();
    let provider = endless();
    let mut command = place.command(&["ask", "hi", "-m", "gpt-4o"]);
    command.stdin(Stdio::null());
    let mut child = start(command, &provider);
    hear(&mut child, "It begins");
    interrupt(&child);
    wait(provider.disconnected(1));
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn what_the_model_writes_goes_into_a_pipe_as_it_is() {
    let place = Place::new();
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text([
        "a\u{1b}[31mb\r\n",
    ])]));
    let env = reach(&provider);
    let done = place.run_with(&["ask", "hi", "-m", "gpt-4o"], "", &borrowed(&env));
    done.gives("a\u{1b}[31mb\r\n");
}

#[test]
fn an_answer_that_is_not_whole_is_shown_and_has_a_code_of_its_own() {
    let place = Place::new();
    let provider = FakeProvider::start(ReplyScript::default());
    let env = reach(&provider);
    for model in ["fake-length", "fake-filter"] {
        let done = place.run_with(&["ask", "Go", "-m", model], "", &borrowed(&env));
        assert_eq!(done.code, Some(4), "{done:?}");
        assert!(!done.out.trim().is_empty(), "{done:?}");
        assert!(done.err.contains("the answer was cut by"), "{done:?}");
    }
}
