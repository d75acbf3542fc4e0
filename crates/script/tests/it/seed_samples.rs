//! Checks that every sample in the language text has a test case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::cases::case::{self, Case, File};
use crate::cases::run_file;

/// A sample of the language text, and the cases that contain it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    /// Line number of its fence.
    line: usize,
    /// The language of the fence: `yaml`, `bash`, `json`.
    language: String,
    cases: Vec<String>,
    /// The changes needed to run it. `None` if a case contains it unchanged.
    adapted: Option<String>,
}

fn conformance(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/scripts");
    folder.join(name)
}

fn samples() -> Vec<Sample> {
    let text = std::fs::read_to_string(conformance("SAMPLES.json")).expect("the list is there");
    serde_json::from_str(&text).expect("the list holds samples")
}

fn cases() -> BTreeMap<String, Case> {
    let cases = case::load(&conformance("seed-samples.json")).expect("the file holds cases");
    cases
        .into_iter()
        .map(|case| (case.id.clone(), case))
        .collect()
}

#[test]
fn every_sample_runs_as_the_text_says() {
    let report = run_file(&conformance("seed-samples.json"), |_| true).expect("cases");
    report.print(false);
    assert_eq!(
        report.unexplained(),
        [""; 0],
        "neither passed nor explained"
    );
    assert_eq!(
        report.stale(),
        [""; 0],
        "listed as known differences, and pass"
    );
}

#[test]
fn every_sample_of_the_list_has_cases_and_every_case_a_sample() {
    let (samples, cases) = (samples(), cases());
    for sample in &samples {
        assert!(!sample.cases.is_empty(), "line {} has no case", sample.line);
        let missing = sample.cases.iter().find(|id| !cases.contains_key(*id));
        assert_eq!(missing, None, "line {}", sample.line);
    }
    let listed = |id: &String| samples.iter().any(|sample| sample.cases.contains(id));
    let unlisted: Vec<&String> = cases.keys().filter(|id| !listed(id)).collect();
    assert_eq!(unlisted, [""; 0], "cases of no sample");
}

#[test]
fn the_list_has_all_samples_of_the_text_word_for_word() {
    let Some(text) = seed() else {
        return;
    };
    let (samples, cases) = (samples(), cases());
    let fences = fences(&text);
    let listed = samples
        .iter()
        .map(|sample| (sample.line, sample.language.as_str()));
    let written = fences.iter().map(|fence| (fence.line, fence.language));
    assert!(listed.eq(written), "{samples:#?}");
    for (sample, fence) in samples.iter().zip(&fences) {
        if sample.adapted.is_some() {
            continue;
        }
        let has = |id: &String| cases.get(id).is_some_and(|case| holds(case, &fence.text));
        let exact = sample.cases.iter().any(has);
        assert!(
            exact,
            "line {}: no case has the sample as it is written",
            sample.line
        );
    }
}

fn holds(case: &Case, sample: &str) -> bool {
    case.files.values().any(|file| match file {
        File::Text(text) => text.contains(sample),
        File::Lines(lines) => [lines.join("\n"), "\n".into()].concat().contains(sample),
        File::Bytes { .. } => false,
    })
}

/// Returns the language text, if it is available.
fn seed() -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let is_text = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("002")
    };
    let Some(path) = entries.map(|entry| entry.path()).find(is_text) else {
        println!("left out: the text is not in {}", folder.display());
        return None;
    };
    Some(std::fs::read_to_string(path).expect("the text can be read"))
}

/// A fenced code block.
#[derive(Debug)]
struct Fence<'t> {
    line: usize,
    language: &'t str,
    /// The code without the indentation of its fence.
    text: String,
}

fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut found = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let bare = line.trim_start_matches(' ');
        let Some(language) = bare
            .strip_prefix("```")
            .filter(|language| !language.is_empty())
        else {
            continue;
        };
        let indent = line.len() - bare.len();
        let inside = lines.by_ref().map(|(line, _)| line);
        let inside = inside.take_while(|line| line.trim() != "```");
        let text = inside.map(|line| [line.get(indent..).unwrap_or_default(), "\n"].concat());
        found.push(Fence {
            line: number,
            language: language.trim(),
            text: text.collect(),
        });
    }
    found
}
