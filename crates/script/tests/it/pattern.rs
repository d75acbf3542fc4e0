//! Patterns of `$match`.

use quillet_core::{Map, MapTable, Span, Value, json};
use quillet_script::pattern::{Bindings, BranchPattern, MAX_NESTING, MatchError, PatternError};

fn read(key: &str) -> Result<BranchPattern, PatternError> {
    let base = Span {
        start: 0,
        end: key.len(),
    };
    BranchPattern::parse(key, base)
}

fn names() -> Map {
    [("limit", Value::Int(10))].into_iter().collect()
}

/// Returns the names that the pattern binds, if it matches.
fn matched(key: &str, value: &str) -> Option<Value> {
    let value = match value {
        "undefined" => None,
        text => Some(json::parse(text).unwrap()),
    };
    let mut bindings = Bindings::default();
    let pattern = read(key).unwrap();
    let matched = pattern.matches(&value, &mut bindings, &names()).unwrap();
    assert!(
        matched || bindings.is_empty(),
        "{key} binds without a match"
    );
    matched.then(|| Value::Map(Map::new(bindings)))
}

#[test]
fn patterns_match_what_they_say() {
    for (key, value, matches) in [
        (":/RegEx/", r#""abc RegEx""#, true),
        (":/regex/i", r#""abc RegEx""#, true),
        (":/RegEx/", "13", false),
        (":/^\\d+$/", "13", true),
        (":/<b>(.+)</b>/", r#""<b>x</b>""#, true),
        (":/a|b/ || /[/]c/", r#""/c""#, true),
        (":/a||b/", r#""""#, true),
        (":> 12", "13", true),
        (":>12", "12", false),
        (":>= 12", r#""12""#, true),
        (":> 12", r#""abc""#, false),
        (":< 5", "null", false),
        (":< 5", "undefined", false),
        (":<= limit", "10", true),
        (":!= 'a'", r#""b""#, true),
        (":== 1", "1", true),
        (":> 1 && < 5", "3", true),
        (":> 1 && < 5", "5", false),
        (":\"string\"", r#""string""#, true),
        (":'it''s'", r#""it''s""#, true),
        (":“引号”", r#""引号""#, true),
        ("：123", "123", true),
        (":123", r#""123""#, true),
        (":-1.5", "-1.5", true),
        (":0", r#""""#, false),
        (":0", "false", false),
        (":1 || 2", "2", true),
        (":1 || 2", "3", false),
        (":'a' || \"b\"", r#""b""#, true),
        (":true", "true", true),
        (":null", "undefined", true),
        (":1..5", "5", true),
        (":1..<5", "5", false),
        (":1>..5", "1", false),
        (":1>..<5", "2.5", true),
        (":-3..-1", "-2", true),
        (":1..5", r#""3""#, true),
        (":['a,b', _, _, last]", r#"["a,b",1,2,9]"#, true),
        (":['a,b', _, _, last]", r#"["a,b",1,2]"#, false),
        (":['a,b', _, _, last]", r#"["a",1,2,9]"#, false),
        (":[1, ..]", "[1,2,3]", true),
        (":[.., 3]", "[1,2,3]", true),
        (":[1, .., 3]", "[1]", false),
        (":[]", "[]", true),
        (":[> 5, 1 || 2]", "[6,2]", true),
        (":[[_, x], {k}]", r#"[[1,2],{"k":3}]"#, true),
        (":{x='a', y=':1||2'}", r#"{"x":"a","y":2}"#, true),
        (":{x='a', y=':1||2'}", r#"{"x":"a","y":3}"#, false),
        (":{x='a', y=':1||2'}", r#"{"x":"a","y":2,"z":0}"#, false),
        (":{x='a', ..}", r#"{"x":"a","y":2}"#, true),
        (":{x: 'a', ..}", r#"{"y":2}"#, false),
        (":{'k k'=> 3, ..}", r#"{"k k":4}"#, true),
        (":{x={y=_}}", r#"{"x":{"y":null}}"#, true),
        (":limit", "10", true),
        (":limit + 1", "11", true),
        (":COND__ > 5 && limit == 10", "6", true),
        (":COND__.length == 2", "[1,2]", true),
        (":(1 || 2) && < 2", "1", true),
        ("_ ", "undefined", true),
    ] {
        assert_eq!(matched(key, value).is_some(), matches, "{key} with {value}");
    }
}

#[test]
fn names_in_patterns_take_the_parts() {
    for (key, value, bound) in [
        (
            ":['a,b', _, _, last]",
            r#"["a,b",1,2,9]"#,
            r#"{"first":"a,b","last":9}"#,
        ),
        (":[x, .., y]", "[1,2,3]", r#"{"x":1,"y":3}"#),
        (":[1, first]", "[1,2]", r#"{"first":2}"#),
        (
            ":{a, b={c=d}, ..}",
            r#"{"a":1,"b":{"c":[2]},"e":0}"#,
            r#"{"a":1,"d":[2]}"#,
        ),
        (":[a, 1] || [b, 2]", "[0,2]", r#"{"b":0}"#),
        (
            ":/(?<year>\\d+)-(?<month>\\d+)?/",
            r#""in 2024-""#,
            r#"{"year":"2024"}"#,
        ),
    ] {
        let expected = json::parse(bound).unwrap();
        assert_eq!(matched(key, value), Some(expected), "{key}");
    }
}

#[test]
fn what_is_no_pattern_says_where_and_why() {
    for (key, message, start) in [
        ("12", "missing colon before the pattern", 0),
        (":", "missing pattern", 1),
        (":1 ||", "missing pattern", 5),
        (
            ":hello world",
            "invalid pattern `hello world`: unexpected `world`",
            7,
        ),
        (":/abc", "unclosed regular expression", 1),
        (
            ":/a/q",
            "unknown regular expression flag `q`: use d, g, i, m, s, u, v or y",
            1,
        ),
        (
            ":[1, .., 2, ..]",
            "a list pattern cannot have more than one `..`",
            12,
        ),
        (":{=1}", "missing name of a field in an object pattern", 2),
    ] {
        let error = read(key).unwrap_err();
        assert_eq!(
            (&*error.message, error.span.start),
            (message, start),
            "{key}"
        );
    }
    let deep = format!(":{}", "[".repeat(500) + &"]".repeat(500));
    assert!(
        read(&deep)
            .unwrap_err()
            .message
            .contains(&MAX_NESTING.to_string())
    );
    for unit in ["[", "(", ":", "/||", "1||"] {
        assert!(read(&format!(":{}", unit.repeat(5_000))).is_err(), "{unit}");
    }
}

#[test]
fn an_expression_for_an_engine_is_handed_out() {
    let pattern = read(":COND__.match(/x/)").unwrap();
    let code = pattern.code().unwrap();
    assert_eq!((&*code.text, code.test), ("COND__.match(/x/)", true));
    let nested = read(":[COND__.map(f)]").unwrap();
    let value = json::parse("[1]").ok();
    let outcome = nested.matches(&value, &mut MapTable::default(), &names());
    assert!(matches!(outcome, Err(MatchError::Expression { .. })));
}
