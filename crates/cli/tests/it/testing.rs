//! `quillet test` with scripts and their fixtures: reports and exit codes.

use std::fs;

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};
use serde_json::Value;

use crate::Place;
use crate::ask::{borrowed, reach};

const SCRIPT: &str =
    "---\ninput: [{content: {index: 0}}]\n---\nsystem: Translate.\n---\n\"{{content}}\"\n";
const FIXTURE: &str = "---
replies: [Bonjour]
---
- {title: greets, input: Hello, output: /bon/i}
- {title: is wrong, input: Hello, output: Salut}
";

fn place(fixture: &str) -> Place {
    Place::new().with(&[("t.ai.yaml", SCRIPT), ("t.fixture.yaml", fixture)])
}

#[test]
fn what_differs_is_shown_with_its_place() {
    let place = place(FIXTURE);
    for target in ["t.fixture.yaml", "t.ai.yaml", "."] {
        let done = place.run(&["test", target]);
        assert_eq!((done.code, done.err.as_str()), (Some(1), ""), "{done:?}");
        for part in [
            "ok 1 greets",
            "FAILED 2 is wrong",
            "at output (t.fixture.yaml:5:43)",
            "expected \"Salut\"",
            "got \"Bonjour\"",
            "1 passed, 1 failed",
        ] {
            assert!(done.out.contains(part), "{part} is not in\n{}", done.out);
        }
    }
}

#[test]
fn tests_are_chosen_by_number_and_title() {
    let place = place(FIXTURE);
    let cases: [(&[&str], &str); 4] = [
        (&["-i", "1"], "1 passed, 1 skipped\n"),
        (&["-x", "2"], "1 passed, 1 skipped\n"),
        (&["-t", "GREETS"], "1 passed, 1 skipped\n"),
        (&["-i", "1", "-c", "3"], "1 passed, 1 skipped\n"),
    ];
    for (more, expected) in cases {
        let mut args = vec!["test", "t.fixture.yaml"];
        args.extend(more);
        let done = place.run(&args);
        assert!(
            done.code == Some(0) && done.out.ends_with(expected),
            "{more:?} {done:?}"
        );
    }
}

#[test]
fn only_and_skip_hold_for_tests_and_for_scripts() {
    let fixture = "---\nreplies: [a]\n---\n- {input: x, output: a, only: true}\n- {input: x, output: b}\n- {input: x, output: b, only: true, skip: true}\n";
    let only = "---\ntest: {only: true}\n---\n\"x\"\n";
    let place = place(fixture).with(&[("t.short.ai.yaml", "\"x\"\n")]);
    let both = place.run(&["test", "."]);
    assert!(both.out.ends_with("2 passed, 4 skipped\n"), "{both:?}");
    let place = place.with(&[("t.short.ai.yaml", only)]);
    let one = place.run(&["test", "."]);
    assert!(one.out.ends_with("1 passed, 5 skipped\n"), "{one:?}");
}

#[test]
fn every_part_of_a_run_can_be_expected() {
    let script = "---\ntools: [weather]\n---\nsystem: Help.\n---\n\"How is it?\"\nassistant: \"[[answer]]\"\n$print: \"?=answer\"\n";
    let weather = "---\ntype: lib\nname: weather\ndescription: tells the weather\ninput: [city]\n---\n$echo: sunny\n";
    let fixture = "
- title: all of it
  replies:
    - {tool_calls: [{name: weather, args: {city: Paris}}]}
    - {match: sunny, reply: It is sunny.}
  output: It is sunny.
  expect:
    contains: [sunny, It]
    not-contains: rain
    regex: ^It
    tool-called: {weather: {city: /par/i}}
    tools: {$sequence: [weather]}
    requests: {$length: 2, $first: {messages: {$contains: {role: user, content: How is it?}}}}
    messages: {$last: {role: assistant}}
    printed: It is sunny.
    tokens-below: 10000
    schema: {type: string}
    output: {$expr: 'actual.length < 20 && tokens.total > 0'}
- title: fails as wanted
  replies: [{error: too busy}]
  expect: {error: {code: script.model, message: /busy/}}
- title: is cut
  replies: []
  expect: {output: x}
";
    let place = Place::new().with(&[
        ("t.ai.yaml", script),
        ("weather.ai.yaml", weather),
        ("t.fixture.yaml", fixture),
    ]);
    let done = place.run(&["test", "t.fixture.yaml", "--json"]);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    let tests = &report["fixtures"][0]["tests"];
    assert_eq!(tests[0]["verdict"], "passed", "{}", tests[0]);
    assert_eq!(tests[1]["verdict"], "passed", "{}", tests[1]);
    assert_eq!(tests[2]["verdict"], "broken", "{}", tests[2]);
    let why = tests[2]["error"]["message"].as_str().unwrap();
    assert!(
        why.contains("no rule in replies: fits") || why.contains("replies: has 0"),
        "{why}"
    );
    assert_eq!(done.code, Some(3));
}

#[test]
fn requests_are_compared_with_their_snapshot() {
    let place = place("- {input: Hello, replies: [x], expect: {snapshot: true}}\n");
    let missing = place.run(&["test", "."]);
    assert!(
        missing.code == Some(1) && missing.out.contains("--update writes it"),
        "{missing:?}"
    );
    assert_eq!(place.run(&["test", ".", "--update"]).code, Some(0));
    let kept = fs::read_to_string(place.path().join("t.snapshots/t.1.md")).unwrap();
    assert!(kept.contains("## system\n\nTranslate.\n"), "{kept}");
    assert_eq!(place.run(&["test", "."]).code, Some(0));
    let place = place.with(&[(
        "t.ai.yaml",
        &SCRIPT.replace("Translate.", "Translate well."),
    )]);
    let changed = place.run(&["test", "."]);
    assert_eq!(changed.code, Some(1));
    for part in ["- Translate.", "+ Translate well."] {
        assert!(
            changed.out.contains(part),
            "{part} is not in\n{}",
            changed.out
        );
    }
}

#[test]
fn cassettes_are_recorded_once_and_played_without_a_key() {
    let place = place("- {input: Hello, output: Bonjour, cassette: tapes}\n");
    place.run(&["test", "."]).fails(2, &["--record-cassettes"]);
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Bonjour"])]));
    let env = reach(&provider);
    let args = ["test", ".", "--record-cassettes", "-m", "gpt-4o"];
    let recorded = place.run_with(&args, "", &borrowed(&env));
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    drop(provider);
    let played = place.run(&["test", ".", "-m", "gpt-4o"]);
    assert_eq!(played.code, Some(0), "{played:?}");
}

#[test]
fn a_judge_decides_about_rubrics() {
    let place = place("- {input: Hello, replies: [Bonjour], expect: {judge: is French}}\n");
    let without = place.run(&["test", "."]);
    assert!(
        without.code == Some(3) && without.out.contains("--judge MODEL"),
        "{without:?}"
    );
    for (answer, code) in [
        (r#"{"reason": "it is", "pass": true}"#, 0),
        (r#"Sure: {"pass": false, "reason": "too short"}"#, 1),
        ("maybe", 3),
    ] {
        let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text([answer])]));
        let env = reach(&provider);
        let done = place.run_with(&["test", ".", "--judge", "gpt-4o"], "", &borrowed(&env));
        assert_eq!(done.code, Some(code), "{answer}: {done:?}");
        let asked = provider.requests()[0].text();
        assert!(
            asked.contains("is French") && asked.contains("Bonjour"),
            "{asked}"
        );
    }
}

#[test]
fn runs_that_pass_only_sometimes_are_flaky() {
    let place = place("- {input: Hello, output: Bonjour}\n");
    let turns = ["Bonjour", "Salut", "Bonjour"].map(|text| ScriptedReply::text([text]));
    let provider = FakeProvider::start(ReplyScript::turns(turns));
    let env = reach(&provider);
    let done = place.run_with(
        &["test", ".", "-c", "3", "-m", "gpt-4o"],
        "",
        &borrowed(&env),
    );
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(
        done.out.contains("(2 of 3 runs passed)") && done.out.contains("1 flaky"),
        "{done:?}"
    );
}

#[test]
fn reports_are_for_people_programs_and_ci() {
    let place = place(&FIXTURE.replace("is wrong", "is <wrong>"));
    let done = place.run(&["test", ".", "--json", "--junit", "out.xml"]);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        (&report["passed"], &report["failed"]),
        (&1.into(), &1.into())
    );
    let mismatch = &report["fixtures"][0]["tests"][1]["mismatches"][0];
    assert_eq!(mismatch["path"], "output");
    let xml = fs::read_to_string(place.path().join("out.xml")).unwrap();
    for part in [
        "tests=\"2\" failures=\"1\"",
        "name=\"2. is &lt;wrong&gt;\"",
        "<failure message=",
    ] {
        assert!(xml.contains(part), "{part} is not in\n{xml}");
    }
}

#[test]
fn outputs_are_generated_behind_tests_without_one() {
    let place =
        place("- input: Hello\n  replies: [Bonjour]\n- {input: x, output: y, replies: [y]}\n");
    let done = place.run(&["test", ".", "-g"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let written = fs::read_to_string(place.path().join("t.fixture.yaml")).unwrap();
    assert!(
        written
            .starts_with("- input: Hello\n  replies: [Bonjour]\n  output: \"Bonjour\"\n- {input"),
        "{written}"
    );
    assert_eq!(place.run(&["test", "."]).code, Some(0));
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let broken = place("- {input: x, expect: {tols: a}}\n").run(&["test", "."]);
    assert_eq!(broken.code, Some(3), "{broken:?}");
    assert!(
        broken.out.contains("t.fixture.yaml:1:23") && broken.out.contains("did you mean tools?"),
        "{broken:?}"
    );
    Place::new().run(&["test", "."]).fails(2, &["no fixtures"]);
    Place::new()
        .run(&["test", "nowhere"])
        .fails(2, &["nowhere"]);
    let alone = Place::new()
        .with(&[("t.fixture.yaml", "- {input: x, output: y}\n")])
        .run(&["test", "."]);
    assert!(
        alone.code == Some(3) && alone.out.contains("no script or prompt in this folder"),
        "{alone:?}"
    );
}
