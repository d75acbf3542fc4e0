//! The OpenAPI document in third-party tools: `openapi-spec-validator` checks it against the
//! standard, and `schemathesis` sends valid and invalid requests to the server.

use std::path::PathBuf;
use std::process::Command;

use crate::Place;
use crate::serve::Running;

/// Path of a tool installed by `scripts/openapi-tools`.
fn tool(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let target = here.ancestors().nth(3).unwrap();
    let path = target.join("openapi-tools/venv/bin").join(name);
    assert!(
        path.exists(),
        "{} is missing: run scripts/openapi-tools first",
        path.display()
    );
    path
}

fn document(server: &Running) -> String {
    let answer = server.request("GET", "/openapi.json", "");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

fn run(command: &mut Command) {
    let ended = command.output().unwrap();
    let said =
        [&ended.stdout, &ended.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(ended.status.success(), "{}", said.concat());
}

#[test]
fn the_document_is_valid_with_and_without_tokens() {
    for tokens in ["", "one,two"] {
        let place = Place::new();
        let server = Running::start_with(&place, &["--demo"], &[("QUILLET_TOKENS", tokens)]);
        let text = document(&server);
        let file = place.0.join("openapi.json");
        std::fs::write(&file, &text).unwrap();
        run(Command::new(tool("openapi-spec-validator")).arg(&file));

        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let has_scheme = document
            .pointer("/components/securitySchemes/token")
            .is_some();
        assert_eq!(has_scheme, !tokens.is_empty());
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let at = format!("{method} {path}");
                for (status, response) in operation["responses"].as_object().unwrap() {
                    let said = response["description"].as_str().unwrap_or_default();
                    assert!(!said.is_empty(), "{at}: {status} says nothing");
                }
                for parameter in operation["parameters"].as_array().into_iter().flatten() {
                    let name = format!("{{{}}}", parameter["name"].as_str().unwrap());
                    let place = if path.contains(&name) {
                        "path"
                    } else {
                        "query"
                    };
                    assert_eq!(parameter["in"], place, "{at}: {name}");
                }
                let body = operation.pointer("/requestBody/content/application~1json");
                assert!(
                    body.is_none_or(|body| body.get("example").is_some()),
                    "{at}: no example"
                );
            }
        }
    }
}

/// The generated requests are the same in every run.
#[test]
fn the_server_does_what_its_document_says() {
    // The database examples in the document refer to this file.
    let place = Place::new().with(&[("shop.db", "")]);
    let server = Running::start(&place, &["--demo"]);
    let url = format!("http://{}/openapi.json", server.address);
    let mut command = Command::new(tool("schemathesis"));
    command.current_dir(&place.0);
    command.args([
        "run",
        &url,
        "--max-examples",
        "10",
        "--seed",
        "7",
        "--no-color",
    ]);
    if !cfg!(feature = "mcp") {
        // Without the feature, this route responds with a server error.
        command.args(["--exclude-path", "/mcp"]);
    }
    command.args([
        "--phases",
        "examples,coverage,fuzzing",
        "--generation-database",
        "none",
    ]);
    command.args(["--checks", "not_a_server_error,status_code_conformance"]);
    command.args([
        "--checks",
        "content_type_conformance,response_schema_conformance",
    ]);
    command.args(["--request-timeout", "20"]);
    run(&mut command);
}
