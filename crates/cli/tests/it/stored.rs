//! `quillet prompt|tool|var|ext`.

use std::fs;

use crate::Place;

#[test]
fn entries_are_written_listed_shown_and_removed() {
    let place = Place::new().with(&[
        ("hello.gotmpl", "Hello {{.variables.name}}"),
        (
            "ext.json",
            r#"{"name": "e", "contributes": {"prompts": [{"name": "p", "userPrompt": "x"}]}}"#,
        ),
        (
            "tool.yaml",
            "type: restful\nurl: http://127.0.0.1:1/\nparameters: {type: object, properties: {}}\n",
        ),
        ("s/prompts/.keep", ""),
    ]);
    let run = |args: &[&str]| place.run_with(args, "", &[("QUILLET_STORE", "dir:s")]);
    let written = run(&["prompt", "add", "greet.hello", "hello.gotmpl"]);
    assert_eq!(
        (written.code, written.out.as_str()),
        (Some(0), ""),
        "{written:?}"
    );
    assert!(
        written.err.contains("prompt greet.hello written to"),
        "{written:?}"
    );
    for (args, code) in [
        (&["ext", "add", "e", "ext.json"][..], Some(0)),
        (&["tool", "add", "m.f", "tool.yaml"], Some(0)),
        (&["var", "add", "vscode.lang", "go"], Some(0)),
        (&["var", "add", "vscode.tabs", "[1, 2]"], Some(0)),
    ] {
        let done = run(args);
        assert_eq!(done.code, code, "{args:?}: {done:?}");
    }
    run(&["prompt", "list"]).gives("e.p\ngreet.hello\n");
    run(&["ext", "list"]).gives("e\n");
    run(&["tool", "list"]).gives("m.f\n");
    run(&["var", "list"]).gives("vscode.lang\nvscode.tabs\n");
    run(&["var", "get", "vscode.lang"]).gives("\"go\"\n");
    assert!(
        run(&["prompt", "get", "greet.hello"])
            .out
            .contains("Hello {{.variables.name}}")
    );
    assert!(
        run(&["prompt", "get", "e.p"])
            .out
            .contains("\"userPrompt\": \"x\"")
    );
    run(&["render", "greet.hello", "-D", "name=Ada"]).gives("Hello Ada");
    let removed = run(&["var", "rm", "vscode.lang"]);
    assert_eq!((removed.code, removed.out.as_str()), (Some(0), ""));
    run(&["var", "list"]).gives("vscode.tabs\n");
    run(&["var", "rm", "vscode.tbas"]).fails(
        1,
        &[
            "\"vscode.tbas\" does not exist",
            "did you mean \"vscode.tabs\"?",
        ],
    );
    run(&["prompt", "get", "greet.helo"]).fails(1, &["did you mean \"greet.hello\"?"]);
}

#[test]
fn what_is_broken_is_not_written_unless_it_is_forced() {
    let place = Place::new().with(&[
        ("bad.gotmpl", "a\n{{if"),
        ("late.gotmpl", "{{lookup 1}}"),
        ("s/prompts/.keep", ""),
    ]);
    let run = |args: &[&str]| place.run_with(args, "", &[("QUILLET_STORE", "dir:s")]);
    run(&["prompt", "add", "bad", "bad.gotmpl"])
        .fails(3, &["bad.gotmpl:2:", "nothing was written", "--force"]);
    run(&["prompt", "list"]).gives("");
    assert_eq!(
        run(&["prompt", "add", "bad", "bad.gotmpl", "--force"]).code,
        Some(0)
    );
    let list = run(&["prompt", "list"]);
    assert_eq!((list.code, list.out.as_str()), (Some(0), "bad\n"));
    assert!(list.err.contains("bad is invalid"), "{list:?}");
    let list: serde_json::Value =
        serde_json::from_str(&run(&["prompt", "list", "--json"]).out).unwrap();
    assert_eq!(
        (list[0]["id"].as_str(), list[0]["status"].as_str()),
        (Some("bad"), Some("invalid"))
    );
    let late = run(&["prompt", "add", "late", "late.gotmpl"]);
    assert_eq!(late.code, Some(0), "{late:?}");
    assert!(
        late.err
            .contains("warning: function \"lookup\" is not defined"),
        "{late:?}"
    );
    for id in ["", "a b", "a..b", "../x"] {
        let done = run(&["prompt", "add", id, "bad.gotmpl", "--force"]);
        assert_ne!(done.code, Some(0), "{id}");
    }
    assert!(
        fs::read_dir(place.path())
            .unwrap()
            .flatten()
            .all(|entry| entry.file_name() != "x.json")
    );
}
