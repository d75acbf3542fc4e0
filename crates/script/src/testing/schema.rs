//! Checks that `schemas/fixture.schema.json` matches the fixture parser.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use quillet_schema::{Rules, Validator};
use quillet_yaml::{Node, Options, Tags};
use serde_json::Value as Json;

use super::{answers, expect, read, split};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schema() -> Json {
    let text = fs::read_to_string(root().join("schemas/fixture.schema.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Returns the front matter and the body as JSON.
fn documents(text: &str) -> Vec<Json> {
    let options = Options {
        tags: Tags::Keep,
        ..Options::default()
    };
    let (front, body) = split::split(text);
    let parts = front.into_iter().chain([body]);
    let nodes = parts.filter_map(|part| quillet_yaml::parse("", text, part, &options).0);
    nodes.map(|node: Node| Json::from(&node.value())).collect()
}

#[test]
fn the_schema_has_the_keys_that_are_read() {
    let schema = schema();
    let keys = "/$defs/keys/properties";
    for (place, known) in [
        (keys.to_owned(), &read::KEYS[..]),
        (format!("{keys}/expect/properties"), &expect::KEYS[..]),
        ("/$defs/reply/properties".to_owned(), &answers::KEYS[..]),
    ] {
        let there = schema.pointer(&place).and_then(Json::as_object).unwrap();
        let there: BTreeSet<&str> = there.keys().map(String::as_str).collect();
        assert_eq!(there, known.iter().copied().collect(), "{place}");
    }
}

#[test]
fn the_fixtures_of_the_examples_are_valid() {
    let schema = Validator::new(&schema(), Rules::default()).unwrap();
    let mut count = 0;
    for folder in fs::read_dir(root().join("examples/scripts")).unwrap() {
        let folder = folder.unwrap().path();
        for file in fs::read_dir(folder).into_iter().flatten() {
            let path = file.unwrap().path();
            if !path.display().to_string().ends_with(".fixture.yaml") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for value in documents(&text) {
                assert_eq!(schema.findings(&value, 9), [], "{}", path.display());
                count += 1;
            }
        }
    }
    assert!(count >= 5, "{count}");
}
