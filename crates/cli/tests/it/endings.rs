//! Retired models cause a warning wherever they are used, but never an error. Their retirement
//! dates are in the past, so the tests do not depend on the current date.

use crate::Place;

const ENDED: &str = "ended on 2026-10-23";
const HELP: &str = "name another model, such as gpt-5.6-sol";

#[test]
fn a_file_that_names_a_model_that_has_ended_is_warned_of() {
    for (path, text, place) in [
        (
            "hello.prompt",
            "---\nmodel: openai/gpt-4-turbo\n---\nHello\n",
            "hello.prompt:2:8",
        ),
        (
            "hello.prompty",
            "---\nname: hello\nmodel:\n  id: gpt-4-turbo-2024-04-09\n---\nuser:\nHello\n",
            "hello.prompty:4:7",
        ),
        (
            "prompts/hello.json",
            r#"{"userPrompt": "Hello", "model": "gpt-4"}"#,
            "hello.json:1:35",
        ),
        (
            "agents/helper.json",
            r#"{"model": "o1", "instructions": "You help."}"#,
            "helper.json:1:12",
        ),
        (
            "hello.ai.yaml",
            "---\nparameters:\n  model: openai://gpt-4-turbo\n---\n- user: Hello\n",
            "hello.ai.yaml:3:10",
        ),
    ] {
        let place_of = Place::new().with(&[(path, text)]);
        let folder = path.split_once('/').map_or(path, |_| ".");
        let done = place_of.run(&["check", folder]);
        assert_eq!(done.code, Some(0), "{path}: {done:?}");
        for part in [ENDED, HELP, place] {
            assert!(
                done.out.contains(part),
                "{path}: {part:?} is not in {done:?}"
            );
        }
        assert!(done.err.contains("0 errors, 1 warning"), "{done:?}");
    }
    let living = "---\nmodel: mock\n---\nHello\n";
    let done = Place::new()
        .with(&[("hello.prompt", living)])
        .run(&["check", "hello.prompt"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{done:?}");
}

#[test]
fn the_doctor_warns_of_what_the_store_and_the_settings_name() {
    let place = Place::new().with(&[
        (
            "s/prompts/hello.json",
            r#"{"userPrompt": "Hello", "model": "gpt-4-turbo"}"#,
        ),
        (
            "s/prompts/fine.json",
            r#"{"userPrompt": "Hello", "model": "mock"}"#,
        ),
        (
            "s/agents/helper.json",
            r#"{"model": "o1", "instructions": "You help."}"#,
        ),
    ]);
    let env = [
        ("QUILLET_STORE", "dir:s"),
        ("QUILLET_LISTEN", "127.0.0.1:0"),
        ("QUILLET_MODEL", "openai/gpt-4"),
        ("QUILLET_SQL_MODEL", "o3-mini"),
        ("OPENAI_API_KEY", "sk-canary"),
    ];
    let done = place.run_with(&["doctor", "--offline"], "", &env);
    assert_eq!(done.code, Some(0), "{done:?}");
    let warned = done.out.lines().filter(|line| line.contains(ENDED));
    let warned: Vec<&str> = warned
        .filter_map(|line| line.split(" ended").next())
        .collect();
    let expected = [
        "warn  prompt   hello: the model gpt-4-turbo",
        "warn  agent    helper: the model o1",
        "warn  model    model.name: the model openai/gpt-4",
        "warn  model    sql.model: the model o3-mini",
    ];
    assert_eq!(warned, expected, "{}", done.out);
}

#[test]
fn models_that_have_ended_are_shown_when_asked_for_and_not_listed() {
    let place = Place::new();
    let done = place.run(&["models", "gpt-4-turbo"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("ends       2026-10-23"), "{}", done.out);
    let warning = format!("warning: the model gpt-4-turbo {ENDED}; {HELP}");
    assert!(done.err.contains(&warning), "{}", done.err);

    let done = place.run(&["models", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert!(listed["facts"]["day"].is_string(), "{}", listed["facts"]);
    let named = |name: &str| {
        let models = listed["models"].as_array().unwrap().iter();
        models.filter(|model| model["model"] == name).count()
    };
    let names = [
        "gpt-4-turbo",
        "claude-3-opus",
        "mock",
        "ft:gpt-4-0613",
        "gpt-",
    ];
    assert_eq!(names.map(named), [0, 0, 1, 0, 0]);
}
