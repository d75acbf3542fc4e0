//! Known differences: a file with an id and a reason per line.

use std::collections::BTreeMap;
use std::path::Path;

/// Returns the reasons by id, for all files of cases.
pub(super) fn differences() -> Result<BTreeMap<String, String>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = folder.join("../../conformance/known/scripts.txt");
    let place = path.display();
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{place}: {error}"))?;
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.split_once(' ') {
            Some((id, reason)) => Ok((id.to_owned(), reason.to_owned())),
            None => Err(format!("{place}: {line}: a reason is missing")),
        })
        .collect()
}
