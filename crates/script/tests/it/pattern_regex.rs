//! Regular expressions: JavaScript's syntax and semantics, and the limits of a search.

use std::path::Path;

use quillet_core::{Value, json};
use quillet_script::pattern::{Regex, RegexError};
use rquickjs::{Context, Runtime};

/// Evaluates `/pattern/flags` on a text in a JavaScript engine. Returns the groups of the first
/// match, starting with the whole match.
fn in_javascript(pattern: &str, flags: &str, text: &str) -> Option<Vec<Option<String>>> {
    let runtime = Runtime::new().unwrap();
    let context = Context::full(&runtime).unwrap();
    let source = format!(
        "JSON.stringify(new RegExp({}, {}).exec({}))",
        json::to_string(&Value::from(pattern)),
        json::to_string(&Value::from(flags)),
        json::to_string(&Value::from(text)),
    );
    let found: String = context.with(|ctx| ctx.eval(source).expect(pattern));
    let Value::List(groups) = json::parse(&found).unwrap() else {
        return None;
    };
    Some(
        groups
            .iter()
            .map(|g| g.as_str().map(str::to_owned))
            .collect(),
    )
}

fn here(pattern: &str, flags: &str, text: &str) -> Option<Vec<Option<String>>> {
    let regex = Regex::compile(pattern, flags).unwrap();
    let found = regex.captures(text).unwrap()?;
    let groups = 0..=regex.groups();
    Some(
        groups
            .map(|group| found.get(group).map(str::to_owned))
            .collect(),
    )
}

#[test]
fn patterns_mean_what_they_mean_in_javascript() {
    for (pattern, flags, texts) in [
        (
            r"<RESULT>(.+)<\/RESULT>",
            "",
            ["a<RESULT>42</RESULT>b", "<RESULT>\n</RESULT>"],
        ),
        (r"(?<n>\d+)-\k<n>", "", ["12-12", "1-2"]),
        (r"\k<n>(?<n>b)?x", "", ["x", "bx"]),
        (r"^b$", "", ["a\nb\nc", "b"]),
        (r"^b$", "m", ["a\nb\nc", "b\n"]),
        (r"a.c", "", ["a\nc", "a\u{2028}c"]),
        (r"a.c", "su", ["a\nc", "a😀c"]),
        (r"\w+", "", ["é b", "中文"]),
        (r"\bcat\b", "", ["中cat文", "concat"]),
        (r"\Bcat", "", ["concat", "cat"]),
        (r"\d", "", ["٣", "x3"]),
        (r"[\s]+x", "", ["\u{feff}\u{a0}x", "\u{85}x"]),
        (r"[^\S]y", "", [" y", "xy"]),
        (r"[a[b]+", "", ["a[b", "x"]),
        (r"[&&~~+--z]+", "", ["&~,z-", "q"]),
        (r"{name}|x{,2}", "", ["{name}", "x{,2}"]),
        (r"]x}", "", ["]x}", "x"]),
        (r"[^]b", "", ["\nb", "b"]),
        (r"[]|q", "", ["q", "a"]),
        (r"a{2,3}?", "", ["aaaa", "a"]),
        (r"(a+)(?=b)|(?<!c)d", "", ["aab", "cd d"]),
        (r"\u4e2d|\x41|\cJ", "", ["中", "A"]),
        (r"\ud83d\ude00|\u{1F601}", "u", ["😀", "😁"]),
        (r"\p{L}+", "u", ["中文é1", "12"]),
        (r"\-\_\@\é\!", "", ["-_@é!", ""]),
        (r"b", "y", ["ab", "ba"]),
        (r"ÄB", "i", ["äb", "ab"]),
        (r"(a)|(b)", "g", ["b", "a"]),
        (r"[\b]|\0", "", ["\u{8}", "\0"]),
        (r"(x)?y", "", ["y", "xy"]),
    ] {
        for text in texts {
            let (here, there) = (
                here(pattern, flags, text),
                in_javascript(pattern, flags, text),
            );
            assert_eq!(here, there, "/{pattern}/{flags} over {text:?}");
        }
    }
}

#[test]
fn what_is_no_regular_expression_is_refused() {
    for pattern in ["(", "[a", "a**", "a++", "a{2}{3}", "*a", "(?<n", "\\"] {
        let error = Regex::compile(pattern, "").unwrap_err();
        assert!(
            matches!(error, RegexError::Syntax { .. }),
            "{pattern}: {error:?}"
        );
    }
    for pattern in [
        "a".repeat(10_000),
        "((((a{100}){100}){100}){100})".to_owned(),
    ] {
        assert_eq!(Regex::compile(&pattern, "").unwrap_err(), RegexError::Size);
    }
    for unit in ["(", "(?:", "[", "(?=", "a{1000}", "(a|", "(?<n>a)"] {
        let _ = Regex::compile(&unit.repeat(1_000), "");
    }
    assert_eq!(Regex::compile("a", "z").unwrap_err(), RegexError::Flag('z'));
}

#[test]
fn groups_are_found_by_number_and_by_name() {
    let regex = Regex::compile(r"(?<key>\w+)=(\d+)?", "").unwrap();
    let found = regex.captures("  a=1").unwrap().unwrap();
    assert_eq!(
        (found.range(0), found.get(2), found.name("key")),
        (Some(2..5), Some("1"), Some("a"))
    );
    assert_eq!((found.main(), regex.groups()), ("a", 2));
    assert_eq!(regex.names().collect::<Vec<_>>(), ["key"]);
    let none = regex.captures("a=").unwrap().unwrap();
    assert_eq!(
        (none.get(2), none.name("other"), none.get(9)),
        (None, None, None)
    );
}

fn hostile_text(row: &Value) -> String {
    let text = row.as_map().and_then(|row| row.get("text")).unwrap();
    if let Some(text) = text.as_str() {
        return text.to_owned();
    }
    let Some(Value::List(segments)) = text.as_map().and_then(|text| text.get("segments")) else {
        panic!("{text:?}")
    };
    let part = |segment: &Value| match segment {
        Value::List(pair) => match pair.as_slice() {
            [Value::Str(unit), Value::Int(count)] => unit.repeat(*count as usize),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    segments.iter().map(part).collect()
}

#[test]
fn hostile_searches_end_with_an_answer_or_an_error_that_names_the_limit() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/hostile/regex.jsonl");
    let Ok(rows) = std::fs::read_to_string(&path) else {
        println!("left out: the hostile regular expressions are not here");
        return;
    };
    for line in rows.lines() {
        let row = json::parse(line).unwrap();
        let field = |name: &str| row.as_map()?.get(name)?.as_str();
        let text = hostile_text(&row);
        let outcome = Regex::compile(field("pattern").unwrap(), "").and_then(|regex| {
            let found = regex.captures(&text)?;
            Ok(found.map(|found| found.main().to_owned()))
        });
        match (field("expect"), outcome) {
            (Some("ok"), outcome) => {
                assert_eq!(outcome.unwrap().as_deref(), field("result"), "{line}");
            }
            (_, Ok(_) | Err(RegexError::Backtracks { .. } | RegexError::Size)) => {}
            (_, Err(error)) => panic!("{line}: {error}"),
        }
    }
}
