//! Data literals as typed on a command line.

use std::path::Path;

use quillet_core::{Map, Value, json};
use quillet_script::expression::{DataError, data};

#[test]
fn recorded_data_has_the_recorded_value() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/vectors/ppe/vectors/js_style_json.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("left out: the recorded data is not here");
        return;
    };
    let Ok(Value::List(rows)) = json::parse(&text) else {
        panic!("the vectors are a list")
    };
    assert_eq!(rows.len(), 8);
    for row in rows.iter() {
        let row = row.as_map().unwrap();
        let text = row.get("text").and_then(Value::as_str).unwrap();
        let scope = row.get("scope").and_then(Value::as_map).cloned();
        let outcome = data(text, &scope.unwrap_or_default());
        match row.get("result") {
            Some(expected) => assert_eq!(outcome, Ok(defined(expected)), "{text}"),
            None => assert!(outcome.is_err(), "{text}"),
        }
    }
}

/// The vectors represent `undefined` as an object. Such fields are omitted here.
fn defined(value: &Value) -> Option<Value> {
    let Value::Map(map) = value else {
        return Some(value.clone());
    };
    if map.get("$undefined").is_some() {
        return None;
    }
    let fields = map
        .iter()
        .filter_map(|(k, v)| Some((k.clone(), defined(v)?)));
    Some(Value::Map(Map::from_iter(fields)))
}

#[test]
fn keys_need_no_quotes_and_comments_do_not_count() {
    for (text, expected) in [
        (
            "{content: \"13.1 + 4.857\"}",
            r#"{"content":"13.1 + 4.857"}"#,
        ),
        (
            "{a: 'x', 'b-c': [1, .5, +2, -0x10,], // note\n /* more */ d: null,}",
            r#"{"a":"x","b-c":[1,0.5,2,-16],"d":null}"#,
        ),
        (" [ ] ", "[]"),
        ("'text'", "\"text\""),
        ("{\"big\": 9007199254740993}", r#"{"big":9007199254740993}"#),
    ] {
        assert_eq!(
            data(text, &Map::default()),
            Ok(json::parse(expected).ok()),
            "{text}"
        );
    }
}

#[test]
fn data_runs_no_code() {
    for text in ["{a: f()}", "() => 1", "{a: new Date()}", "process.exit()"] {
        assert!(data(text, &Map::default()).is_err(), "{text}");
    }
    let error = data("{a: 1, b}}", &Map::default()).unwrap_err();
    assert!(matches!(error, DataError::Syntax(error) if error.span.start == 9));
}
