//! Checks that every numbered feature of the language has tests or a reason for having none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_script::reader;
use quillet_script::syntax::ScriptSource;
use serde::Deserialize;

use crate::cases::case::{self, Case};
use crate::cases::run_file;

/// A feature, by its number in `docs/scripts/language.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Feature {
    number: u32,
    what: String,
    /// Ids of cases, and Rust tests as `crates/…/file.rs::name`.
    #[serde(default)]
    tests: Vec<String>,
    /// The reason for having no tests, or the missing part.
    not: Option<String>,
}

const FILES: [&str; 6] = [
    "inventory-answers.json",
    "inventory-code.json",
    "inventory-messages.json",
    "inventory-model.json",
    "inventory-scripts.json",
    "inventory-text.json",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn conformance(name: &str) -> PathBuf {
    root().join("conformance/scripts").join(name)
}

fn features() -> Vec<Feature> {
    let text = std::fs::read_to_string(conformance("INVENTORY.json")).expect("the list is there");
    serde_json::from_str(&text).expect("the list holds features")
}

fn cases() -> Vec<Case> {
    let of = |name: &&str| case::load(&conformance(name)).expect("the file holds cases");
    FILES.iter().flat_map(of).collect()
}

#[test]
fn every_feature_does_what_its_cases_say() {
    for name in FILES {
        let report = run_file(&conformance(name), |_| true).expect("cases");
        report.print(false);
        assert_eq!(
            report.unexplained(),
            [""; 0],
            "{name}: neither passed nor explained"
        );
        assert_eq!(
            report.stale(),
            [""; 0],
            "{name}: listed as known differences, and pass"
        );
    }
}

#[test]
fn every_number_has_tests_or_a_reason() {
    let features = features();
    let numbers = features.iter().map(|feature| feature.number);
    assert!(numbers.eq(1..=151), "all numbers, in order");
    for feature in &features {
        let number = feature.number;
        assert!(!feature.what.is_empty(), "{number} has no name");
        assert!(
            !feature.tests.is_empty() || feature.not.is_some(),
            "{number} has neither a test nor a reason"
        );
    }
}

#[test]
fn the_tests_of_every_number_exist() {
    let cases = cases();
    let ids: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids.len(), cases.len(), "ids are unique");
    for feature in features() {
        for test in &feature.tests {
            let there = match test.split_once("::") {
                Some((file, name)) => has_function(file, name),
                None => ids.contains(test.as_str()),
            };
            assert!(there, "{}: there is no test {test}", feature.number);
        }
    }
}

#[test]
fn every_case_stands_at_the_numbers_it_names() {
    let features = features();
    for case in cases() {
        assert!(!case.features.is_empty(), "{} holds no feature", case.id);
        for number in &case.features {
            let at = features.iter().find(|feature| feature.number == *number);
            let listed = at.is_some_and(|feature| feature.tests.contains(&case.id));
            assert!(listed, "{} is not listed at {number}", case.id);
        }
    }
}

#[test]
fn the_language_reference_has_every_number() {
    let path = root().join("docs/scripts/language.md");
    let text = std::fs::read_to_string(path).expect("the reference is there");
    for feature in features() {
        let number = feature.number;
        let starts = |line: &str| {
            let rest = line
                .strip_prefix("**")
                .and_then(|rest| rest.split_once("**"));
            let head = rest.map_or("", |(head, _)| head);
            let mut words = head.split(|c: char| !c.is_ascii_digit() && c != ' ' && c != ',');
            let numbers = words.next().unwrap_or_default();
            numbers
                .split(", ")
                .any(|word| word.trim().parse() == Ok(number))
        };
        assert!(text.lines().any(starts), "{number} has no paragraph");
    }
}

#[test]
fn the_scripts_of_the_documentation_can_be_read() {
    let mut read = 0;
    for page in ["README.md", "language.md"] {
        let text = std::fs::read_to_string(root().join("docs/scripts").join(page));
        let text = text.expect("the page is there");
        let blocks = text.split("```yaml\n").skip(1);
        let blocks = blocks.filter_map(|rest| rest.split("```").next());
        // A fixture is not a script.
        for block in blocks.filter(|block| !block.starts_with("- title:")) {
            let source = ScriptSource {
                name: page.to_owned(),
                path: None,
                text: block.into(),
            };
            let found = reader::read(Arc::new(source)).diagnostics;
            assert!(found.is_empty(), "{found:#?}\n{block}");
            read += 1;
        }
    }
    assert!(read > 10, "{read} blocks");
}

fn has_function(file: &str, name: &str) -> bool {
    let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
    text.contains(&format!("fn {name}("))
}
