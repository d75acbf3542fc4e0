//! `read_file` and `list_files` in a real folder, including links that lead out of it and entries
//! that are not regular files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use quillet_core::tool::{Tool, ToolErrorKind};
use quillet_tools::builtin::{BuiltinError, BuiltinOptions};
use quillet_tools::{Tools, ToolsConfig};
use serde_json::{Value as Json, json};

use crate::support::{call, text};

/// A temporary folder for one test, with a workspace and a secret file outside the workspace.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let name = format!("quillet-files-{}-{number}", std::process::id());
        let place = Place(std::env::temp_dir().join(name));
        fs::create_dir_all(place.root().join("docs/deep/er")).unwrap();
        fs::write(place.0.join("secret"), "s3cret").unwrap();
        place
    }

    fn root(&self) -> PathBuf {
        self.0.join("work")
    }

    fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        fs::write(self.root().join(path), bytes).unwrap();
    }

    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let config = ToolsConfig {
            workspace: Some(self.root()),
            ..ToolsConfig::default()
        };
        let tools = Tools::new(config).unwrap();
        tools
            .builtin(name, &BuiltinOptions::default())
            .unwrap()
            .remove(0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn ask(tool: &dyn Tool, arguments: &Json) -> Result<Json, (ToolErrorKind, String)> {
    match call(tool, &arguments.to_string()).await {
        Ok(value) => Ok(serde_json::from_str(&text(&value)).unwrap()),
        Err(error) => Err((error.kind, error.for_model)),
    }
}

#[tokio::test]
async fn lines_are_read_in_pieces() {
    let place = Place::new();
    let lines: Vec<String> = (0..1_000).map(|n| format!("line {n} 行\r\n")).collect();
    place.write("docs/many.txt", lines.concat());
    place.write("none", "");
    place.write("one", "no end");
    let read = place.tool("file_reader");
    assert_eq!(read.spec().name, "read_file");
    let cases = [
        (
            json!({"file_path": "docs/many.txt"}),
            0,
            200,
            1000,
            Some(200),
        ),
        (
            json!({"file_path": "./docs/many.txt", "offset": 990}),
            990,
            10,
            1000,
            None,
        ),
        (
            json!({"file_path": "docs/many.txt", "offset": 1, "limit": 5000}),
            1,
            500,
            1000,
            Some(501),
        ),
        (
            json!({"file_path": "docs/many.txt", "offset": 999, "limit": 1}),
            999,
            1,
            1000,
            None,
        ),
        (json!({"file_path": "none"}), 0, 0, 0, None),
        (json!({"file_path": "one"}), 0, 1, 1, None),
    ];
    for (arguments, offset, count, total, next) in cases {
        let answer = ask(&*read, &arguments).await.unwrap();
        assert_eq!(answer["lines_read"], count, "{arguments}");
        assert_eq!(answer["offset"], offset);
        assert_eq!(answer["total_lines"], total);
        assert_eq!(answer["has_more"], next.is_some(), "{arguments}");
        assert_eq!(answer["next_offset"], json!(next));
        if total == 1_000 {
            let wanted = lines[offset..offset + count].concat();
            assert_eq!(answer["content"], wanted);
        }
    }
}

/// Long lines are truncated, large files are read in several calls, and the total size is limited.
#[tokio::test]
async fn large_files_are_bounded() {
    let place = Place::new();
    let read = place.tool("read_file");
    place.write("long", format!("{}\nshort\n", "x".repeat(1 << 20)));
    let answer = ask(&*read, &json!({"file_path": "long"})).await.unwrap();
    assert_eq!(answer["lines_read"], 1);
    assert_eq!(answer["content"].as_str().unwrap().len(), 256 << 10);
    assert!(answer["note"].as_str().unwrap().contains("longer than"));
    let answer = ask(&*read, &json!({"file_path": "long", "offset": 1}))
        .await
        .unwrap();
    assert_eq!(answer["content"], "short\n");
    assert_eq!(answer.get("note"), None);
    place.write("wide", format!("{}\n", "y".repeat(100 << 10)).repeat(5));
    let answer = ask(&*read, &json!({"file_path": "wide"})).await.unwrap();
    assert_eq!(
        (&answer["lines_read"], &answer["next_offset"]),
        (&json!(2), &json!(2))
    );
    let huge = fs::File::create(place.root().join("huge")).unwrap();
    std::io::Write::write_all(&mut &huge, "a\n".repeat(10_000).as_bytes()).unwrap();
    huge.set_len(1 << 40).unwrap();
    let answer = ask(&*read, &json!({"file_path": "huge"})).await.unwrap();
    assert_eq!(
        (&answer["total_lines"], &answer["lines_read"]),
        (&json!(-1), &json!(200))
    );
    let error = ask(&*read, &json!({"file_path": "huge", "offset": 20_000})).await;
    assert!(
        error
            .unwrap_err()
            .1
            .contains("within its first 67108864 bytes")
    );
}

#[tokio::test]
async fn nothing_outside_is_read() {
    let place = Place::new();
    place.write("docs/a.md", "a");
    place.write("binary", b"\x7fELF\0\0");
    place.write("latin", b"caf\xe9\n");
    let root = place.root();
    symlink("../secret", root.join("out")).unwrap();
    symlink(place.0.join("secret"), root.join("absolute")).unwrap();
    symlink("..", root.join("up")).unwrap();
    symlink("docs/a.md", root.join("in")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(root.join("fifo"))
            .status()
            .unwrap()
            .success()
    );
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    let read = place.tool("read_file");
    use ToolErrorKind::{Arguments, Refused};
    let cases = [
        ("../secret", Refused, "contains .."),
        ("docs/../../secret", Refused, "contains .."),
        ("/etc/passwd", Refused, "is absolute"),
        ("out", Refused, "leads out of the workspace"),
        ("absolute", Refused, "leads out of the workspace"),
        ("up/secret", Refused, "leads out of the workspace"),
        ("loop", Arguments, "cannot be opened"),
        ("fifo", Refused, "pipe"),
        ("docs", Arguments, "is a directory (list_files"),
        ("binary", Arguments, "binary file of 6 bytes"),
        ("nope", Arguments, "does not exist"),
        ("", Arguments, "does not exist"),
        ("a\0b", Arguments, "cannot be opened"),
        ("docs/a.md/x", Arguments, "cannot be opened"),
    ];
    for (path, kind, said) in cases {
        let (found, told) = ask(&*read, &json!({"file_path": path})).await.unwrap_err();
        assert_eq!(found, kind, "{path:?}: {told}");
        let told: Json = serde_json::from_str(&told).unwrap();
        assert!(
            told["error"].as_str().unwrap().contains(said),
            "{path:?}: {told}"
        );
        assert_eq!(told["file_path"], path);
    }
    assert!(ask(&*read, &json!({"file_path": "socket"})).await.is_err());
    let inside = ask(&*read, &json!({"file_path": "in"})).await.unwrap();
    assert_eq!(inside["content"], "a");
    let latin = ask(&*read, &json!({"file_path": "latin"})).await.unwrap();
    assert_eq!(latin["content"], "caf\u{fffd}\n");
    let list = place.tool("list_files");
    for directory in ["..", "/", "up", "docs/../..", "in", "nope"] {
        assert!(
            ask(&*list, &json!({"directory": directory})).await.is_err(),
            "{directory}"
        );
    }
    let found = ask(&*list, &json!({"pattern": "**/*"})).await.unwrap();
    let paths: Vec<&str> = found["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["binary", "docs/a.md", "in", "latin"]);
}

/// While the tools read a folder, another thread keeps replacing it with a symbolic link.
#[tokio::test]
async fn a_race_does_not_lead_out() {
    let place = Place::new();
    let root = place.root();
    fs::create_dir(root.join("a")).unwrap();
    fs::write(root.join("a/secret"), "mine").unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, at) = (stop.clone(), root.clone());
    let racer = std::thread::spawn(move || {
        while !stopped.load(Ordering::SeqCst) {
            fs::rename(at.join("a"), at.join("b")).unwrap();
            symlink("..", at.join("a")).unwrap();
            fs::remove_file(at.join("a")).unwrap();
            fs::rename(at.join("b"), at.join("a")).unwrap();
        }
    });
    let read = place.tool("read_file");
    let list = place.tool("list_files");
    for _ in 0..500 {
        if let Ok(answer) = ask(&*read, &json!({"file_path": "a/secret"})).await {
            assert_eq!(answer["content"], "mine");
        }
        let found = ask(&*list, &json!({"pattern": "**/secret"})).await.unwrap();
        for file in found["files"].as_array().unwrap() {
            assert!(
                ["a/secret", "b/secret"].contains(&file["path"].as_str().unwrap()),
                "{file}"
            );
            assert_eq!(file["size"], 4);
        }
    }
    stop.store(true, Ordering::SeqCst);
    racer.join().unwrap();
}

#[tokio::test]
async fn files_are_listed() {
    let place = Place::new();
    place.write("a.md", "12345");
    place.write("docs/b.md", "");
    place.write("docs/deep/er/c.md", "");
    place.write("line\nbreak.md", "");
    place.write(OsStr::from_bytes(b"b\xffd.md"), "");
    let list = place.tool("file_list");
    assert_eq!(list.spec().name, "list_files");
    let paths = async |arguments: Json| {
        let found = ask(&*list, &arguments).await.unwrap();
        let files = found["files"].as_array().unwrap();
        assert_eq!(found["file_count"], files.len());
        let paths: Vec<String> = files
            .iter()
            .map(|file| file["path"].as_str().unwrap().to_owned())
            .collect();
        (paths, found)
    };
    let (all, found) = paths(json!({})).await;
    assert_eq!(all, ["a.md", "b\u{fffd}d.md", "line\nbreak.md"]);
    assert_eq!(
        (&found["directory"], &found["pattern"]),
        (&json!("."), &json!(null))
    );
    assert_eq!(found["directories"], json!(["docs"]));
    assert_eq!(found["files"][0]["size"], 5);
    let modified = found["files"][0]["modified"].as_str().unwrap();
    assert!(
        modified.len() == 20 && modified.ends_with('Z'),
        "{modified}"
    );
    assert!(
        found["files"][1]["note"]
            .as_str()
            .unwrap()
            .contains("UTF-8")
    );
    let (all, _) = paths(json!({"pattern": "**/*.md", "directory": "docs/"})).await;
    assert_eq!(all, ["docs/b.md", "docs/deep/er/c.md"]);
    let (all, found) = paths(json!({"pattern": "deep/**", "directory": "docs"})).await;
    assert_eq!(all, ["docs/deep/er/c.md"]);
    assert_eq!(found.get("directories"), None);
    for (pattern, said) in [("../*", ".."), ("/etc/*", "absolute")] {
        let (kind, told) = ask(&*list, &json!({"pattern": pattern})).await.unwrap_err();
        assert_eq!(kind, ToolErrorKind::Arguments);
        assert!(told.contains(said), "{told}");
    }
    fs::create_dir(place.root().join("full")).unwrap();
    for number in 0..1_200 {
        place.write(format!("full/{number}"), "");
    }
    let (all, found) = paths(json!({"directory": "full"})).await;
    assert_eq!(all.len(), 1_000);
    assert!(
        found["truncated"]
            .as_str()
            .unwrap()
            .contains("more than 1000")
    );
}

#[test]
fn a_workspace_has_to_be_there() {
    let none = Tools::new(ToolsConfig::default()).unwrap();
    let error = none
        .builtin("read_file", &BuiltinOptions::default())
        .unwrap_err();
    assert!(matches!(error, BuiltinError::NotConfigured { .. }));
    assert!(error.to_string().contains("tools.workspace"), "{error}");
    let config = ToolsConfig {
        workspace: Some("/no/such/folder".into()),
        ..ToolsConfig::default()
    };
    let error = Tools::new(config).unwrap_err().to_string();
    assert!(
        error.starts_with("tools.workspace: /no/such/folder: "),
        "{error}"
    );
}
