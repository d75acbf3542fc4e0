//! `quillet push|pull|log|show|diff|label|labels|promote|rollback|rm|gc|export|import`.

mod checks;
mod files;
mod mistakes;
#[cfg(feature = "redis")]
mod replicas;
mod shown;
mod story;
mod transfers;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use quillet_core::store::{EntryKey, EntryKind};
use quillet_store::StoreOptions;
use serde_json::Value as Tree;

use crate::{Done, Place};

/// Files of a folder store: a template, a prompt that calls it, a tool, and a script.
const FILES: [(&str, &str); 4] = [
    (
        "repo/prompts/greet/hello.gotmpl",
        "Hello {{.variables.name}}!\n",
    ),
    (
        "repo/prompts/greet/all.json",
        r#"{"messages": [{"role": "user", "content": "{{template \"greet.hello\" .}}Bye."}]}"#,
    ),
    (
        "repo/tools/m/f.yaml",
        "type: restful\nurl: http://127.0.0.1:1/\nparameters: {type: object, properties: {}}\n",
    ),
    ("repo/prompts/talk.ai.yaml", "- user: hi\n"),
];

/// A store under test.
struct Work<'a> {
    place: &'a Place,
    store: &'a str,
}

impl Work<'_> {
    fn run(&self, args: &[&str]) -> Done {
        let env = [("QUILLET_STORE", self.store), ("USER", "ada")];
        self.place.run_with(args, "", &env)
    }

    /// Runs a command that must succeed, and returns its output.
    #[track_caller]
    fn out(&self, args: &[&str]) -> String {
        let done = self.run(args);
        assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
        done.out
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Tree {
        serde_json::from_str(&self.out(args)).unwrap()
    }

    /// Numbers, authors, messages and labels of a definition's versions in the log.
    #[track_caller]
    fn versions(&self, id: &str) -> Vec<String> {
        let versions = self.json(&["log", id, "--json"]);
        let shown = versions.as_array().unwrap().iter().map(|version| {
            let labels = version["labels"].as_array().unwrap().iter();
            let labels: Vec<&str> = labels.map(|label| label.as_str().unwrap()).collect();
            let message = version["message"].as_str().unwrap_or_default();
            let author = version["author"].as_str().unwrap();
            let number = &version["number"];
            format!("{number} {author} {message:?} {}", labels.join("+"))
        });
        shown.collect()
    }

    /// Writes to the store directly, without a version, like `redis-cli`, an editor or `sqlite3`.
    fn by_hand(&self, key: &str, text: &str) {
        let relative = self
            .store
            .strip_prefix("sqlite:")
            .map(|file| format!("sqlite:{}", self.place.path().join(file).display()));
        if let Some(folder) = self.store.strip_prefix("dir:") {
            let file = format!("{folder}/prompts/{}.json", key.replace(':', "/"));
            fs::write(self.place.path().join(file), text).unwrap();
            return;
        }
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let url = relative.as_deref().unwrap_or(self.store);
            let store = quillet_store::open(url, &StoreOptions::default()).await;
            let key = EntryKey::new(key);
            store
                .unwrap()
                .put(EntryKind::Prompt, &key, text)
                .await
                .unwrap();
        });
    }
}

/// Returns every file below a folder with its bytes.
fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                let name = entry.path().display().to_string();
                // SQLite creates and deletes these files while it only reads.
                if !name.ends_with("-shm") && !name.ends_with("-wal") {
                    found.insert(name, fs::read(entry.path()).unwrap());
                }
            }
        }
    }
    found
}
