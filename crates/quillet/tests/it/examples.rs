//! The programs of `examples/` run and print the expected output.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use quillet_test_support::RedisServer;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A program of `examples/`, built together with the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap();
    let program = built.join("examples").join(name);
    assert!(
        program.is_file(),
        "examples are built with `cargo build -p quillet --all-features --examples`: there is no {}",
        program.display()
    );
    program
}

/// Its output, offline and with only the mock configured.
fn run(name: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(example(name));
    for (variable, _) in std::env::vars_os() {
        let text = variable.to_string_lossy().into_owned();
        if text.starts_with("QUILLET_") || text.ends_with("_API_KEY") {
            command.env_remove(variable);
        }
    }
    let done = command
        .args(arguments)
        .env("QUILLET_MODEL", "mock")
        .output()
        .unwrap();
    let (out, said) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    assert!(done.status.success(), "{name}: {out}{said}");
    out.into_owned()
}

#[test]
fn each_shows_what_it_is_there_for() {
    let cases: &[(&str, &[&str])] = &[
        ("render", &["Hello Ada!", "Ada, welcome back.", "Bob."]),
        ("messages", &["<|user|>\nHi</s>\n<|assistant|>"]),
        (
            "convert",
            &["go: {{range", "mustache: list:1:16: mustache has no index"],
        ),
        (
            "six_formats",
            &["f-string", "semantic-kernel", "rain in Oslo"],
        ),
        ("custom_format", &["2 calls"]),
        (
            "prompts",
            &["system: You work for Quill & Co.\nuser: Greet Ada."],
        ),
        ("chat", &["mock model", "welcomes Ada to Go."]),
        ("tool", &["go: 18° in Oslo", "jinja: 18° in Oslo"]),
        (
            "agent",
            &["The tool prompt_hello answered", "2 calls of the model"],
        ),
        ("script", &["\"translation\"", "1 calls of the model"]),
        ("database", &["FROM main.customers", "20 rows"]),
        ("serve", &["/api/prompts\n200 OK"]),
    ];
    let mut wrong = String::new();
    for (name, parts) in cases {
        let out = run(name, &[]);
        for part in parts.iter().filter(|part| !out.contains(**part)) {
            writeln!(wrong, "{name}: {part:?} is not in\n{out}").unwrap();
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn ten_lines_reach_redis_a_model_and_a_script() {
    let server = RedisServer::start();
    let text = r#"{"prompt": "Greet {{.variables.name}}."}"#;
    server.cli(&["SET", "shenma:templates:greet:hello", text]);
    let out = run("redis", &[&server.url()]);
    for part in ["Greet Ada.\n", "mock model", "translation"] {
        assert!(out.contains(part), "{part:?} is not in\n{out}");
    }
}

/// Each example fits on about one screen; the custom format is longer, because it is a complete
/// small engine.
#[test]
fn each_fits_a_screen() {
    let files = std::fs::read_dir(root().join("examples")).unwrap();
    let mut count = 0;
    for file in files.map(|file| file.unwrap().path()) {
        if file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let most = if name == "custom_format" { 180 } else { 60 };
        assert!(lines <= most, "{name} has {lines} lines");
        // An unregistered example would not be built.
        example(&name);
        count += 1;
    }
    assert!(count >= 12, "{count} examples");
}
