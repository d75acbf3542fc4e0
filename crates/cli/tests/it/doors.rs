//! A model name selects the same provider in every API.

use std::io::{Read, Write};
use std::net::TcpStream;

use quillet_fake_provider::{FakeProvider, ProviderApi, ReplyScript, ScriptedReply};

use crate::Place;
use crate::ask::{borrowed, reach};
use crate::serve::Running;

/// Model names with the API of the expected provider; `None` is the mock.
const NAMES: [(&str, Option<ProviderApi>); 7] = [
    ("gpt-4o", Some(ProviderApi::OpenAiChat)),
    ("o3-mini", Some(ProviderApi::OpenAiChat)),
    ("openai-responses/gpt-5", Some(ProviderApi::OpenAiResponses)),
    ("claude-sonnet-4-5", Some(ProviderApi::Anthropic)),
    ("gemini-2.5-flash", Some(ProviderApi::Gemini)),
    ("unheard-of", Some(ProviderApi::OpenAiChat)),
    ("mock", None),
];

/// Routes of a server and the bodies that use this model.
fn doors(name: &str, stream: bool) -> Vec<(&'static str, String)> {
    let stored = own(name);
    let messages = r#"[{"role": "user", "content": "Hi"}]"#;
    let mut doors = vec![
        (
            "/v1/chat/completions",
            format!(r#"{{"model": "{name}", "messages": {messages}, "stream": {stream}}}"#),
        ),
        (
            "/v1/responses",
            format!(r#"{{"model": "{name}", "input": "Hi", "stream": {stream}}}"#),
        ),
        // The prompt selects the model.
        (
            "/v1/chat/completions",
            format!(r#"{{"model": "prompt/{stored}", "messages": [], "stream": {stream}}}"#),
        ),
        (
            "/v1/responses",
            format!(r#"{{"model": "prompt/{stored}", "input": "Hi", "stream": {stream}}}"#),
        ),
        (
            "/api/chat/prompts/hi",
            format!(r#"{{"model": "{name}", "stream": {stream}}}"#),
        ),
        (
            "/v1/response",
            format!(
                r#"{{"model_config": {{"model_id": "{name}", "model": ""}}, "input": {{"text": "Hi"}}}}"#
            ),
        ),
        // The script selects the model.
        (
            "/v1/chat/completions",
            format!(r#"{{"model": "prompt/script-{stored}", "messages": [], "stream": {stream}}}"#),
        ),
        (
            "/mcp",
            format!(
                r#"{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": "prompt_{stored}", "arguments": {{}}}}}}"#
            ),
        ),
    ];
    if cfg!(not(feature = "mcp")) {
        doors.retain(|(path, _)| *path != "/mcp");
    }
    if name.contains('/') {
        // Agent requests have separate fields for provider and model.
        doors.retain(|(path, _)| *path != "/v1/response");
    }
    doors
}

/// Returns the id of the prompt that sets this model.
fn own(name: &str) -> String {
    format!("own-{}", name.replace(['/', '.'], "-"))
}

pub(crate) fn post(address: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-06-18\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Creates a folder with a prompt and a script for each name.
fn place() -> Place {
    let mut files = vec![("s/prompts/hi.gotmpl".to_owned(), "Hi".to_owned())];
    for (name, _) in NAMES {
        let stored = own(name);
        files.push((
            format!("s/prompts/{stored}.json"),
            format!(r#"{{"userPrompt": "Hi", "model": "{name}"}}"#),
        ));
        let script = format!("---\nparameters: {{model: {name}}}\n---\nuser: Hi\n");
        files.push((format!("s/prompts/script-{stored}.ai.yaml"), script));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    Place::new().with(&files)
}

#[test]
fn every_door_finds_the_provider_of_a_name() {
    let provider =
        FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Good ", "day!"])]));
    let urls = [
        ProviderApi::OpenAiChat,
        ProviderApi::Anthropic,
        ProviderApi::Gemini,
    ]
    .map(|wire| provider.base_url(wire));
    let env = [
        ("OPENAI_BASE_URL", urls[0].as_str()),
        ("ANTHROPIC_API_KEY", "sk-canary-a"),
        ("ANTHROPIC_BASE_URL", urls[1].as_str()),
        ("GEMINI_API_KEY", "sk-canary-g"),
        ("GOOGLE_GEMINI_BASE_URL", urls[2].as_str()),
    ];
    let place = place();
    let server = Running::start_with(&place, &["--store", "dir:s"], &env);
    for (name, wire) in NAMES {
        for stream in [false, true] {
            for (path, body) in doors(name, stream) {
                let before = provider.requests().len();
                let answer = post(&server.address, path, &body);
                let asked: Vec<Option<ProviderApi>> = provider.requests()[before..]
                    .iter()
                    .map(|asked| asked.wire)
                    .collect();
                let wanted: Vec<Option<ProviderApi>> =
                    wire.iter().map(|wire| Some(*wire)).collect();
                assert_eq!(asked, wanted, "{path} {body}\n{answer}");
                let mock = answer.contains("built-in mock model") || answer.contains("mock model");
                assert_eq!(mock, wire.is_none(), "{path} {body}\n{answer}");
            }
        }
    }
}

#[test]
fn every_command_finds_the_provider_of_a_name() {
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["SELECT 1"])]));
    let env = reach(&provider);
    let place = Place::new().with(&[("hi.ai.yaml", "user: Hi\n")]);
    for (name, wire) in NAMES {
        for command in [
            &["ask", "Hi"][..],
            &["run", "hi.ai.yaml"],
            &["sql", "How many orders are there?", "--db", "demo"],
        ] {
            if command[0] == "sql" && cfg!(not(feature = "sql")) {
                continue;
            }
            let mut args = command.to_vec();
            args.extend(["-m", name]);
            let before = provider.requests().len();
            let done = place.run_with(&args, "", &borrowed(&env));
            let asked = &provider.requests()[before..];
            let wires: Vec<Option<ProviderApi>> = asked.iter().map(|asked| asked.wire).collect();
            let is_right = match wire {
                // If the model's query is invalid, there is a second request.
                Some(wire) => !wires.is_empty() && wires.iter().all(|found| *found == Some(wire)),
                None => wires.is_empty(),
            };
            assert!(is_right, "{args:?}: {wires:?} {done:?}");
        }
    }
}

#[test]
fn no_door_has_the_mock_answer_for_a_real_model() {
    let place = place();
    // No provider has a key. In the second case, the mock is the default model.
    for args in [
        &["--store", "dir:s"][..],
        &["--store", "dir:s", "--model", "mock"],
    ] {
        let server = Running::start_with(&place, args, &[]);
        for (name, variable, setting) in [
            ("gpt-4o", "OPENAI_API_KEY", "model.api_key"),
            (
                "claude-sonnet-4-5",
                "ANTHROPIC_API_KEY",
                "model.anthropic_key",
            ),
            ("gemini-2.5-flash", "GOOGLE_API_KEY", "model.google_key"),
        ] {
            for (path, body) in doors(name, false) {
                let answer = post(&server.address, path, &body);
                assert!(!answer.contains("mock model"), "{path} {body}\n{answer}");
                // An error inside an MCP tool does not name the settings.
                let told = answer.contains(variable)
                    && (answer.contains(setting) || path == "/v1/response");
                assert!(told || path == "/mcp", "{path} {body}\n{answer}");
            }
        }
        let answer = post(
            &server.address,
            "/v1/chat/completions",
            r#"{"model": "mock", "messages": [{"role": "user", "content": "Hi"}]}"#,
        );
        assert!(answer.contains("built-in mock model"), "{answer}");
    }
}

#[test]
fn without_a_store_it_serves_as_a_gateway_and_says_so() {
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Good day!"])]));
    let url = provider.base_url(ProviderApi::Anthropic);
    let env = [
        ("ANTHROPIC_API_KEY", "sk-canary"),
        ("ANTHROPIC_BASE_URL", url.as_str()),
    ];
    let server = Running::start_with(&Place::new(), &[], &env);
    let said = server.notes.join("\n");
    for words in ["no store is set", "gateway", "model  anthropic at"] {
        assert!(said.contains(words), "{said}");
    }
    let body = r#"{"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "Hi"}]}"#;
    let answer = post(&server.address, "/v1/chat/completions", body);
    assert!(answer.contains("Good day!"), "{answer}");
}

#[test]
fn real_models_are_listed_and_what_they_cost_is_told() {
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Good day!"])]));
    let url = provider.base_url(ProviderApi::OpenAiChat);
    let env = [
        ("OPENAI_BASE_URL", url.as_str()),
        ("OPENAI_API_KEY", "sk-canary"),
        ("ANTHROPIC_API_KEY", "sk-canary"),
        ("QUILLET_MODEL", "gpt-4o"),
    ];
    let server = Running::start_with(&Place::new(), &[], &env);
    let listed = server.request("GET", "/v1/models", "");
    // The list contains the configured model, the models of the configured address, and the known
    // models of Anthropic.
    for id in ["gpt-4o", "fake-text-20", "claude-sonnet-4-5"] {
        assert!(
            listed.contains(&format!("\"id\":\"{id}\"")),
            "{id}: {listed}"
        );
    }
    assert_eq!(listed.matches("\"id\":\"gpt-4o\"").count(), 1, "{listed}");
    let answer = post(
        &server.address,
        "/v1/response",
        r#"{"input": {"text": "Hi"}}"#,
    );
    assert!(answer.contains("\"cost_usd\":0.0"), "{answer}");
}
