//! Index of the scripts below a folder. It is built once and limited in size.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read;

use cap_std::fs::Dir;

use super::name;

/// Maximum depth of nested folders.
const DEPTH: usize = 4;
/// Maximum number of folder entries to scan. Any further entries are not found.
const MOST_ENTRIES: usize = 20_000;
/// Number of bytes at the start of a file that are searched for its `_id`.
const HEAD: u64 = 16 << 10;

/// Scripts below a folder, by the names that they can be called by.
#[derive(Debug, Default)]
pub(super) struct ScriptIndex {
    /// Paths relative to the root, nearest folders first.
    pub(super) paths: Vec<String>,
    /// Indices of `paths` by file name without extension.
    by_stem: BTreeMap<String, usize>,
}

impl ScriptIndex {
    /// Scans a folder breadth-first, each level in alphabetical order.
    pub(super) fn of(root: &Dir) -> Self {
        let mut index = ScriptIndex::default();
        let mut left = MOST_ENTRIES;
        let mut folders = VecDeque::from([(String::new(), 0)]);
        while let Some((folder, depth)) = folders.pop_front() {
            for (path, is_folder) in entries(root, &folder, &mut left) {
                match is_folder {
                    true if depth < DEPTH => folders.push_back((path, depth + 1)),
                    true => {}
                    false => index.add(path),
                }
            }
        }
        index
    }

    fn add(&mut self, path: String) {
        let Some(stem) = name::stem(&path) else {
            return;
        };
        let place = self.paths.len();
        self.by_stem.entry(stem.to_owned()).or_insert(place);
        self.paths.push(path);
    }

    /// Returns the path of the script with a file name (without extension).
    pub(super) fn by_stem(&self, stem: &str) -> Option<&str> {
        let place = *self.by_stem.get(stem)?;
        self.paths.get(place).map(String::as_str)
    }

    /// Returns all file names without extension.
    pub(super) fn stems(&self) -> impl Iterator<Item = &str> {
        self.by_stem.keys().map(String::as_str)
    }
}

/// Lists folders and scripts in a folder, in alphabetical order. An unreadable folder is treated as
/// empty.
fn entries(root: &Dir, folder: &str, left: &mut usize) -> Vec<(String, bool)> {
    let open = if folder.is_empty() { "." } else { folder };
    let Ok(read) = root.read_dir(open) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in read.flatten() {
        if *left == 0 {
            break;
        }
        *left -= 1;
        let file_name = entry.file_name();
        let (Some(base), Ok(kind)) = (file_name.to_str(), entry.file_type()) else {
            continue;
        };
        let wanted = kind.is_dir() || name::stem(base).is_some();
        if wanted && !base.starts_with('.') && base != "node_modules" {
            let path = if folder.is_empty() {
                base.to_owned()
            } else {
                format!("{folder}/{base}")
            };
            found.push((path, kind.is_dir()));
        }
    }
    found.sort_unstable();
    found
}

/// Reads the `_id` of a front matter from the start of a file, without parsing the script.
pub(super) fn declared_id(root: &Dir, path: &str) -> Option<String> {
    let file = root.open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head).ok()?;
    id_line(&String::from_utf8_lossy(&head))
}

/// Returns the value of `_id:` in a front matter, which is between `---` and the next line that
/// starts with `---`.
fn id_line(text: &str) -> Option<String> {
    let skipped = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let mut lines = text.lines().skip_while(skipped);
    if lines.next()?.trim_end() != "---" {
        return None;
    }
    let value = lines
        .take_while(|line| !line.starts_with("---"))
        .find_map(|line| line.strip_prefix("_id:"))?;
    let value = value.split(" #").next()?.trim();
    let value = value.trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::id_line;

    #[test]
    fn an_id_is_read_from_the_front_matter_only() {
        let table = [
            ("---\n_id: a\n---\n", Some("a")),
            (
                "\n# c\n---\r\nx: 1\r\n_id: \"b c\" # its name\r\n---\r\n",
                Some("b c"),
            ),
            ("_id: a\n", None),
            ("---\nx: 1\n---\n_id: a\n", None),
            ("---\n  _id: a\n---\n", None),
            ("---\n_id:\n---\n", None),
        ];
        for (text, id) in table {
            assert_eq!(id_line(text).as_deref(), id, "{text:?}");
        }
    }
}
