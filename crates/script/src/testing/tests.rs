//! Tests of comparisons and of fixture errors.

use std::sync::Arc;

use quillet_core::{Map, Value, json};
use quillet_template::TemplateFactory;
use quillet_yaml::{Options, Tags};

use super::compare::Compare;
use super::expected_value::{ExpectationReader, ExpectedValue};
use super::expression::TestNames;
use super::fixture::{Answers, Fixture};
use crate::run::ScriptInput;
use crate::syntax::ScriptSource;

fn source(text: &str) -> ScriptSource {
    ScriptSource {
        name: "a.fixture.yaml".into(),
        path: None,
        text: text.into(),
    }
}

fn wanted(text: &str) -> Result<ExpectedValue, Vec<String>> {
    let source = source(text);
    let options = Options {
        tags: Tags::Keep,
        ..Options::default()
    };
    let whole = quillet_core::Span {
        start: 0,
        end: text.len(),
    };
    let (node, found) = quillet_yaml::parse("a", text, whole, &options);
    assert!(found.is_empty(), "{text}: {found:?}");
    let mut reader = ExpectationReader::new(&source);
    let wanted = reader.read(&node.unwrap());
    if reader.found.is_empty() {
        Ok(wanted)
    } else {
        Err(reader.found.iter().map(ToString::to_string).collect())
    }
}

/// Returns the paths at which a JSON value (`-` for a missing one) does not match.
fn places(expected: &str, actual: &str, strict: bool) -> Vec<String> {
    let names = TestNames::new(&Map::default(), []);
    let evaluate = |text: &str, actual: Option<&Value>| names.is_true(text, actual);
    let compare = Compare {
        strict,
        evaluate: &evaluate,
    };
    let actual = (actual != "-").then(|| json::parse(actual).unwrap());
    let wanted = wanted(expected).unwrap();
    let found = compare.check(&wanted, actual.as_ref(), "output");
    found.into_iter().map(|mismatch| mismatch.path).collect()
}

#[test]
fn values_are_as_wanted_or_part_somewhere() {
    let fine: [&str; 0] = [];
    let cases: [(&str, &str, &[&str]); 66] = [
        // Scalars.
        ("four", r#""four""#, &fine),
        ("four", r#"" four\n""#, &fine),
        ("four", r#""five""#, &["output"]),
        ("four", "-", &["output"]),
        ("262500", "262500.0", &fine),
        ("262500", r#""262500""#, &["output"]),
        ("true", "true", &fine),
        ("null", "-", &fine),
        ("'5'", r#""5""#, &fine),
        // Regular expressions.
        ("/^hello, .+!$/i", r#""Hello, Ada!""#, &fine),
        ("/^hello/", r#""Hello""#, &["output"]),
        ("!re ^H.l", r#""Hello""#, &fine),
        ("!re /h.l/i", r#""Hello""#, &fine),
        (r"/\d+/", "42", &fine),
        ("/a/", "-", &["output"]),
        ("/a/", "[\"a\"]", &["output"]),
        // Partial matches of objects and lists.
        ("{a: 1}", r#"{"a":1,"b":2}"#, &fine),
        (
            "{a: 1, b: {c: x}}",
            r#"{"a":1,"b":{"c":"y"}}"#,
            &["output.b.c"],
        ),
        ("{a: 1}", "{}", &["output.a"]),
        ("{a: 1}", "[]", &["output"]),
        ("[1, 2]", "[1,2]", &fine),
        ("[1, 2]", "[1,3]", &["output[1]"]),
        ("[1, 2]", "[1,2,3]", &["output"]),
        ("[{a: 1}]", r#"[{"a":1,"b":2}]"#, &fine),
        // Keys.
        ("{a.b: 1}", r#"{"a":{"b":1}}"#, &fine),
        ("{'a.b': 1}", r#"{"a.b":1}"#, &fine),
        ("{'a[0].b': 1}", r#"{"a":[{"b":1}]}"#, &fine),
        ("{'a[-1]': 2}", r#"{"a":[1,2]}"#, &fine),
        ("{a.b: 1}", r#"{"a":{"b":2}}"#, &["output.a.b"]),
        ("{/^a\\d$/: 1}", r#"{"a1":1}"#, &fine),
        ("{/^a\\d$/: 1}", r#"{"b":1}"#, &["output"]),
        // Logic.
        ("$and: [/^H/, {$not: /World/}]", r#""Hello""#, &fine),
        (
            "$and: [/^H/, {$not: /World/}]",
            r#""Hello World""#,
            &["output"],
        ),
        ("$or: [a, b]", r#""b""#, &fine),
        ("$or: [a, b]", r#""c""#, &["output"]),
        ("$not: a", r#""b""#, &fine),
        ("{$not: {b: 1}, a: 1}", r#"{"a":1,"b":2}"#, &fine),
        ("{$not: {b: 2}, a: 1}", r#"{"a":1,"b":2}"#, &["output"]),
        // Collections.
        ("$contains: ell", r#""Hello""#, &fine),
        ("$contains: [ell, 'no']", r#""Hello""#, &["output"]),
        ("$contains: {a: 1}", r#"[{"a":1,"b":2}]"#, &fine),
        ("$contains: {a: 1}", r#"{"a":1,"b":2}"#, &fine),
        ("$contains: 3", "[1,2]", &["output"]),
        ("$all: [2, 1]", "[1,2,3]", &fine),
        ("$all: [4, 1]", "[1,2,3]", &["output"]),
        ("$each: {$gt: 0}", "[1,2,0]", &["output[2]"]),
        ("$each: {$gt: 0}", "[]", &fine),
        ("$sequence: [1, 3]", "[1,2,3]", &fine),
        ("$sequence: [3, 1]", "[1,2,3]", &["output"]),
        ("$length: 3", "[1,2,3]", &fine),
        ("$length: {$lt: 3}", r#""äöü""#, &["output.length"]),
        ("$first: 1", "[1,2]", &fine),
        ("$last: {a: 2}", r#"[{"a":1},{"a":3}]"#, &["output[1].a"]),
        ("$nth: {$index: -1, a: 2}", r#"[{"a":1},{"a":2}]"#, &fine),
        ("$nth: {$index: 5, $value: 1}", "[1]", &["output[5]"]),
        // `$exists` and comparison operators.
        (
            "{a: {$exists: true}, b: {$exists: false}}",
            r#"{"a":0}"#,
            &fine,
        ),
        ("{a: {$exists: false}}", r#"{"a":null}"#, &fine),
        (
            "{a: {$exists: {$value: false, strict: true}}}",
            r#"{"a":null}"#,
            &["output.a"],
        ),
        ("{$gte: 1, $lt: 2}", "1.5", &fine),
        ("{$gt: 1.5, $lte: 2}", "1.5", &["output"]),
        ("$gt: b", r#""c""#, &fine),
        ("$eq: /x/", r#""/x/""#, &fine),
        ("$ne: {a: 1}", r#"{"a":1}"#, &["output"]),
        ("$in: [1, 2]", "2", &fine),
        ("$nin: [1, 2]", "2", &["output"]),
        // Violations of a JSON Schema.
        (
            "$schema: {type: object, properties: {a: {type: integer}}}",
            r#"{"a":"x"}"#,
            &["output.a"],
        ),
    ];
    for (expected, actual, parts) in cases {
        assert_eq!(
            places(expected, actual, false),
            parts,
            "{expected} of {actual}"
        );
    }
    assert_eq!(places("$expr: actual.length === 2", "[1,2]", false), fine);
    assert_eq!(places("$expr: actual > 2", "1", false), ["output"]);
}

#[test]
fn strict_leaves_nothing_over() {
    assert_eq!(places("{a: 1}", r#"{"a":1,"b":2}"#, true), ["output.b"]);
    assert_eq!(places("a", r#""a ""#, true), ["output"]);
    assert_eq!(places("{a: {b: 1}}", r#"{"a":{"b":1}}"#, true).len(), 0);
}

#[test]
fn a_broken_expectation_names_its_mend() {
    let cases = [
        ("$contians: a", "did you mean $contains?"),
        ("$or: a", "$or must be a list"),
        ("/a(/", "invalid regular expression"),
        ("$gt: [1]", "$gt must be a number or text"),
        ("$exists: maybe", "$exists must be true or false"),
        ("$nth: {a: 1}", "$nth must have $index"),
        ("$schema: {type: 5}", "invalid JSON Schema"),
        ("$score: 5", "not supported yet"),
    ];
    for (text, expected) in cases {
        let found = wanted(text).unwrap_err().join("; ");
        assert!(found.contains(expected), "{text}: {found}");
    }
}

async fn read(text: &str) -> Result<Fixture, Vec<String>> {
    let read = super::read(Arc::new(source(text)), &TemplateFactory::standard()).await;
    read.map_err(|found| found.iter().map(ToString::to_string).collect())
}

#[tokio::test]
async fn defaults_variables_and_inputs_come_together() {
    let text = "---
output: '/is {{answer}}$/'
input:
  content: '{{question}}'
  lang: '{% if lang %}in {{ lang }}{% endif %}'
  all: '{{items}}'
level: 3
---
- question: 1+1
  answer: 2
  items: [a, {b: c}]
- {title: T, question: x, answer: 'y', items: '{{level}}', lang: fr, only: true, skip: true}
- plain text
";
    let fixture = read(text).await.unwrap();
    let inputs = fixture.cases.iter().map(|case| match &case.input {
        ScriptInput::Named(map) => json::to_string(&map.clone().into()),
        ScriptInput::Single(value) => json::to_string(value),
        ScriptInput::None => "none".into(),
    });
    let inputs = inputs.collect::<Vec<_>>();
    assert_eq!(
        inputs[0],
        r#"{"content":"1+1","lang":"","all":["a",{"b":"c"}]}"#
    );
    assert_eq!(inputs[1], r#"{"content":"x","lang":"in fr","all":3}"#);
    assert_eq!(inputs[2], r#""plain text""#);
    let second = &fixture.cases[1];
    assert_eq!(
        (second.title.as_str(), second.only, second.skip),
        ("T", true, true)
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_fixture_is_told_at_once() {
    let text = "- input: '{{nmae}}'
  name: x
  skip: maybe
  expect: {tols: [a], output: {$o: 1}, snapshot: a/b}
  replies: [{reply: a, finsh: stop}, {match: '/(/', reply: b}]
";
    let found = read(text).await.unwrap_err().join("\n");
    for expected in [
        "a.fixture.yaml:1:10: unknown variable nmae in this test (did you mean name?)",
        "skip must be true or false",
        "unknown key tols in expect (did you mean tools?)",
        "unknown operator $o",
        "snapshot must be true, or a name",
        "unknown key finsh of a reply: did you mean finish?",
        "invalid regular expression",
    ] {
        assert!(found.contains(expected), "{expected} is not in:\n{found}");
    }
    assert!(read("a: 1").await.unwrap_err()[0].contains("a fixture must be a list of tests"));
}

#[tokio::test]
async fn what_is_not_supported_is_said_and_harms_nothing() {
    let text = "---\nscoring: true\n---\n- {input: a, ouput: b, passScore: 5}\n";
    let fixture = read(text).await.unwrap();
    let warnings: Vec<String> = fixture.warnings.iter().map(ToString::to_string).collect();
    let warnings = warnings.join("\n");
    for expected in [
        "scoring is not supported yet",
        "passScore is not supported yet",
        "ouput is read as a template variable (did you mean output?)",
        "this test expects nothing",
    ] {
        assert!(
            warnings.contains(expected),
            "{expected} is not in:\n{warnings}"
        );
    }
}

#[tokio::test]
async fn replies_and_cassettes_are_of_the_test_before_the_file() {
    let text = "---\nreplies: [a, b]\n---\n- {input: 1, output: 1}\n- {input: 1, output: 1, cassette: tapes}\n- {input: 1, output: 1, replies: [{reply: x, tool_calls: [{name: t, args: {a: 1}}]}]}\n";
    let fixture = read(text).await.unwrap();
    let answers: Vec<String> = fixture
        .cases
        .iter()
        .map(|case| match &case.answers {
            Answers::Model => "model".into(),
            Answers::Replies(replies) => format!("{} replies", replies.len()),
            Answers::Cassette(folder) => folder.clone(),
        })
        .collect();
    assert_eq!(answers, ["2 replies", "tapes", "1 replies"]);
}

#[tokio::test]
async fn outputs_are_written_behind_their_tests() {
    let text = "# Tests\n- input: a\n  title: A\n- {input: b, output: x}\n-   input: c # last\n";
    let fixture = read(text).await.unwrap();
    let written = super::appended(&fixture, &[(1, "one".into()), (3, Value::Int(3))]);
    let expected = "# Tests\n- input: a\n  title: A\n  output: \"one\"\n- {input: b, output: x}\n-   input: c # last\n    output: 3\n";
    assert_eq!(written, expected);
}
