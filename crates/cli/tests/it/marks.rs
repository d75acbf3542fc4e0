//! Version selectors select the same version in every API and command.

use quillet_core::history::DefinitionContent;
use quillet_fake_provider::{FakeProvider, RecordedRequest, ReplyScript, ScriptedReply};
use serde_json::{Value, json};

use crate::Place;
use crate::ask::{borrowed, reach};
use crate::doors::post;
use crate::serve::Running;

/// Returns the text of the prompt's version.
fn text(word: &str) -> String {
    format!("{word} {{{{.variables.name}}}}")
}

/// Creates a store in which `greet.hello` has three versions. The label `next` points to the first
/// and `production` to the second, and the third is the latest.
/// `production` the second, and the third is the latest.
fn place() -> Place {
    let place = Place::new().with(&[
        ("1/prompts/greet/hello.json", &definition("one")),
        ("2/prompts/greet/hello.json", &definition("two")),
        ("3/prompts/greet/hello.json", &definition("three")),
    ]);
    let store = ["--store", "sqlite:s.db"];
    let run = |args: &[&str]| {
        let done = place.run(&[args, &store].concat());
        assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
    };
    for folder in ["1", "2", "3"] {
        run(&["push", folder]);
    }
    run(&["label", "greet.hello@1", "next"]);
    run(&["label", "greet.hello@2", "production"]);
    place
}

fn definition(word: &str) -> String {
    json!({ "userPrompt": text(word) }).to_string()
}

/// Selectors with the expected version's word; `None` if no version matches.
fn marks() -> Vec<(String, Option<&'static str>)> {
    let first = DefinitionContent::new(definition("one")).digest();
    let marks = [
        ("", Some("two")),
        ("@latest", Some("three")),
        ("@production", Some("two")),
        ("@next", Some("one")),
        ("@1", Some("one")),
        ("@3", Some("three")),
        ("@9", None),
        ("@nxt", None),
        ("@sha256:0123456789", None),
    ];
    let mut all: Vec<(String, Option<&str>)> =
        marks.map(|(mark, word)| (mark.to_owned(), word)).to_vec();
    all.push((format!("@sha256:{first}"), Some("one")));
    all.push((format!("@sha256:{}", &first.to_string()[..12]), Some("one")));
    all
}

/// Requests that return the rendered text.
fn renders(id: &str) -> Vec<(String, String)> {
    let variables = json!({ "name": "Ada" });
    let body = json!({ "variables": variables }).to_string();
    // An id in a path is encoded as by a client.
    let path = id.replace(':', "%3A");
    let mcp = |params: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": params}).to_string()
    };
    let inline = format!("{{{{template {id:?} .}}}}");
    let mut all = vec![
        (format!("/api/render/prompts/{path}"), body.clone()),
        (format!("/api/v1/render/prompts/{path}"), body.clone()),
        (format!("/api/prompts/{path}/render"), body),
        (
            "/api/render".to_owned(),
            json!({"prompt_id": id, "variables": variables}).to_string(),
        ),
        (
            "/api/render".to_owned(),
            json!({"template": inline, "variables": variables}).to_string(),
        ),
        (
            "/mcp".to_owned(),
            mcp(json!({"name": id, "arguments": variables})),
        ),
    ];
    if cfg!(not(feature = "mcp")) {
        all.retain(|(path, _)| path != "/mcp");
    }
    all
}

/// Definitions that refer to the version: an agent with the prompt as its instructions, and a
/// script that calls it.
fn callers(number: usize, id: &str) -> [(String, String); 2] {
    let agent = json!({"model": "gpt-4o", "prompt": id, "variables": {"name": "Ada"}});
    let script = format!("- -> prompt/{id}(name=\"Ada\")\n");
    [
        (format!("4/agents/a{number}.json"), agent.to_string()),
        (format!("4/prompts/s{number}.ai.yaml"), script),
    ]
}

/// Answers the question, after calling a tool if one is offered.
fn answer(asked: &RecordedRequest) -> ScriptedReply {
    let body = asked.json();
    let has_result = body.to_string().contains(r#""role":"tool""#);
    match body["tools"][0]["function"]["name"].as_str() {
        Some(name) if !has_result => ScriptedReply::call(name, [r#"{"name": "Ada"}"#]),
        _ => ScriptedReply::text(["Good day!"]),
    }
}

/// Requests in which an agent or a script uses the version. They have different errors for a
/// missing version.
fn uses(number: usize, id: &str) -> Vec<(String, String)> {
    let question = json!([{"role": "user", "content": "Hi"}]);
    let tool = json!({
        "model_config": {"model_id": "gpt-4o", "model": "openai"},
        "input": {"text": "Hi"},
        "tools": {"builtin": {format!("prompt/{id}"): {}}},
    });
    vec![
        ("/v1/response".to_owned(), tool.to_string()),
        (
            "/v1/chat/completions".to_owned(),
            json!({"model": format!("agent/a{number}"), "messages": question}).to_string(),
        ),
        (
            format!("/api/chat/prompts/s{number}"),
            json!({"model": "gpt-4o"}).to_string(),
        ),
    ]
}

/// Requests that send the text to a model.
fn chats(id: &str) -> Vec<(String, String)> {
    let variables = json!({ "name": "Ada" });
    let path = id.replace(':', "%3A");
    let model = format!("prompt/{id}");
    let own = json!({"model": "gpt-4o", "variables": variables});
    let (base, mark) = id.split_once('@').unwrap_or((id, ""));
    let mut named = json!({"id": base, "variables": variables});
    let mut beside = json!({"model": "gpt-4o", "prompt_id": base, "prompt_variables": variables});
    if !mark.is_empty() {
        named["version"] = mark.into();
        beside["prompt_label"] = mark.into();
    }
    vec![
        (
            "/v1/responses".to_owned(),
            json!({"model": "gpt-4o", "prompt": named}).to_string(),
        ),
        ("/v1/chat/completions".to_owned(), beside.to_string()),
        (
            "/v1/chat/completions".to_owned(),
            json!({"model": "gpt-4o", "prompt_id": id, "prompt_variables": variables}).to_string(),
        ),
        (format!("/api/chat/prompts/{path}"), own.to_string()),
        (format!("/api/prompts/{path}/chat"), own.to_string()),
        (
            "/v1/chat/completions".to_owned(),
            json!({"model": model, "messages": [], "variables": variables}).to_string(),
        ),
        (
            "/v1/responses".to_owned(),
            json!({"model": model, "input": "Hi", "variables": variables}).to_string(),
        ),
    ]
}

#[test]
fn every_way_in_gives_the_version_that_a_mark_names() {
    let provider = FakeProvider::start(ReplyScript::function(answer));
    let all = marks().into_iter().enumerate();
    let files = all.flat_map(|(number, (mark, _))| callers(number, &format!("greet.hello{mark}")));
    let files: Vec<(String, String)> = files.collect();
    let borrowed_files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let place = place().with(&borrowed_files);
    let pushed = place.run(&["push", "4", "--broken", "--store", "sqlite:s.db"]);
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    let env = reach(&provider);
    let args = ["--store", "sqlite:s.db", "--model", "gpt-4o"];
    let server = Running::start_with(&place, &args, &borrowed(&env));
    for (number, (mark, word)) in marks().into_iter().enumerate() {
        let id = format!("greet.hello{mark}");
        let is_here = |found: &str, at: &str| match word {
            Some(word) => {
                assert!(found.contains(&format!("{word} Ada")), "{at} {id}\n{found}");
            }
            None => {
                for word in ["one", "two", "three"] {
                    let text = format!("{word} Ada");
                    assert!(!found.contains(&text), "{at} {id}\n{found}");
                }
            }
        };
        for (path, body) in renders(&id) {
            let answer = post(&server.address, &path, &body);
            is_here(&answer, &path);
            if word.is_none() && path.starts_with("/api") && !body.contains("template") {
                assert!(answer.starts_with("HTTP/1.1 404"), "{path} {id}\n{answer}");
                assert!(answer.contains("did you mean"), "{path} {id}\n{answer}");
            }
        }
        // Returns the model's request and the client's response.
        let ask = |path: &str, body: &str| {
            let before = provider.requests().len();
            let answer = post(&server.address, path, body);
            let asked = provider.requests();
            let sent = asked[before..]
                .iter()
                .map(|asked| String::from_utf8_lossy(&asked.body).into_owned());
            (sent.collect::<String>(), answer)
        };
        for (path, body) in chats(&id) {
            let (sent, answer) = ask(&path, &body);
            is_here(&sent, &path);
            if word.is_none() {
                assert!(answer.starts_with("HTTP/1.1 404"), "{path} {id}\n{answer}");
            }
        }
        for (path, body) in uses(number, &id) {
            let (sent, answer) = ask(&path, &body);
            // The output of the script contains the prompt that it called.
            is_here(&format!("{sent}{answer}"), &format!("{path} {body}"));
        }
        let done = place.run(&["render", &id, "-D", "name=Ada", "--store", "sqlite:s.db"]);
        is_here(&done.out, "render");
        assert_eq!(done.code == Some(0), word.is_some(), "{id} {done:?}");
    }
}

#[test]
fn answers_and_traces_say_the_version() {
    let place = place();
    let server = Running::start(&place, &["--store", "sqlite:s.db", "--model", "mock"]);
    for (mark, version) in [("", "2"), ("@latest", "3"), ("@next", "1"), ("@1", "1")] {
        let body = r#"{"variables": {"name": "Ada"}, "explain": true}"#;
        for path in ["/api/render/prompts", "/api/chat/prompts"] {
            let path = format!("{path}/greet.hello{mark}");
            let answer = post(&server.address, &path, body);
            let header = format!("quillet-version: {version}\r\n");
            assert!(answer.contains(&header), "{path}\n{answer}");
            let number = format!(r#""number":{version}"#);
            if path.contains("render") && version != "3" {
                assert!(answer.contains(&number), "{path}\n{answer}");
            }
        }
    }
    let metrics = server.request("GET", "/metrics", "");
    for id in ["greet.hello", "greet.hello@next", "greet.hello@1"] {
        assert!(metrics.contains(&format!("{id:?}")), "{id}\n{metrics}");
    }
}
