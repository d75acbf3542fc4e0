//! Ids with marks at every way in: the same version speaks wherever one is named.

use quillet_core::history::Content;
use quillet_fake_provider::{FakeProvider, Script, Turn};
use serde_json::json;

use crate::Place;
use crate::ask::{borrowed, reach};
use crate::doors::post;
use crate::serve::Running;

/// The text of a version of the prompt that is asked for.
fn text(word: &str) -> String {
    format!("{word} {{{{.variables.name}}}}")
}

/// A store in which `greet.hello` has three versions: the label `next` names the first,
/// `production` the second, and the third is the latest.
fn place() -> Place {
    let place = Place::new().with(&[
        ("1/prompts/greet/hello.json", &definition("one")),
        ("2/prompts/greet/hello.json", &definition("two")),
        ("3/prompts/greet/hello.json", &definition("three")),
        (
            "3/agents/helper.json",
            r#"{"model": "gpt-4o", "prompt": "greet.hello@1", "variables": {"name": "Ada"}}"#,
        ),
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

/// Marks, and the word of the version that each names; `None` is nobody.
fn marks() -> Vec<(String, Option<&'static str>)> {
    let first = Content::new(definition("one")).digest();
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

/// Ways in that answer with the text itself.
fn renders(id: &str) -> Vec<(String, String)> {
    let variables = json!({ "name": "Ada" });
    let body = json!({ "variables": variables }).to_string();
    // An id in a path is encoded as a client would.
    let path = id.replace(':', "%3A");
    let mcp = |params: serde_json::Value| {
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

/// Ways in that send the text to a model.
fn chats(id: &str) -> Vec<(String, String)> {
    let variables = json!({ "name": "Ada" });
    let path = id.replace(':', "%3A");
    let model = format!("prompt/{id}");
    let own = json!({"model": "gpt-4o", "variables": variables});
    vec![
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
    let provider = FakeProvider::start(Script::turns([Turn::text(["Good day!"])]));
    let place = place();
    let env = reach(&provider);
    let args = ["--store", "sqlite:s.db", "--model", "gpt-4o"];
    let server = Running::start_with(&place, &args, &borrowed(&env));
    for (mark, word) in marks() {
        let id = format!("greet.hello{mark}");
        let is_here = |found: &str, at: &str| match word {
            Some(word) => {
                assert!(found.contains(&format!("{word} Ada")), "{at} {id}\n{found}");
            }
            None => assert!(!found.contains("Ada"), "{at} {id}\n{found}"),
        };
        for (path, body) in renders(&id) {
            let answer = post(&server.address, &path, &body);
            is_here(&answer, &path);
            if word.is_none() && path.starts_with("/api") && !body.contains("template") {
                assert!(answer.starts_with("HTTP/1.1 404"), "{path} {id}\n{answer}");
                assert!(answer.contains("did you mean"), "{path} {id}\n{answer}");
            }
        }
        for (path, body) in chats(&id) {
            let before = provider.requests().len();
            let answer = post(&server.address, &path, &body);
            let asked = &provider.requests()[before..];
            let sent: String = asked
                .iter()
                .map(|asked| String::from_utf8_lossy(&asked.body).into_owned())
                .collect();
            is_here(&sent, &path);
            if word.is_none() {
                assert!(answer.starts_with("HTTP/1.1 404"), "{path} {id}\n{answer}");
            }
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
