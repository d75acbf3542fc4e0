//! `quillet check`.

use crate::Place;

#[test]
fn what_is_right_says_so_on_standard_error() {
    let place = Place::new().with(&[
        ("a.tmpl", "Hello {{.name}}"),
        ("b.j2", "{{ name }}"),
        ("notes.txt", "{{"),
    ]);
    let done = place.run(&["check", "."]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{done:?}");
    assert!(
        done.err
            .contains("2 definitions checked: 0 errors, 0 warnings"),
        "{done:?}"
    );
}

#[test]
fn what_is_wrong_in_a_config_is_shown_in_that_file() {
    let config = "{\n \"completion\": {},\n \"input_variables\": 7\n}\n";
    let place = Place::new().with(&[
        ("joke/skprompt.txt", "One line, and no more of them.\n"),
        ("joke/config.json", config),
    ]);
    for what in ["check", "render"] {
        let done = place.run(&[what, "joke/skprompt.txt"]);
        assert_eq!(done.code, Some(3), "{done:?}");
        let told = format!("{}{}", done.out, done.err);
        for part in [
            "input_variables must be a list, not a number",
            "joke/config.json:3:21",
            "\"input_variables\": 7",
        ] {
            assert!(told.contains(part), "{what}: {part:?} is not in:\n{told}");
        }
        assert!(!told.contains("One line"), "{what}:\n{told}");
    }
}

#[test]
fn everything_that_is_wrong_has_a_place() {
    let place = Place::new().with(&[
        ("a.tmpl", "Hello\n{{.name"),
        ("b.gotmpl", "{{lookup .x}}"),
        (
            "sub/c.json",
            r#"{"messages": [{"role": "usr", "content": "x"}]}"#,
        ),
        (
            "sub/d.yaml",
            "userPrompt: '{{.variables.nmae}}'\nparameters:\n  - {name: name, type: string}\n",
        ),
        ("e.json", "{\"a\": 1}"),
        ("f.yaml", "a: [1"),
    ]);
    let done = place.run(&["check", "."]);
    assert_eq!(done.code, Some(3), "{done:?}");
    for part in [
        "a.tmpl:2:",
        "unclosed action",
        "b.gotmpl:1:3",
        "function \"lookup\" is not defined",
        "sub/c.json",
        "unknown role \"usr\"",
        "variables.nmae is not a parameter of the prompt",
        "did you mean name?",
        "f.yaml",
        "^^^",
    ] {
        assert!(done.out.contains(part), "{part:?} is not in:\n{}", done.out);
    }
    assert!(
        done.err.contains("5 definitions checked: 5 errors"),
        "{}",
        done.err
    );
    let done = place.run(&["check", "--json", "b.gotmpl"]);
    let list: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        (
            done.code,
            list[0]["line"].as_u64(),
            list[0]["column"].as_u64()
        ),
        (Some(3), Some(1), Some(3))
    );
}

#[test]
fn a_folder_that_is_a_store_knows_its_own_names() {
    let place = Place::new().with(&[
        ("prompts/p.gotmpl", "{{.vscode.lnag}} {{.vscode.lang}} {{code_find .vscode.lang}} {{code_fnid 1}}"),
        ("environs/vscode/lang.json", "\"go\""),
        (
            "tools/code/find.json",
            r#"{"type": "restful", "url": "http://127.0.0.1:1/", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}"#,
        ),
    ]);
    let done = place.run(&["check", "."]);
    assert_eq!(done.code, Some(3), "{done:?}");
    for part in [
        "function \"code_fnid\" is not defined",
        "did you mean code_find?",
        "the shared variable vscode.lnag is not set",
        "did you mean vscode.lang?",
    ] {
        assert!(done.out.contains(part), "{part:?} is not in:\n{}", done.out);
    }
    assert!(!done.out.contains("\"code_find\""), "{}", done.out);
    assert!(done.err.contains("1 error, 1 warning"), "{}", done.err);
    let stored = place.run(&["check", "--store", "dir:."]);
    assert_eq!((stored.code, stored.out), (Some(3), done.out));
}

#[test]
fn what_is_not_there_is_a_failure() {
    Place::new()
        .run(&["check", "nothing.tmpl"])
        .fails(1, &["nothing.tmpl: No such file"]);
}

#[test]
fn braces_that_mean_something_else_are_pointed_out() {
    let place = Place::new().with(&[
        ("a.j2", "Hi {{ .name }}"),
        ("b.tmpl", "Answer as {\"name\": {{.name}}}"),
    ]);
    let done = place.run(&["check", "."]);
    assert_eq!(done.code, Some(3), "{done:?}");
    for part in [
        "a.j2:1:4",
        "{{.name}} is go syntax, but the template format is jinja",
        "write {{ name }}, or set the format to go",
    ] {
        assert!(done.out.contains(part), "{part:?} is not in:\n{}", done.out);
    }
    assert!(done.err.contains("1 warning"), "{}", done.err);
    assert!(!done.out.contains("b.tmpl"), "{}", done.out);
}

/// Creates something at a path that is not a readable text file.
#[cfg(unix)]
fn put_odd(path: &std::path::Path, what: &str) {
    use std::os::unix::{fs::symlink, net::UnixListener};
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    match what {
        "pipe" => {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        }
        "socket" => drop(UnixListener::bind(path).unwrap()),
        "latin" => std::fs::write(path, b"caf\xe9 {{.x}}").unwrap(),
        "device" => symlink("/dev/zero", path).unwrap(),
        "parent" => symlink("..", path).unwrap(),
        "nowhere" => symlink("nowhere", path).unwrap(),
        other => panic!("{other}"),
    }
}

/// An unreadable file causes one error with its name, and all other files are still checked.
#[cfg(unix)]
#[test]
fn odd_files_end_no_check_and_hide_no_other_file() {
    let not_utf8 = "invalid UTF-8 at byte offset 3";
    let cases = [
        // The argument is a folder that is not a store.
        ("a.tmpl", "latin", "", not_utf8),
        ("a.json", "latin", "", not_utf8),
        ("a.ai.yaml", "latin", "", not_utf8),
        ("a.fixture.yaml", "latin", "", not_utf8),
        ("a.yaml", "pipe", "", "not a regular file"),
        ("a.tmpl", "socket", "", "not a regular file"),
        ("a.tmpl", "device", "", "not a regular file"),
        ("a.tmpl", "nowhere", "", "No such file"),
        // A store.
        (
            "prompts/a.json",
            "pipe",
            "prompts/b.tmpl",
            "a named pipe, not a regular file",
        ),
        (
            "prompts/a.tmpl",
            "socket",
            "prompts/b.tmpl",
            "a socket, not a regular file",
        ),
        (
            "tools/a.json",
            "pipe",
            "prompts/b.tmpl",
            "a named pipe, not a regular file",
        ),
        ("prompts/a.tmpl", "latin", "prompts/b.tmpl", not_utf8),
        ("prompts/a.ai.yaml", "latin", "prompts/b.tmpl", not_utf8),
        ("prompts/a.prompty", "latin", "prompts/b.tmpl", not_utf8),
        (
            "prompts/a/skprompt.txt",
            "latin",
            "prompts/b.tmpl",
            not_utf8,
        ),
        ("prompts/a.tmpl", "device", "prompts/b.tmpl", "leads out"),
        ("environs/a.json", "latin", "prompts/b.tmpl", not_utf8),
        (
            "environs/a.json",
            "pipe",
            "prompts/b.tmpl",
            "a named pipe, not a regular file",
        ),
    ];
    for (path, what, beside, message) in cases {
        let beside = if beside.is_empty() { "b.tmpl" } else { beside };
        let place = Place::new().with(&[(beside, "{{if")]);
        put_odd(&place.path().join(path), what);
        let done = place.run(&["check", "."]);
        assert_eq!(done.code, Some(3), "{path} {what}: {done:?}");
        for part in [path, message, beside] {
            assert!(
                done.out.contains(part),
                "{path} {what}: {part:?} is not in {done:?}"
            );
        }
        assert!(done.err.contains("2 errors"), "{path} {what}: {done:?}");
    }
}

/// Test files beside scripts are not prompts, and each folder is checked once.
#[cfg(unix)]
#[test]
fn a_store_has_only_its_definitions() {
    let place = Place::new().with(&[
        ("prompts/greet.ai.yaml", "user: Hi\n"),
        (
            "prompts/greet.fixture.yaml",
            "---\ninput: {a: 1}\n---\n- title: t\n",
        ),
        ("prompts/greet.fixture.yml", "- title: t\n"),
        ("prompts/greet.snapshots/greet.1.md", "# request"),
        ("prompts/greet.snapshots/data.json", "[1]"),
        ("prompts/sub/p.tmpl", "text"),
    ]);
    put_odd(&place.path().join("prompts/sub/up"), "parent");
    put_odd(&place.path().join("prompts/up"), "parent");
    let done = place.run(&["check", "."]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{done:?}");
    assert!(done.err.contains("2 definitions checked"), "{done:?}");
    let listed = place.run(&["prompt", "list", "--store", "dir:."]);
    assert_eq!(
        (listed.out.as_str(), listed.err.as_str()),
        ("greet\nsub.p\n", "")
    );
}

#[test]
fn parameters_that_a_model_refuses_are_warned_of_where_they_are_set() {
    let place = Place::new().with(&[
        (
            "a.prompt",
            "---\nmodel: claude-opus-5-5\nconfig:\n  temperature: 0.2\n  topP: 0.9\n---\nHi\n",
        ),
        (
            "b.json",
            r#"{"messages": [{"role": "user", "content": "Hi"}], "model": "gpt-6-sol", "options": {"topP": 1}}"#,
        ),
        (
            "c.ai.yaml",
            "---\nparameters:\n  model: openai://gpt-6-sol\n  temperature: 0.2\n---\n- user: hi\n",
        ),
        (
            "agents/d.yaml",
            "model: anthropic/claude-sonnet-5\ninstructions: Hi\noptions: {temperature: 0.2}\n",
        ),
        (
            "old.prompt",
            "---\nmodel: claude-opus-4-6\nconfig:\n  temperature: 0.2\n---\nHi\n",
        ),
        (
            "anyway.prompt",
            "---\nmodel: claude-opus-5-5\nconfig:\n  extra_body: {temperature: 0.2}\n---\nHi\n",
        ),
    ]);
    for (file, parts) in [
        (
            "a.prompt",
            [
                "a.prompt:4:3",
                "the model claude-opus-5-5 does not accept temperature and top_p, so Quillet does not send them",
                "remove temperature and top_p",
            ],
        ),
        (
            "b.json",
            [
                "b.json:1:86",
                "the model gpt-6-sol does not accept top_p",
                "remove top_p",
            ],
        ),
        (
            "c.ai.yaml",
            [
                "c.ai.yaml:4:3",
                "the model openai://gpt-6-sol does not accept temperature",
                "move it to extra_body",
            ],
        ),
        (
            ".",
            [
                "agents/d.yaml",
                "the model anthropic/claude-sonnet-5 does not accept temperature",
                "remove temperature",
            ],
        ),
    ] {
        let done = place.run(&["check", file]);
        assert_eq!(done.code, Some(0), "{done:?}");
        for part in parts {
            assert!(done.out.contains(part), "{part:?} is not in:\n{}", done.out);
        }
        assert!(done.err.contains("0 errors, 1 warning"), "{done:?}");
    }
    for file in ["old.prompt", "anyway.prompt"] {
        let done = place.run(&["check", file]);
        assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{file}");
    }
}
