//! Folder store.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use quillet_core::store::{EntryKey, EntryKind, StoreChange, StoreErrorKind};
use quillet_store::StoreOptions;
use quillet_test_support::TempDir;
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::support::{arrives, becomes, names, one, open, open_with};

struct Files(TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = Files(TempDir::new());
        files.iter().for_each(|(path, text)| dir.write(path, text));
        dir
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn address(&self) -> String {
        format!("dir:{}", self.0.path().display())
    }
}

#[tokio::test]
async fn files_become_entries() {
    let files = Files::new(&[
        ("environs/vscode/lang.json", "\"go\""),
        ("environs/model/gpt-4.1.yaml", "window: 1000000\n"),
        ("prompts/review.gotmpl", "Review {{.variables.code}}"),
        ("templates/ext/old.jinja", "{{ x }}"),
        ("prompts/notes.md", "no definition"),
        ("prompts/.hidden.yaml", "a: 1"),
        ("tools/a/b/c.yml", "type: restful"),
        ("agents/team/helper.yaml", "model: m\ntools: [search]\n"),
        ("README.md", "no definition"),
    ]);
    let store = open(&files.address()).await;
    let agents = store.load(EntryKind::Agent).await.unwrap();
    assert_eq!(names(&agents), ["team:helper"]);
    assert_eq!(&*agents[0].text, r#"{"model":"m","tools":["search"]}"#);
    let environs = store.load(EntryKind::Environ).await.unwrap();
    assert_eq!(names(&environs), ["model:gpt-4.1", "vscode:lang"]);
    assert_eq!(&*environs[0].text, r#"{"window":1000000}"#);
    assert_eq!(&*environs[0].origin, "environs/model/gpt-4.1.yaml");
    let prompts = store.load(EntryKind::Prompt).await.unwrap();
    assert_eq!(names(&prompts), ["ext:old", "review"]);
    assert_eq!(
        &*prompts[0].text,
        r#"{"userPrompt":"{{ x }}","format":"jinja"}"#
    );
    assert_eq!(
        one(&store, EntryKind::Tool, "a:b:c").await.unwrap(),
        r#"{"type":"restful"}"#
    );
}

#[tokio::test]
async fn what_is_broken_is_listed_with_its_place() {
    let files = Files::new(&[
        ("tools/good.yaml", "a: 1"),
        ("tools/bad.yaml", "a: 1\nb: [1, 2\nc: 3\n"),
        ("tools/json.json", "{\"a\": }"),
        ("tools/long.yaml", &format!("a: {}", "x".repeat(200))),
        ("tools/twice.yaml", "a: 1\na: 2\n"),
    ]);
    fs::write(files.path("tools/latin.yaml"), b"a: \xe4").unwrap();
    let options = StoreOptions {
        max_file_bytes: 100,
        ..StoreOptions::default()
    };
    let store = open_with(&files.address(), &options).await;
    let entries = store.load(EntryKind::Tool).await.unwrap();
    let problems: Vec<String> = entries
        .iter()
        .map(|entry| {
            entry
                .problem
                .as_ref()
                .map_or("-".to_owned(), ToString::to_string)
        })
        .collect();
    let expected = [
        "tools/bad.yaml:3:",
        "-",
        // The parser of the entry reports errors in JSON.
        "-",
        "tools/latin.yaml: invalid UTF-8 at byte offset 3",
        "tools/long.yaml: larger than the limit of 100 bytes (max_file_bytes)",
        "tools/twice.yaml:2:1: invalid YAML: duplicate key `a`",
    ];
    assert_eq!(
        names(&entries),
        ["bad", "good", "json", "latin", "long", "twice"]
    );
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.starts_with(expected), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_files_are_told() {
    let files = Files::new(&[("tools/a.yaml", "v: 1")]);
    let store = open(&files.address()).await;
    let mut changes = store.changes();

    files.write("tools/a.yaml", "v: 2");
    let change = arrives(&mut changes, EntryKind::Tool, "a").await;
    assert_eq!(
        change,
        StoreChange::Entry(EntryKind::Tool, EntryKey::new("a"))
    );
    assert_eq!(
        one(&store, EntryKind::Tool, "a").await.unwrap(),
        r#"{"v":2}"#
    );

    files.write("environs/new/deep/x.json", "1");
    arrives(&mut changes, EntryKind::Environ, "new:deep:x").await;

    fs::write(files.path("tools/.b.tmp"), "v: 1").unwrap();
    fs::rename(files.path("tools/.b.tmp"), files.path("tools/b.yaml")).unwrap();
    arrives(&mut changes, EntryKind::Tool, "b").await;

    fs::remove_file(files.path("tools/a.yaml")).unwrap();
    arrives(&mut changes, EntryKind::Tool, "a").await;
    assert_eq!(one(&store, EntryKind::Tool, "a").await, None);

    fs::remove_dir_all(files.path("environs")).unwrap();
    arrives(&mut changes, EntryKind::Environ, "new:deep:x").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_goes_is_away_until_it_comes_back() {
    let files = Files::new(&[("store/tools/a.yaml", "v: 1")]);
    let store = open(&format!("{}/store", files.address())).await;
    let mut changes = store.changes();
    fs::rename(files.path("store"), files.path("gone")).unwrap();
    becomes(&store, false).await;
    let error = store.load(EntryKind::Tool).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable);
    fs::rename(files.path("gone"), files.path("store")).unwrap();
    assert_eq!(
        arrives(&mut changes, EntryKind::Tool, "a").await,
        StoreChange::All
    );
    assert!(one(&store, EntryKind::Tool, "a").await.is_some());
}

/// As a deployment does; the watch must not stay on the old folder.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_replaced_is_watched_on() {
    let files = Files::new(&[
        ("store/tools/a.yaml", "v: 1"),
        ("next/tools/b.yaml", "v: 1"),
    ]);
    let store = open(&format!("{}/store", files.address())).await;
    let mut changes = store.changes();
    fs::rename(files.path("store"), files.path("old")).unwrap();
    fs::rename(files.path("next"), files.path("store")).unwrap();
    arrives(&mut changes, EntryKind::Tool, "b").await;
    files.write("store/tools/c.yaml", "v: 1");
    arrives(&mut changes, EntryKind::Tool, "c").await;
}

#[cfg(unix)]
#[tokio::test]
async fn links_stay_inside() {
    let outside = Files::new(&[("secret.json", "\"s3cret\""), ("dir/x.json", "\"s3cret\"")]);
    let files = Files::new(&[("environs/real.json", "1"), ("data/y.json", "2")]);
    symlink(
        outside.path("secret.json"),
        files.path("environs/file.json"),
    )
    .unwrap();
    symlink(outside.path("dir"), files.path("environs/dir")).unwrap();
    symlink(
        files.path("data/y.json"),
        files.path("environs/inside.json"),
    )
    .unwrap();
    symlink(files.path("environs"), files.path("environs/circle")).unwrap();
    symlink("nowhere.json", files.path("environs/dangling.json")).unwrap();
    let store = open(&files.address()).await;

    let entries = store.load(EntryKind::Environ).await.unwrap();
    assert!(entries.iter().all(|entry| !entry.text.contains("s3cret")));
    let find = |key: &str| entries.iter().find(|entry| entry.key.as_str() == key);
    assert_eq!(&*find("inside").unwrap().text, "2");
    assert_eq!(&*find("real").unwrap().text, "1");
    assert!(find("dir:x").is_none());
    for (key, part) in [("file", "leads out"), ("dangling", "No such file")] {
        let problem = find(key).unwrap().problem.as_ref().unwrap().to_string();
        assert!(problem.contains(part), "{problem}");
    }

    let refused = store
        .put(EntryKind::Environ, &EntryKey::new("dir:new"), "1")
        .await
        .unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Refused);
    assert!(!outside.path("dir/new.json").exists());
    // The symbolic link is replaced, and its target is unchanged.
    store
        .put(EntryKind::Environ, &EntryKey::new("file"), "1")
        .await
        .unwrap();
    let secret = fs::read_to_string(outside.path("secret.json")).unwrap();
    assert_eq!(secret, "\"s3cret\"");
}

#[tokio::test]
async fn hostile_ids_are_refused() {
    let files = Files::new(&[]);
    let store = open(&files.address()).await;
    let vectors = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../conformance/hostile/paths.jsonl"
    );
    for line in fs::read_to_string(vectors).unwrap().lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let id = vector["id"].as_str().unwrap();
        // Another test checks symbolic links out of the folder. Here, these names are only unknown.
        if ["p-v-05", "p-v-11", "p-v-12"].contains(&id) {
            continue;
        }
        let key = EntryKey::new(vector["value"].as_str().unwrap());
        let written = store.put(EntryKind::Prompt, &key, "1").await;
        assert_eq!(
            written.is_ok(),
            vector["expect"] == "allow",
            "{id}: {written:?}"
        );
        assert_eq!(
            store.remove(EntryKind::Prompt, &key).await.unwrap(),
            written.is_ok()
        );
    }
    let mut left: Vec<_> = fs::read_dir(files.0.path()).unwrap().collect();
    assert_eq!(left.pop().unwrap().unwrap().file_name(), "prompts");
    assert!(left.is_empty());
}

#[tokio::test]
async fn writing_takes_the_place_of_other_forms() {
    let files = Files::new(&[("prompts/p.gotmpl", "one"), ("prompts/p2.yaml", "a: 1")]);
    let store = open(&files.address()).await;
    for key in ["p", "p2"] {
        store
            .put(
                EntryKind::Prompt,
                &EntryKey::new(key),
                "{\"userPrompt\":\"two\"}",
            )
            .await
            .unwrap();
        let text = one(&store, EntryKind::Prompt, key).await.unwrap();
        assert_eq!(text, "{\"userPrompt\":\"two\"}");
    }
    let mut left: Vec<_> = fs::read_dir(files.path("prompts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["p.json", "p2.json"]);
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_refused() {
    let address = "dir:/nowhere/at/all";
    let refused = quillet_store::open(address, &StoreOptions::default())
        .await
        .unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Configuration);
    assert!(refused.message.contains("/nowhere/at/all"), "{refused}");
    assert!(refused.message.contains("create it"), "{refused}");
}

/// The address of a database contains a password.
#[tokio::test]
async fn connections_to_databases_are_private_files() {
    let files = Files::new(&[
        ("databases/team/shop.yaml", "url: sqlite:shop.db\n"),
        ("databases/.crm.json.new", "left over"),
    ]);
    let store = open(&files.address()).await;
    let mut changes = store.changes();
    let shop = one(&store, EntryKind::Database, "team:shop").await;
    assert_eq!(shop.as_deref(), Some(r#"{"url":"sqlite:shop.db"}"#));
    let crm = "{\"url\":\"postgresql://u:s3cret@h/d\"}";
    for key in ["crm", "team:shop"] {
        store
            .put(EntryKind::Database, &EntryKey::new(key), crm)
            .await
            .unwrap();
        arrives(&mut changes, EntryKind::Database, key).await;
        assert_eq!(
            one(&store, EntryKind::Database, key).await.as_deref(),
            Some(crm)
        );
    }
    assert!(!files.path("databases/team/shop.yaml").exists());
    store
        .put(EntryKind::Tool, &EntryKey::new("t"), "{}")
        .await
        .unwrap();
    #[cfg(unix)]
    for (path, private) in [
        ("databases/crm.json", true),
        ("databases/team/shop.json", true),
        ("tools/t.json", false),
    ] {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(files.path(path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777 == 0o600, private, "{path} has {mode:o}");
    }
    files.write("databases/crm.json", "{}");
    arrives(&mut changes, EntryKind::Database, "crm").await;
    assert!(
        store
            .remove(EntryKind::Database, &EntryKey::new("crm"))
            .await
            .unwrap()
    );
    assert_eq!(one(&store, EntryKind::Database, "crm").await, None);
}

/// Problems of a file are shown to users who may not see its content.
#[tokio::test]
async fn problems_of_connections_say_no_passwords() {
    let broken = [
        "url: postgresql://u:s3cret@h/d\n  ssl: [\n",
        "url: \"postgresql://u:s3cret@h/d\nname: x\n",
        "url: postgresql://u:s3cret@h/d: x\n",
        "url: 1\nurl: postgresql://u:s3cret@h/d\n",
        "? [postgresql://u:s3cret@h/d]\n: {\n",
        "url: !s3cret\n  - {\n",
    ];
    for text in broken {
        let files = Files::new(&[("databases/d.yaml", text)]);
        let store = open(&files.address()).await;
        let entries = store.load(EntryKind::Database).await.unwrap();
        let problem = entries[0].problem.as_ref().unwrap().to_string();
        assert!(problem.starts_with("databases/d.yaml"), "{problem}");
        assert!(!problem.contains("s3cret"), "{problem}");
    }
}

/// Opening a store never blocks, and unusual files are reported as omitted.
#[cfg(unix)]
#[tokio::test]
async fn what_is_no_regular_file_is_named_and_never_opened() {
    let files = Files::new(&[("tools/good.json", "{}"), ("prompts/sub/p.tmpl", "text")]);
    let made = std::process::Command::new("mkfifo")
        .arg(files.path("tools/pipe.json"))
        .arg(files.path("tools/other"))
        .arg(files.path("prompts/pipe.md"))
        .status();
    assert!(made.unwrap().success());
    let socket = files.path("tools/socket.json");
    let _listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
    symlink("..", files.path("prompts/sub/up")).unwrap();
    symlink("../..", files.path("prompts/sub/root")).unwrap();
    let store = open(&files.address()).await;
    let tools = store.load(EntryKind::Tool).await.unwrap();
    assert_eq!(names(&tools), ["good", "pipe", "socket"]);
    let found: Vec<_> = tools
        .iter()
        .map(|tool| tool.problem.as_ref().map(ToString::to_string))
        .collect();
    let expected = [
        None,
        Some("tools/pipe.json: it is a named pipe, not a regular file: left out".to_owned()),
        Some("tools/socket.json: it is a socket, not a regular file: left out".to_owned()),
    ];
    assert_eq!(found, expected);
    assert_eq!(
        names(&store.load(EntryKind::Prompt).await.unwrap()),
        ["sub:p"]
    );
}

/// A program's way of writing a file.
type Writer = fn(&Path, &str);

/// Ways of writing a file that leave it incomplete for some time.
const WRITERS: [(&str, Writer); 3] = [
    ("emptied and filled", |path, text| {
        let mut file = fs::File::create(path).unwrap();
        sleep(GAP);
        file.write_all(text.as_bytes()).unwrap();
    }),
    ("filled in pieces", |path, text| {
        let mut file = fs::File::create(path).unwrap();
        for piece in text.as_bytes().chunks(6) {
            file.write_all(piece).unwrap();
            sleep(GAP);
        }
    }),
    ("moved away and written anew", |path, text| {
        fs::rename(path, path.with_extension("old")).unwrap();
        sleep(GAP);
        fs::write(path, text).unwrap();
    }),
];

/// Time for which the file is incomplete; shorter than the store waits.
const GAP: Duration = Duration::from_millis(15);

#[tokio::test]
async fn a_file_that_is_being_written_is_no_version() {
    for (name, write) in WRITERS {
        let files = Files::new(&[("prompts/greet.jinja", "Hello {{ name }}!")]);
        let store = open(&files.address()).await;
        let history = store.history().unwrap();
        let keys = [EntryKey::new("greet")];
        history
            .observe(EntryKind::Prompt, &keys, "a")
            .await
            .unwrap();

        let path = files.path("prompts/greet.jinja");
        let writer = spawn_blocking(move || write(&path, "Hi {{ name }}, how are you?"));
        let mut seen = BTreeSet::new();
        let wanted = r#"{"userPrompt":"Hi {{ name }}, how are you?","format":"jinja"}"#;
        while !seen.contains(wanted) {
            history
                .observe(EntryKind::Prompt, &keys, "b")
                .await
                .unwrap();
            seen.insert(
                one(&store, EntryKind::Prompt, "greet")
                    .await
                    .unwrap_or_default(),
            );
        }
        writer.await.unwrap();
        let before = r#"{"userPrompt":"Hello {{ name }}!","format":"jinja"}"#;
        let odd: Vec<&String> = seen
            .iter()
            .filter(|it| *it != wanted && *it != before)
            .collect();
        assert!(odd.is_empty(), "{name}: {odd:?}");
        let versions = history
            .versions(EntryKind::Prompt, &keys[0], None, 10)
            .await;
        let authors = versions
            .unwrap()
            .into_iter()
            .map(|it| it.author.to_string());
        assert_eq!(authors.collect::<Vec<_>>(), ["b", "a"], "{name}");
    }
}
