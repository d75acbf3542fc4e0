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
        "variables.nmae is not among the prompt's parameters",
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
        "no shared variable vscode.lnag is set",
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
        "{{.name}} is how go writes it; this template is jinja",
        "write {{ name }}, or set the format to go",
    ] {
        assert!(done.out.contains(part), "{part:?} is not in:\n{}", done.out);
    }
    assert!(done.err.contains("1 warning"), "{}", done.err);
    assert!(!done.out.contains("b.tmpl"), "{}", done.out);
}
