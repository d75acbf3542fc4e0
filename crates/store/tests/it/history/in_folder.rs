//! Histories next to a folder, whose files users read, edit and commit.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::history::{
    Action, Commit, DefinitionContent, LabelMove, LabelTarget, LogEntry, LogFilter, STORE,
};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreErrorKind};
use quillet_store::StoreOptions;
use quillet_test_support::TempDir;

use super::{history, keep, keep_all, numbers, prompt, texts, versions, whole, write};
use crate::support::{arrives, one, open, open_with};

/// A folder `store` in a temporary folder.
struct Place(TempDir);

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Place(TempDir::new());
        fs::create_dir(place.path("store")).unwrap();
        files
            .iter()
            .for_each(|(path, text)| place.write(path, text));
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    async fn open(&self) -> Arc<dyn Store> {
        open(&self.address()).await
    }

    fn address(&self) -> String {
        format!("dir:{}", self.path("store").display())
    }

    /// Returns all files below a folder, as relative paths.
    fn files(&self, below: &str) -> Vec<String> {
        let (mut files, mut folders) = (Vec::new(), vec![self.path(below)]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let relative = path.strip_prefix(self.path(below)).unwrap();
                    files.push(relative.to_str().unwrap().to_owned());
                }
            }
        }
        files.sort();
        files
    }
}

fn label(name: &str, number: u64) -> LabelMove {
    LabelMove {
        name: name.to_owned(),
        to: Some(LabelTarget::Version(number)),
        expect: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_beside_the_folder_before_the_first_version() {
    let place = Place::new(&[]);
    let store = place.open().await;
    let key = EntryKey::new("greet:hello");
    let keys = [key.clone()];
    let gone = Commit::new(EntryKind::Prompt, key.clone(), None, "ada");
    keep(&store, &gone).await.unwrap_err();
    let moves = [label("production", 1)];
    let moved = history(&store)
        .relabel(EntryKind::Prompt, &key, &moves)
        .await;
    assert_eq!(moved.unwrap_err().kind, StoreErrorKind::NoVersion);
    history(&store)
        .collect(EntryKind::Prompt, &key, 1)
        .await
        .unwrap();
    history(&store)
        .observe(EntryKind::Prompt, &keys, STORE)
        .await
        .unwrap();
    history(&store)
        .log(&LogFilter::default(), None, 9)
        .await
        .unwrap();
    assert!(!place.path("store.history").exists());

    let labelled = Commit {
        labels: vec!["production".to_owned()],
        ..write(&key, "one")
    };
    keep(&store, &labelled).await.unwrap();
    keep_all(&store, &key, &["two", "one"]).await;
    assert_eq!(
        place.files("store.history"),
        [
            ".lock",
            "labels/prompt/greet/hello.json",
            "prompt/greet/hello.jsonl"
        ]
    );
    assert_eq!(place.files("store"), ["prompts/greet/hello.json"]);
    assert_eq!(
        place.read("store.history/labels/prompt/greet/hello.json"),
        "{\n  \"production\": 1\n}\n"
    );
    let lines = place.read("store.history/prompt/greet/hello.jsonl");
    let has_content: Vec<bool> = lines.lines().map(|line| line.contains("content")).collect();
    assert_eq!(has_content, [true, true, false], "{lines}");
}

/// A restored file is byte-for-byte the original, if its format allows that.
#[tokio::test(flavor = "multi_thread")]
async fn prompt_files_keep_their_form() {
    let function = "name: f\ntemplate: Hi {{$x}}\ntemplate_format: semantic-kernel\n";
    let place = Place::new(&[
        ("store/prompts/a.prompt", "---\nmodel: m\n---\nHi {{x}}\n"),
        ("store/prompts/b/c.prompty", "---\nname: c\n---\nHi {{x}}\n"),
        ("store/prompts/d/skprompt.txt", "Hi {{$x}}"),
        ("store/prompts/d/config.json", "{\"schema\": 1}"),
        ("store/prompts/e/skprompt.txt", "Ho {{$x}}"),
        ("store/prompts/f.yaml", function),
        ("store/prompts/g.ai.yaml", "user: hi\n"),
        ("store/prompts/h.j2", "Hi {{ x }}"),
        ("store/tools/t.yaml", "# why\ntype: restful\n"),
    ]);
    let store = place.open().await;
    let before = place.files("store");
    for (kind, name, path, comes_back) in [
        (EntryKind::Prompt, "a", "prompts/a.prompt", true),
        (EntryKind::Prompt, "b:c", "prompts/b/c.prompty", true),
        (EntryKind::Prompt, "d", "prompts/d/skprompt.txt", true),
        (EntryKind::Prompt, "e", "prompts/e/skprompt.txt", true),
        (EntryKind::Prompt, "f", "prompts/f.yaml", true),
        (EntryKind::Prompt, "g", "prompts/g.ai.yaml", true),
        (EntryKind::Prompt, "h", "prompts/h.j2", false),
        (EntryKind::Tool, "t", "tools/t.yaml", false),
    ] {
        let key = EntryKey::new(name);
        let keys = [key.clone()];
        let path = format!("store/{path}");
        let was = place.read(&path);
        let new = history(&store).observe(kind, &keys, STORE).await.unwrap();
        assert_eq!(new.len(), 1, "{name}");
        let kept = history(&store)
            .load_versions(kind, &[(key.clone(), 1)])
            .await;
        let first = kept.unwrap().into_iter().flatten().next().unwrap().content;
        let commit =
            |content: Option<DefinitionContent>| Commit::new(kind, key.clone(), content, "ada");

        // Equal content is not written, so the file remains as the user wrote it.
        let done = keep(&store, &commit(first.clone())).await.unwrap();
        assert!(!done.is_new, "{name}");
        assert_eq!(place.read(&path), was);

        let other = DefinitionContent::new(r#"{"userPrompt":"other"}"#);
        keep(&store, &commit(Some(other))).await.unwrap();
        assert!(!place.path(&path).exists(), "{name}");
        let done = keep(&store, &commit(first.clone())).await.unwrap();
        assert_eq!(done.version.number, 3, "{name}");
        if comes_back {
            assert_eq!(place.read(&path), was, "{name}");
        }
        // A changed text is written to the same file.
        if comes_back && name != "g" {
            let mut changed = first.clone().unwrap();
            changed.text = format!("{was}# more\n").into();
            keep(&store, &commit(Some(changed))).await.unwrap();
            assert_eq!(place.read(&path), format!("{was}# more\n"));
            keep(&store, &commit(first)).await.unwrap();
        }
        let new = history(&store).observe(kind, &keys, STORE).await;
        assert_eq!(new.unwrap(), [], "{name}");
    }
    let after: Vec<String> = before
        .iter()
        .map(|path| path.replace("h.j2", "h.json").replace("t.yaml", "t.json"))
        .collect();
    assert_eq!(place.files("store"), after);
    // A folder that is one prompt is removed with all its files.
    for name in ["a", "d", "e"] {
        let gone = Commit::new(EntryKind::Prompt, EntryKey::new(name), None, "ada");
        keep(&store, &gone).await.unwrap();
    }
    let left = place.files("store");
    assert!(
        !left.iter().any(|path| path.contains("prompts/a")),
        "{left:?}"
    );
    assert!(!left.iter().any(|path| path.contains("config")), "{left:?}");
    assert!(!place.path("store/prompts/d").exists());
}

/// An unreadable file is neither recorded nor overwritten.
#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_read_are_left_alone() {
    let place = Place::new(&[("store/prompts/a.json", "{}")]);
    let store = place.open().await;
    let key = EntryKey::new("a");
    let keys = [key.clone()];
    keep_all(&store, &key, &["one"]).await;
    fs::write(place.path("store/prompts/a.json"), b"\xff\xfe").unwrap();
    let new = history(&store)
        .observe(EntryKind::Prompt, &keys, STORE)
        .await;
    assert_eq!(new.unwrap(), []);
    let error = keep(&store, &write(&key, "two")).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Corrupt);
    assert!(error.message.contains("prompts/a.json"), "{error}");
    assert!(error.message.contains("fix"), "{error}");
    let text = fs::read(place.path("store/prompts/a.json")).unwrap();
    assert_eq!(text, b"\xff\xfe");
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_are_files_that_people_edit() {
    let place = Place::new(&[]);
    let (store, key) = (place.open().await, EntryKey::new("x"));
    let mut changes = store.changes();
    keep_all(&store, &key, &["one", "two"]).await;
    arrives(&mut changes, EntryKind::Prompt, "x").await;
    let path = "store.history/labels/prompt/x.json";
    place.write(path, "{\"production\": 1}");
    arrives(&mut changes, EntryKind::Label, "prompt:x").await;
    let text = one(&store, EntryKind::Label, "prompt:x").await;
    assert_eq!(text.as_deref(), Some("{\"production\": 1}"));

    for (broken, found) in [
        (
            "{\n  \"production\": \"one\"\n}",
            "x.json:2:3: invalid labels: label \"production\"",
        ),
        ("{\n  \"production\": 1,\n}", "x.json:3:1: invalid labels"),
        (
            "{\"latest\": 1}",
            "x.json:1:2: invalid labels: label \"latest\": latest is always",
        ),
    ] {
        place.write(path, broken);
        arrives(&mut changes, EntryKind::Label, "prompt:x").await;
        let entries = store.load(EntryKind::Label).await.unwrap();
        let problem = entries[0].problem.as_ref().unwrap().to_string();
        assert!(problem.starts_with("store.history/labels/prompt/x.json"));
        assert!(problem.contains(found), "{problem}");
        // Invalid labels must be distinguishable from missing ones.
        let text = one(&store, EntryKind::Label, "prompt:x").await;
        assert_eq!(text.as_deref(), Some(broken));
        let moves = [label("production", 2)];
        let moved = history(&store)
            .relabel(EntryKind::Prompt, &key, &moves)
            .await;
        assert_eq!(moved.unwrap_err().kind, StoreErrorKind::Corrupt);
        assert_eq!(place.read(path), broken);
    }
    place.write(path, "{\"next\": 2}");
    let moves = [label("production", 2)];
    let moved = history(&store)
        .relabel(EntryKind::Prompt, &key, &moves)
        .await;
    assert_eq!(moved.unwrap().0.len(), 2);
    let mut changes = store.changes();
    fs::remove_dir_all(place.path("store.history/labels")).unwrap();
    arrives(&mut changes, EntryKind::Label, "prompt:x").await;
    assert!(store.load(EntryKind::Label).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_do_not_end_are_cut_off() {
    let place = Place::new(&[]);
    let (store, key) = (place.open().await, EntryKey::new("x"));
    keep_all(&store, &key, &["one", "two"]).await;
    let line = LogEntry {
        number: 0,
        at_ms: 1,
        who: "ada".into(),
        from: "here".into(),
        action: Action::Write,
        kind: "prompt".into(),
        id: "x".into(),
        version: Some(1),
        label: None,
        message: "".into(),
    };
    history(&store).note(&line).await.unwrap();
    for path in ["store.history/prompt/x.jsonl", "store.history/log.jsonl"] {
        let torn = format!("{}{{\"version\":{{\"number\":3,", place.read(path));
        place.write(path, &torn);
    }
    assert_eq!(numbers(&versions(&store, &key).await), [1, 2]);
    let other = place.open().await;
    let third = keep_all(&other, &key, &["three"]).await;
    assert_eq!(third.number, 3);
    history(&other).note(&line).await.unwrap();
    let expected = ["one", "two", "three"].map(prompt);
    assert_eq!(texts(&store, &key).await, expected);
    let log = history(&store).log(&LogFilter::default(), None, 9).await;
    let log: Vec<u64> = log.unwrap().iter().map(|line| line.number).collect();
    assert_eq!(log, [2, 1]);
    for path in ["store.history/prompt/x.jsonl", "store.history/log.jsonl"] {
        let lines = place.read(path);
        let is_json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
        assert!(
            lines.ends_with('\n') && lines.lines().all(is_json),
            "{lines}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_is_written_wrongly_is_named() {
    let place = Place::new(&[]);
    let (store, key) = (place.open().await, EntryKey::new("x"));
    keep_all(&store, &key, &["one", "two"]).await;
    let path = "store.history/prompt/x.jsonl";
    let merged = place.read(path).replacen('\n', "\n<<<<<<< ours\n", 1);
    place.write(path, &merged);
    for error in [
        keep(&store, &write(&key, "three")).await.unwrap_err(),
        history(&store)
            .versions(EntryKind::Prompt, &key, None, 9)
            .await
            .unwrap_err(),
    ] {
        assert_eq!(error.kind, StoreErrorKind::Corrupt);
        let place = "store.history/prompt/x.jsonl: line 2:";
        assert!(error.message.contains(place), "{error}");
    }
    assert_eq!(place.read(path), merged);
    assert_eq!(
        one(&store, EntryKind::Prompt, "x").await,
        Some(prompt("two")),
        "what stands is served on"
    );
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn links_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let place = Place::new(&[("outside/file", "secret\n"), ("outside/folder/f", "")]);
    let store = place.open().await;
    keep_all(&store, &EntryKey::new("x"), &["one"]).await;
    let outside = place.path("outside/file");
    let folder = place.path("outside/folder");
    symlink(&outside, place.path("store.history/prompt/a.jsonl")).unwrap();
    symlink(&folder, place.path("store.history/prompt/b")).unwrap();
    symlink(&outside, place.path("store.history/log.jsonl")).unwrap();
    for name in ["a", "b:c"] {
        let refused = keep(&store, &write(&EntryKey::new(name), "one")).await;
        let error = refused.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Refused, "{error}");
        assert!(error.message.contains("leads out"), "{error}");
    }
    let log = history(&store).log(&LogFilter::default(), None, 9).await;
    assert_eq!(log.unwrap_err().kind, StoreErrorKind::Refused);
    let keys = history(&store).keys(EntryKind::Prompt).await.unwrap();
    assert!(!keys.contains(&EntryKey::new("b:f")));
    fs::create_dir_all(place.path("store.history/labels/prompt")).unwrap();
    symlink(&outside, place.path("store.history/labels/prompt/x.json")).unwrap();
    let moves = [label("production", 1)];
    let key = EntryKey::new("x");
    let moved = history(&store)
        .relabel(EntryKind::Prompt, &key, &moves)
        .await;
    assert!(moved.is_err());
    assert_eq!(place.read("outside/file"), "secret\n");
    assert_eq!(place.files("outside"), ["file", "folder/f"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_versions_does_not_grow_for_ever() {
    let place = Place::new(&[]);
    let options = StoreOptions {
        max_versions: 10,
        ..StoreOptions::default()
    };
    let (store, key) = (
        open_with(&place.address(), &options).await,
        EntryKey::new("x"),
    );
    let path = "store.history/prompt/x.jsonl";
    let mut longest = 0;
    for number in 1..=300 {
        keep_all(&store, &key, &[&number.to_string()]).await;
        longest = longest.max(place.read(path).lines().count());
    }
    assert!(longest < 250, "{longest} lines for 10 versions");
    let expected: Vec<u64> = (291..=300).collect();
    assert_eq!(numbers(&versions(&store, &key).await), expected);
    let again = place.open().await;
    assert_eq!(whole(&again, &key).await, whole(&store, &key).await);
}

/// Definitions of databases contain passwords, and so do their versions.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn histories_of_databases_are_private_files() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new(&[]);
    let store = place.open().await;
    for (kind, path, private) in [
        (EntryKind::Database, "store.history/database/d.jsonl", true),
        (EntryKind::Tool, "store.history/tool/d.jsonl", false),
    ] {
        let content = |n: u32| {
            Some(DefinitionContent::new(format!(
                "{{\"url\":\"sqlite:{n}\"}}"
            )))
        };
        for number in 0..5 {
            let commit = Commit::new(kind, EntryKey::new("d"), content(number), "ada");
            keep(&store, &commit).await.unwrap();
        }
        let is_private = || {
            let mode = fs::metadata(place.path(path)).unwrap().permissions().mode();
            mode & 0o777 == 0o600
        };
        assert_eq!(is_private(), private, "{path}");
        history(&store)
            .collect(kind, &EntryKey::new("d"), 1)
            .await
            .unwrap();
        assert_eq!(is_private(), private, "{path}");
    }
}

/// All paths to a folder lead to the same histories.
#[tokio::test(flavor = "multi_thread")]
async fn ways_to_one_folder_have_one_history() {
    let place = Place::new(&[("store/sub/x", "")]);
    let store = place.open().await;
    let key = EntryKey::new("x");
    keep_all(&store, &key, &["one"]).await;
    for way in ["store/", "store/.", "store/sub/..", "store/../store"] {
        let other = open(&format!("dir:{}", place.path(way).display())).await;
        assert_eq!(versions(&other, &key).await.len(), 1, "{way}");
    }
}
