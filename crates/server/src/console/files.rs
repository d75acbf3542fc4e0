//! The embedded files of `crates/server/console`.

/// A file of the console.
pub(super) struct ConsoleFile {
    /// The path below `/console/`.
    pub(super) path: &'static str,
    pub(super) text: &'static str,
    /// The compressed text from `build.rs`.
    pub(super) gzip: &'static [u8],
}

impl ConsoleFile {
    /// Returns the media type.
    pub(super) fn kind(&self) -> &'static str {
        match self.path.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/javascript; charset=utf-8",
        }
    }
}

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(ConsoleFile {
            path: $path,
            text: include_str!(concat!("../../console/", $path)),
            gzip: include_bytes!(concat!(env!("OUT_DIR"), "/console/", $path)),
        }),+]
    };
}

/// All files. A test checks that none is missing.
pub(super) const FILES: &[ConsoleFile] = files![
    "answer.js",
    "answers.js",
    "api.js",
    "app.css",
    "app.js",
    "approval.js",
    "chart.js",
    "chat.js",
    "code.js",
    "definition.js",
    "fixture.js",
    "follow.js",
    "grid.js",
    "history.js",
    "icon.svg",
    "index.html",
    "list.js",
    "merge.js",
    "merging.js",
    "messages.js",
    "place.js",
    "provenance.js",
    "running.js",
    "schema.js",
    "templates.js",
    "text.js",
    "trace.js",
    "tree.js",
    "value.js",
    "variables.js",
    "view.js",
    "screens/agents.js",
    "screens/batches.js",
    "screens/databases.js",
    "screens/docs.js",
    "screens/editor.js",
    "screens/play.js",
    "screens/prompt.js",
    "screens/prompts.js",
    "screens/runs.js",
    "screens/scripts.js",
    "screens/system.js",
    "screens/traces.js",
    "screens/versions.js",
    "zh/prompts.js",
    "zh/shell.js",
    "zh/work.js",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::FILES;

    fn walk(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), &format!("{name}/"), found);
            } else {
                found.insert(name);
            }
        }
    }

    #[test]
    fn no_file_is_left_out() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("console");
        let mut found = BTreeSet::new();
        walk(&folder, "", &mut found);
        let listed: BTreeSet<String> = FILES.iter().map(|file| file.path.to_owned()).collect();
        assert_eq!(listed, found);
    }
}
