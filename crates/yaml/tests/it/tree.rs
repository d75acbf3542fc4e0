//! Tests the parsed tree and its locations.

use std::fmt::Write;

use quillet_core::Span;
use quillet_yaml::{MappedText, Node, NodeData, Options, Reader, Tags, parse, parse_value};

fn options() -> Options {
    Options {
        tags: Tags::Keep,
        ..Options::default()
    }
}

fn whole(text: &str) -> Span {
    Span {
        start: 0,
        end: text.len(),
    }
}

fn read(text: &str) -> Node {
    let (node, findings) = parse("t", text, whole(text), &options());
    assert!(findings.is_empty(), "{text}: {findings:?}");
    node.expect("a tree")
}

/// Prints every node with its tag and the text of its span.
fn places(node: &Node, file: &str, out: &mut String) {
    let tag = node
        .tag
        .as_deref()
        .map_or(String::new(), |tag| format!("!{tag} "));
    let bytes = &file[node.span.start..node.span.end];
    writeln!(out, "{tag}{bytes:?}").expect("written");
    match &node.data {
        NodeData::Scalar(_) => {}
        NodeData::List(items) => items.iter().for_each(|item| places(item, file, out)),
        NodeData::Map(entries) => {
            for entry in entries {
                places(&entry.key, file, out);
                places(&entry.value, file, out);
            }
        }
    }
}

#[test]
fn nodes_know_their_bytes() {
    let table: &[(&str, &[&str])] = &[
        ("a: 1 # c\n\n", &["\"a: 1\"", "\"a\"", "\"1\""]),
        (
            "- 'x'\n- \"é\"\n",
            &["\"- 'x'\\n- \\\"é\\\"\"", "\"'x'\"", "\"\\\"é\\\"\""],
        ),
        (
            "é: [1, {a: b}] # c",
            &[
                "\"é: [1, {a: b}]\"",
                "\"é\"",
                "\"[1, {a: b}]\"",
                "\"1\"",
                "\"{a: b}\"",
                "\"a\"",
                "\"b\"",
            ],
        ),
        (
            "f: !fn |-\n  x\n  y\n\ng: 1",
            &[
                "\"f: !fn |-\\n  x\\n  y\\n\\ng: 1\"",
                "\"f\"",
                "!fn \"x\\n  y\"",
                "\"g\"",
                "\"1\"",
            ],
        ),
        ("!fn# |-\n  a\n", &["!fn# \"a\""]),
        (
            "f: !fn (key) { return key + ' hi' }",
            &[
                "\"f: !fn (key) { return key + ' hi' }\"",
                "\"f\"",
                "!fn \"(key) { return key + ' hi' }\"",
            ],
        ),
        (
            "a: !x\n  b: 1\n",
            &[
                "\"a: !x\\n  b: 1\"",
                "\"a\"",
                "!x \"b: 1\"",
                "\"b\"",
                "\"1\"",
            ],
        ),
        (
            "a:\r\n  - >\r\n    x\r\nb: y\r\n",
            &[
                "\"a:\\r\\n  - >\\r\\n    x\\r\\nb: y\"",
                "\"a\"",
                "\"- >\\r\\n    x\"",
                "\"x\"",
                "\"b\"",
                "\"y\"",
            ],
        ),
        (
            "a:\nb: ~\n",
            &["\"a:\\nb: ~\"", "\"a\"", "\"\"", "\"b\"", "\"~\""],
        ),
    ];
    for (text, expected) in table {
        let mut found = String::new();
        places(&read(text), text, &mut found);
        let found: Vec<&str> = found.lines().collect();
        assert_eq!(found, *expected, "{text}");
    }
}

#[test]
fn values_follow_the_core_schema_and_tags_of_it() {
    let table = [
        (
            "a: 1\nb: yes\nc: 1.5\nd:",
            r#"{"a":1,"b":"yes","c":1.5,"d":null}"#,
        ),
        ("a: !!str 1", r#"{"a":"1"}"#),
        ("a: !!int \"1\"", r#"{"a":1}"#),
        ("a: ! 1", r#"{"a":"1"}"#),
        ("!!map {a: !!seq [1]}", r#"{"a":[1]}"#),
        (
            "a: 'x'\nb: \"\\u00e9\"\nc: |\n  l\n  m\nd: >-\n  l\n  m",
            r#"{"a":"x","b":"é","c":"l\nm\n","d":"l m"}"#,
        ),
        ("1: a\ntrue: b", r#"{"1":"a","true":"b"}"#),
        (
            "a: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  d: 2\n",
            r#"{"a":{"k":1},"b":{"k":1},"c":{"k":1,"d":2}}"#,
        ),
        (
            "x: &x {k: 1, l: 2}\ny: {k: 0, <<: *x}",
            r#"{"x":{"k":1,"l":2},"y":{"k":0,"l":2}}"#,
        ),
        ("<<: [{a: 1}, {a: 2, b: 3}]", r#"{"a":1,"b":3}"#),
        ("\"<<\": 1", r#"{"<<":1}"#),
        (
            ":/re/: 1\n:> 12: 2\n:1..5: 3\n_ : 4",
            r#"{":/re/":1,":> 12":2,":1..5":3,"_":4}"#,
        ),
        (
            ":\"string\": 1\n:1 || 2: 2",
            r#"{":\"string\"":1,":1 || 2":2}"#,
        ),
        (
            "$match(condition[, allMatches=false]): 1",
            r#"{"$match(condition[, allMatches=false])":1}"#,
        ),
        (
            "- ?=i-1\n- -> a\n- $|f\n- |\n- 1",
            r#"["?=i-1","-> a","$|f","",1]"#,
        ),
        ("---\na: 1\n...\n", r#"{"a":1}"#),
    ];
    for (text, json) in table {
        assert_eq!(
            quillet_core::json::to_string(&read(text).value()),
            json,
            "{text}"
        );
    }
}

#[test]
fn a_text_of_nothing_has_no_tree() {
    for text in ["", "\n\n", "# only this\n", "---\n"] {
        let (node, findings) = parse("t", text, whole(text), &options());
        assert!(findings.is_empty(), "{text:?} {findings:?}");
        assert!(node.is_none_or(|node| node.is_null()), "{text:?}");
    }
}

#[test]
fn anchors_of_one_document_are_known_in_the_next() {
    let file = "a: &x [1]\nb: *x\n";
    let mut reader = Reader::new("t", file, options());
    let first = reader.read(&MappedText::of(file, Span { start: 0, end: 10 }));
    assert!(first.is_ok());
    let second = reader.read(&MappedText::of(file, Span { start: 10, end: 16 }));
    let node = second.expect("read").expect("a tree");
    assert_eq!(quillet_core::json::to_string(&node.value()), r#"{"b":[1]}"#);
    let value = node.get("b").expect("b");
    assert_eq!(value.span, Span { start: 13, end: 15 });
}

#[test]
fn a_changed_piece_has_places_of_the_file() {
    let file = "user：你好\n  as:\n    x: 1\n";
    let colon = file.find('：').expect("there");
    let mut piece = MappedText::empty();
    piece.keep(
        file,
        Span {
            start: 0,
            end: colon,
        },
    );
    piece.put(": ", colon);
    let rest = colon + '：'.len_utf8();
    piece.keep(
        file,
        Span {
            start: rest,
            end: rest + 7,
        },
    );
    piece.keep(
        file,
        Span {
            start: rest + 9,
            end: file.len(),
        },
    );
    let mut reader = Reader::new("t", file, options());
    let node = reader.read(&piece).expect("read").expect("a tree");
    let at = |node: &Node| &file[node.span.start..node.span.end];
    assert_eq!(at(node.get("user").expect("user")), "你好");
    assert_eq!(at(node.get("as").expect("as")), "x: 1");
}

#[test]
fn values_are_read_without_places() {
    assert_eq!(parse_value("").expect("null"), quillet_core::Value::Null);
    let twice = parse_value("a: 1\na: 2").expect("the last counts");
    assert_eq!(quillet_core::json::to_string(&twice), r#"{"a":2}"#);
    let error = parse_value("a: !fn x").expect_err("no tags");
    assert_eq!(
        error[0].to_string(),
        "text:1:4: unknown tag `!fn` (quote a string that begins with `!`)"
    );
}
