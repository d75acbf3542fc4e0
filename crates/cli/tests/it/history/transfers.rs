//! `quillet export`, `quillet import`.

use std::fs;

use serde_json::Value as Tree;

use super::{FILES, Work};
use crate::Place;

#[test]
fn an_import_that_broke_off_is_begun_again_and_doubles_nothing() {
    let place = Place::new().with(&FILES);
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    for text in ["One", "Two", "Three"] {
        fs::write(place.path().join("repo/prompts/greet/hello.gotmpl"), text).unwrap();
        work.out(&["push", "repo", "-m", text, "--label", "staging"]);
    }
    let whole = work.out(&["export"]);
    let lines: Vec<&str> = whole.lines().collect();
    let of_hello = lines
        .iter()
        .position(|line| line.contains("greet:hello"))
        .unwrap();
    // A history with only two of its versions, and a file that ends in the middle of a line.
    let mut part: Tree = serde_json::from_str(lines[of_hello]).unwrap();
    part["versions"].as_array_mut().unwrap().truncate(2);
    part["labels"] = serde_json::json!({});
    fs::write(place.path().join("part.jsonl"), part.to_string()).unwrap();
    fs::write(place.path().join("cut.jsonl"), &whole[..whole.len() - 9]).unwrap();
    fs::write(place.path().join("whole.jsonl"), &whole).unwrap();
    let other = Work {
        place: &place,
        store: "sqlite:o.db",
    };
    other.out(&["import", "part.jsonl"]);
    let last = format!("line {}: EOF", lines.len());
    other
        .run(&["import", "cut.jsonl"])
        .fails(1, &[&last, "nothing was imported"]);
    assert_eq!(other.out(&["prompt", "list"]), "greet.hello\n");
    let came = other.out(&["import", "whole.jsonl"]);
    assert!(came.contains("prompt greet.hello: 1 version\n"), "{came}");
    assert_eq!(other.out(&["export"]), whole);
    // A conflicting history is rejected, and the others are still imported.
    let third = Work {
        place: &place,
        store: "sqlite:t.db",
    };
    third.by_hand("greet:hello", "{\"userPrompt\": \"Mine\"}");
    let done = third.run(&["import", "whole.jsonl"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(
        done.out.contains("prompt greet.all: 1 version\n"),
        "{done:?}"
    );
    assert!(
        done.err
            .contains("greet.hello: version 1 differs from the imported version"),
        "{done:?}"
    );
    assert_eq!(third.versions("greet.hello"), ["1 store \"\" latest"]);
}
