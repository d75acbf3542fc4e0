//! Messages about common mistakes include the subject, the location and the fix.

use quillet_fake_provider::{
    ErrorResponse, FakeProvider, InjectedFault, ReplyScript, ScriptedReply,
};

use crate::Place;
use crate::ask::{borrowed, reach};

const FILES: &[(&str, &str)] = &[
    ("p.md", "Hi {{ name }}"),
    ("p.txt", "Hi {{ name }}"),
    ("p.liquid", "Hi {{ name }}"),
    ("b.fstring", "x {\"a\": 1}"),
    ("s.ai.yaml", "user: hi\n"),
    ("folder/a.txt", ""),
    (
        "support.prompty",
        "---\nname: s\ninputs:\n  question:\n    type: string\n    required: true\n---\nsystem:\nAnswer {{question}}\n",
    ),
    (
        "st/prompts/a.json",
        r#"{"userPrompt": "Hi {{.variables.name}} in {{.variables.language}}"}"#,
    ),
    ("plain.tmpl", "Hi {{.name}} in {{.language}}"),
    ("two.yaml", "userPrompt: a\n---\nuserPrompt: b\n"),
    (
        "two/prompts/two.yaml",
        "userPrompt: a\n---\nuserPrompt: b\n",
    ),
    ("empty.toml", "[server]\nlisten = \n"),
    ("bad.json", "{\"messages\":"),
];

#[test]
fn mistakes_are_answered_with_what_mends_them() {
    let place = Place::new().with(FILES);
    std::fs::write(place.path().join("bytes.tmpl"), b"ab\xff").unwrap();
    let rows: &[(i32, &[&str], &[&str])] = &[
        (
            3,
            &["check", "bytes.tmpl", "plain.tmpl"],
            &[
                "bytes.tmpl: invalid UTF-8 at byte offset 2",
                "2 definitions checked",
            ],
        ),
        (
            3,
            &["run", "plain.tmpl", "-m", "mock"],
            &["variable name is not set", "plain.tmpl:1:6"],
        ),
        (
            3,
            &["render", "p.md"],
            &[
                "read as go; set another with --format jinja, mustache",
                "write {{.name}}",
                "p.md:1:7",
            ],
        ),
        (
            3,
            &["render", "p.txt"],
            &[
                "read as go; set another with --format jinja, mustache",
                "write {{.name}}",
            ],
        ),
        (
            3,
            &["render", "p.liquid"],
            &["variable name is not set", "p.liquid:1:7"],
        ),
        (
            3,
            &["render", "b.fstring"],
            &["double the braces of plain text: {{\"a\": 1}}"],
        ),
        (
            2,
            &["render", "s.ai.yaml"],
            &["s.ai.yaml is a script", "`quillet run s.ai.yaml --dry-run`"],
        ),
        (2, &["render", "folder"], &["is a folder", "quillet check"]),
        (4, &["ask", "hi", "-m", "gpt4o"], &["did you mean gpt-4o?"]),
        (4, &["ask", "hi", "-m", "gtp-4o"], &["did you mean gpt-4o?"]),
        (4, &["ask", "hi", "-m", "claude"], &["did you mean claude-"]),
        (
            4,
            &["ask", "hi", "-m", "anthropic:claude-sonnet-4-5"],
            &["ANTHROPIC_API_KEY", "`quillet keys set anthropic`"],
        ),
        (
            4,
            &["ask", "hi", "-m", "gpt-4o"],
            &["OPENAI_API_KEY", "`quillet keys set openai`"],
        ),
        (
            3,
            &[
                "render",
                "plain.tmpl",
                "-D",
                "variables.name=Ada",
                "-D",
                "language=x",
            ],
            &["write -D name=…, not -D variables.name=…"],
        ),
        (
            3,
            &[
                "render",
                "a",
                "-s",
                "dir:st",
                "-D",
                "variables.name=Ada",
                "-D",
                "language=x",
            ],
            &["write -D name=…, not -D variables.name=…"],
        ),
        (
            3,
            &["render", "plain.tmpl", "-D", "name=A", "-D", "languag=Rust"],
            &["languag is set; check the spelling of both names"],
        ),
        (
            3,
            &["render", "support.prompty"],
            &[
                "support.prompty:4:3",
                "\"question\" is a required property",
                "-D question=…",
            ],
        ),
        (
            2,
            &["ask", "hi", "-m", "mock", "-a", "nobody"],
            &["no store is set", "--store dir:PATH"],
        ),
        (
            2,
            &["render", "plain.tmpl", "-d", "{\"a\": 1}"],
            &["-d takes a file", "-D name:=json"],
        ),
        (
            2,
            &["ask", "hi", "-m", "mock", "-s", "be brief"],
            &["-s sets the store", "--system TEXT"],
        ),
        (
            2,
            &["render", "folder", "-D", "a"],
            &["`quillet render --help`"],
        ),
        (
            3,
            &["check", "two.yaml"],
            &["two.yaml:2:1", "unexpected second document"],
        ),
        (
            3,
            &["check", "-s", "dir:two"],
            &["prompts/two.yaml:2:1", "unexpected second document"],
        ),
        (
            2,
            &["config", "show", "--config", "empty.toml"],
            &["empty.toml:2:10", "the value of listen is missing"],
        ),
    ];
    for (code, args, words) in rows {
        let done = place.run(args);
        assert_eq!(done.code, Some(*code), "{args:?}\n{}", done.err);
        // `check` prints its diagnostics on standard output, and other commands print errors on
        // standard error.
        let said = done.out + &done.err;
        for word in *words {
            assert!(
                said.contains(word),
                "{args:?}: {word:?} is not in\n{}",
                said
            );
        }
        for word in [
            "from_str_multiple",
            "register a tool",
            "did you mean languag?",
        ] {
            let is_apt = word == "register a tool" && said.contains("read as go");
            assert!(is_apt || !said.contains(word), "{args:?}\n{}", said);
        }
    }
}

#[test]
fn the_error_comes_before_what_follows_from_it() {
    let place = Place::new().with(FILES);
    let done = place.run(&["prompt", "add", "x", "bad.json", "-s", "dir:st"]);
    assert_eq!(done.code, Some(3), "{}", done.err);
    let (error, rest) = done.err.split_once("nothing was written").unwrap();
    assert!(
        error.contains("bad.json:1:12") && rest.contains("--force"),
        "{}",
        done.err
    );
}

#[test]
fn a_model_that_is_not_known_is_told_with_the_nearest() {
    let done = Place::new().run(&["models", "claude-sonet-4-5"]);
    assert!(
        done.err.contains("did you mean claude-sonnet-4-5?"),
        "{}",
        done.err
    );
}

#[test]
fn who_is_no_editor_is_told_what_the_language_server_is() {
    let done = Place::new().run_with(&["lsp"], "garbage\r\n\r\n", &[]);
    assert_eq!(done.code, Some(1));
    assert!(done.err.contains("is a language server"), "{}", done.err);
}

#[test]
fn a_key_that_is_refused_is_told_in_one_sentence() {
    let place = Place::new();
    let refusal = r#"{"error": {"message": "Incorrect API key. See https://x.y/keys."}}"#;
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::failing(
        InjectedFault::Refuse(ErrorResponse::Other {
            status: 401,
            content_type: "application/json".to_owned(),
            body: refusal.to_owned(),
        }),
    )]));
    let env = reach(&provider);
    let done = place.run_with(&["ask", "hi", "-m", "gpt-4o"], "", &borrowed(&env));
    assert_eq!(done.code, Some(4), "{}", done.err);
    let words = "See https://x.y/keys; check the key: set OPENAI_API_KEY or model.api_key, or run `quillet keys set openai`";
    assert!(done.err.contains(words), "{}", done.err);
}
