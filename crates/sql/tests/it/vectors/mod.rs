//! Runs the files of test vectors: safety, LIMIT, and table selection.

mod limit;
mod safety;
mod selection;

use std::path::Path;

use serde_json::Value;

/// Outcome of one case.
pub(crate) struct Outcome {
    /// Its id, or its index in the file.
    pub(crate) id: String,
    /// Expected and actual result, if they differ.
    pub(crate) difference: Option<String>,
}

/// Runs every case of a file. The keys of the file determine its kind.
pub(crate) fn run(path: &Path) -> Result<Vec<Outcome>, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    let file: Value = serde_json::from_str(&text).map_err(|error| format!("{shown}: {error}"))?;
    let cases = file["cases"]
        .as_array()
        .ok_or_else(|| format!("{shown}: there is no list of cases"))?;
    let has = |key: &str| cases.iter().all(|case| case.get(key).is_some());
    let check: fn(&Value, &Value) -> Option<String> = match () {
        () if has("verdict") => safety::difference,
        () if has("own_limit") => limit::difference,
        () if has("llm_reply") => selection::difference,
        () => return Err(format!("{shown}: no kind of vectors that is known")),
    };
    let outcome = |(i, case): (usize, &Value)| Outcome {
        id: case["id"]
            .as_str()
            .map_or_else(|| format!("{}", i + 1), str::to_owned),
        difference: check(&file, case),
    };
    Ok(cases.iter().enumerate().map(outcome).collect())
}

/// Returns the text of a field; empty if it is missing.
fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_default()
}

/// All vectors must pass, except those listed with a reason.
#[cfg(test)]
#[test]
fn all_vectors_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let known = std::fs::read_to_string(root.join("known/sql.txt")).unwrap();
    let known: Vec<&str> = known
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    for file in ["guard", "sql-safety", "sql-limit", "nl2sql-phase1"] {
        let outcomes = run(&root.join("sql").join(file).with_extension("json")).unwrap();
        assert!(!outcomes.is_empty(), "{file}");
        for outcome in outcomes {
            let is_known = known.contains(&outcome.id.as_str());
            let difference = outcome.difference.as_deref();
            assert_eq!(
                is_known,
                difference.is_some(),
                "{}: {difference:?}",
                outcome.id
            );
        }
    }
}
