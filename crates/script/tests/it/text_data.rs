//! System messages, inheritance, Markdown and repetition: examples of the language text, and
//! third-party vectors if they are available.

use std::path::Path;

use proptest::prelude::*;
use quillet_core::{Value, json};
use quillet_script::text::markdown::to_markdown;
use quillet_script::text::merge::inherit;
use quillet_script::text::repeat::Repeats;
use quillet_script::text::system::{System, Titles};

/// Returns the vectors of a file, or an empty list and a printed note if it is missing.
pub(crate) fn vectors(file: &str) -> Vec<Value> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/ppe/vectors");
    let Ok(text) = std::fs::read_to_string(shared.join(file)) else {
        println!("left out: {file} is not there");
        return Vec::new();
    };
    match json::parse(&text).unwrap() {
        Value::List(list) => list.to_vec(),
        other => panic!("{file} is a {}", other.kind()),
    }
}

pub(crate) fn field<'v>(vector: &'v Value, name: &str) -> &'v Value {
    vector
        .as_map()
        .and_then(|map| map.get(name))
        .unwrap_or(&Value::Null)
}

fn system(messages: &[&str], titles: &Titles<'_>) -> Result<String, String> {
    let mut system = System::default();
    for message in messages {
        system.add(&json::parse(message).unwrap())?;
    }
    Ok(system.render(titles))
}

#[test]
fn system_messages_of_the_seed() {
    let cases: &[(&[&str], &str)] = &[
        (
            &[
                r#"{"background": "你是一位学术论文翻译专家"}"#,
                r#""优先考虑翻译准确性""#,
                r#"{"content": "采用专业术语", "notes": ["核对参考文献格式"]}"#,
            ],
            "你是一位学术论文翻译专家\n\n优先考虑翻译准确性\n采用专业术语\n\nNotes:\n* 核对参考文献格式",
        ),
        (&[r#""one""#, r#""two""#], "one\ntwo"),
        (
            &[
                r#"{"content": "do it", "notes": ["n1"]}"#,
                r#"{"notes": ["n2"]}"#,
            ],
            "do it\n\nNotes:\n* n1\n* n2",
        ),
        (
            &[
                r#"{"background": "b1", "content": "c1"}"#,
                r#"{"background": "b2"}"#,
            ],
            "b1\nb2\n\nc1",
        ),
        (
            &[
                r#"{"content": [{"value": "second", "order": 2}, {"value": "first", "order": -1}]}"#,
                r#""zeroth""#,
            ],
            "first\nzeroth\nsecond",
        ),
        (
            &[r#"{"notes": "one", "output": ["a", 2]}"#],
            "Output (text):\n* a\n* 2\n\nNotes:\n* one",
        ),
        (
            &[
                r#"{"notes": {"value": ["z"], "order": 1}}"#,
                r#"{"notes": "a"}"#,
            ],
            "Notes:\n* a\n* z",
        ),
        (&[r#""""#, "null", r#"{"content": "", "notes": []}"#], ""),
    ];
    for (messages, expected) in cases {
        assert_eq!(&system(messages, &Titles::default()).unwrap(), expected);
    }
}

#[test]
fn titles_of_system_messages() {
    let message = [r#"{"output": "o", "notes": ["n"]}"#];
    let titles = Titles {
        notes: Some("注意："),
        output: Some("输出{{type}}："),
        output_type: Some("json"),
    };
    assert_eq!(
        system(&message, &titles).unwrap(),
        "输出json：\no\n\n注意：\n* n"
    );
    let without_type = Titles {
        output: Some("Output"),
        ..Titles::default()
    };
    assert_eq!(
        system(&message, &without_type).unwrap(),
        "Output (text):\no\n\nNotes:\n* n"
    );
}

#[test]
fn wrong_system_messages_are_named() {
    let cases = [
        (
            r#"{"note": "x"}"#,
            "unknown field \"note\" of a system message; did you mean notes?",
        ),
        (
            r#"{"x": 1}"#,
            "unknown field \"x\" of a system message; known fields: background, content, output, notes",
        ),
        (
            r#"{"notes": {"a": 1}}"#,
            "notes of a system message must be a string, a list of strings, or {value, order}",
        ),
        (
            r#"{"notes": [["a"]]}"#,
            "notes of a system message must be a string, a list of strings, or {value, order}",
        ),
        (
            r#"{"notes": {"value": "a", "order": "b"}}"#,
            "order of notes must be a number",
        ),
    ];
    for (message, expected) in cases {
        assert_eq!(
            system(&[message], &Titles::default()).unwrap_err(),
            expected
        );
    }
}

#[test]
fn inheritance_as_the_vectors_have_it() {
    for vector in vectors("inherit_merge.json") {
        let Value::List(values) = field(&vector, "args") else {
            panic!("arguments are a list");
        };
        let (child, parents) = values.split_first().unwrap();
        assert_eq!(
            &inherit(child, parents),
            field(&vector, "result"),
            "{vector:?}"
        );
    }
}

#[test]
fn inheritance_may_take_nothing() {
    let cases = [
        (r#"["@inheritMerge(false)", 1]"#, "[2]", "[1]"),
        (r#"[{"@inheritMerge": false}, 1]"#, "[2]", "[1]"),
        (
            r#"["@inheritMerge(what)", 1]"#,
            "[2]",
            r#"[2,"@inheritMerge(what)",1]"#,
        ),
        (r#"{"a": null}"#, r#"{"a": 1}"#, r#"{"a":null}"#),
        (r#"{"a": [1]}"#, r#"{"a": {"b": 1}}"#, r#"{"a":[1]}"#),
    ];
    for (child, parent, expected) in cases {
        let child = json::parse(child).unwrap();
        let merged = inherit(&child, &[json::parse(parent).unwrap()]);
        assert_eq!(json::to_string(&merged), expected);
    }
}

#[test]
fn markdown_as_the_vectors_have_it() {
    for vector in vectors("json_to_markdown.json") {
        let title = field(field(&vector, "options"), "title").as_str();
        let written = to_markdown(field(&vector, "value"), title);
        assert_eq!(Some(&*written), field(&vector, "result").as_str());
    }
}

#[test]
fn markdown_of_corners() {
    let cases = [
        (
            r#"{"a": [], "b": {}, "c": ["x"]}"#,
            "* `a`: []\n* `b`: {}\n* `c`: \"x\"",
        ),
        ("[[1, 2], [3, 4]]", "-\n  - 1\n  - 2\n-\n  - 3\n  - 4"),
        ("{}", "{}"),
    ];
    for (value, expected) in cases {
        assert_eq!(to_markdown(&json::parse(value).unwrap(), None), expected);
    }
}

#[test]
fn repetition_as_the_vectors_have_it() {
    for vector in vectors("tail_repetition.json") {
        let Value::Int(threshold) = field(&vector, "threshold") else {
            panic!("a threshold is a number");
        };
        let text = field(&vector, "text").as_str().unwrap();
        let found = Repeats::new(usize::try_from(*threshold).unwrap()).push(text);
        assert_eq!(
            found.as_deref(),
            field(&vector, "repeated").as_str(),
            "{text}"
        );
    }
}

#[test]
fn what_repeats_and_what_is_meant() {
    let cases = [
        ("and so on. ".repeat(7), true),
        ("and so on. ".repeat(6), false),
        ("再来一次。".repeat(7), true),
        ("-".repeat(119), false),
        ("-".repeat(120), true),
        (" ".repeat(119), false),
        ("\n".repeat(17), false),
        ("\n".repeat(18), true),
        (format!("|{}\n", " --- |".repeat(12)), false),
        ((0..200).map(|n| format!("{n}. item\n")).collect(), false),
    ];
    for (text, expected) in cases {
        let found = Repeats::new(7).push(&text);
        assert_eq!(found.is_some(), expected, "{text:?}");
    }
    assert_eq!(Repeats::new(0).push(&"a".repeat(1000)), None);
    assert_eq!(Repeats::new(1).push("xabab").as_deref(), Some("ab"));
}

#[test]
fn a_stream_is_cut_soon_after_its_seventh_turn() {
    let unit = "The same paragraph, told once more with all of its words in it.\n\n";
    let start: String = (0..3_000).map(|n| format!("{n}, ")).collect();
    let mut repeats = Repeats::new(7);
    assert_eq!(repeats.push(&start), None);
    let text = unit.repeat(40);
    let cut = text.char_indices().find_map(|(at, c)| {
        let found = repeats.push(c.encode_utf8(&mut [0; 4]))?;
        Some((at, found))
    });
    let (at, found) = cut.unwrap();
    assert_eq!(found.len(), unit.len());
    assert!(at < unit.len() * 7 + 600, "{at}");
}

proptest! {
    #[test]
    fn what_is_found_repeats(text in "[ab名 \n-]{0,60}", count in 2usize..5) {
        if let Some(unit) = Repeats::new(count).push(&text) {
            prop_assert!(text.ends_with(&unit.repeat(count)));
        }
    }

    #[test]
    fn what_repeats_is_found(start in "[xyz]{0,20}", unit in "[a名]{1,9}", count in 2usize..9) {
        let text = start + &unit.repeat(count);
        prop_assert!(Repeats::new(count).push(&text).is_some());
    }
}

/// Half a megabyte in small chunks, which would take too long if each chunk were compared with all
/// of it.
#[test]
fn long_streams_cost_what_they_are_long() {
    let mut repeats = Repeats::new(7);
    let mut number = 1u64;
    for _ in 0..50_000 {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        assert_eq!(repeats.push(&format!("{:x} ", number >> 32)), None);
    }
}
