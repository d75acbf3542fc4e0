//! Tests third-party hostile input: every vector gives a tree or an error within the limits.

use std::path::Path;

use quillet_core::Span;
use quillet_yaml::{Options, parse};
use serde_json::Value;

fn input(vector: &Value) -> String {
    match &vector["input"] {
        Value::String(text) => text.clone(),
        other => other["segments"]
            .as_array()
            .expect("segments")
            .iter()
            .map(|part| {
                let count = part[1].as_u64().expect("a count");
                part[0]
                    .as_str()
                    .expect("a text")
                    .repeat(usize::try_from(count).expect("fits"))
            })
            .collect(),
    }
}

#[test]
fn hostile_documents_end_in_a_tree_or_an_error() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/hostile/yaml.jsonl");
    let Ok(lines) = std::fs::read_to_string(&path) else {
        println!("left out: {} is not here", path.display());
        return;
    };
    let mut run = 0;
    for line in lines.lines() {
        let vector: Value = serde_json::from_str(line).expect("JSON");
        let text = input(&vector);
        let whole = Span {
            start: 0,
            end: text.len(),
        };
        let (node, findings) = parse("t", &text, whole, &Options::default());
        match vector["expect"].as_str() {
            Some("refuse") => assert!(!findings.is_empty(), "{}", vector["id"]),
            Some("ok") => {
                let read = node.expect("a tree").value();
                let read: Value =
                    serde_json::from_str(&quillet_core::json::to_string(&read)).expect("JSON");
                assert_eq!(read, vector["result"], "{}", vector["id"]);
            }
            _ => {}
        }
        run += 1;
    }
    assert!(run >= 8, "{run} vectors");
}
