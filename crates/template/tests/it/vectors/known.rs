//! Known and explained differences. Each line of `known/<file>.txt`, next to the vectors, has an id
//! and a reason.

use std::collections::BTreeMap;
use std::path::Path;

/// Returns the reasons by id, or an empty map if there is no such file.
pub(super) fn differences(vectors: &Path) -> Result<BTreeMap<String, String>, String> {
    let name = vectors.file_stem().unwrap_or_default();
    let path = vectors
        .with_file_name("known")
        .join(name)
        .with_extension("txt");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.split_once(' ') {
            Some((id, reason)) => Ok((id.to_owned(), reason.to_owned())),
            None => Err(format!("{}: {line}: a reason is missing", path.display())),
        })
        .collect()
}
