//! Test vectors for prompt files: their locations, and how many must pass.

use std::path::Path;

use serde_json::Value as Tree;

/// Loads our own vectors.
pub(super) fn own(name: &str) -> Tree {
    serde_json::from_str(&conformance(name)).unwrap()
}

/// Ids of known differences, each with its reason.
pub(super) fn known(name: &str) -> Vec<(String, String)> {
    let text = conformance(&format!("known/{name}"));
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pair = |line: &str| {
        let (id, reason) = line.split_once(' ').unwrap();
        (id.to_owned(), reason.to_owned())
    };
    lines.map(pair).collect()
}

fn conformance(name: &str) -> String {
    std::fs::read_to_string(root().join("conformance").join(name)).unwrap()
}

/// Loads third-party vectors, which are stored outside the repository. Prints a note if they are
/// missing.
pub(super) fn third_party(name: &str) -> Option<Tree> {
    let path = root().join("../shared/vectors").join(name);
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("left out: {name} is not beside the project");
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Result of a set of vectors.
#[derive(Default)]
pub(super) struct Tally {
    passed: usize,
    failed: Vec<(String, String)>,
}

impl Tally {
    pub(super) fn add(&mut self, id: impl Into<String>, result: Result<(), String>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(why) => self.failed.push((id.into(), why)),
        }
    }

    /// Checks that the failures are exactly the known differences.
    pub(super) fn hold(&self, what: &str, total: usize, known: &[(String, String)]) {
        assert_eq!(
            self.passed + self.failed.len(),
            total,
            "{what}: all were run"
        );
        let ids: Vec<&str> = self.failed.iter().map(|(id, _)| id.as_str()).collect();
        let known: Vec<&str> = known.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, known, "{what}: {:#?}", self.failed);
    }
}
