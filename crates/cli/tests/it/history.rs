//! `quillet push|pull|log|show|diff|label|labels|promote|rollback|rm|gc|export|import`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use quillet_core::history::Content;
use quillet_core::store::{Key, Kind};
use quillet_store::StoreOptions;
#[cfg(feature = "redis")]
use quillet_test_support::RedisServer;
use serde_json::Value as Tree;

use crate::pseudo_terminal::Terminal;
use crate::{Done, Place};

/// A folder that is laid out as a store: a template, a prompt that calls it, a tool, a script.
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

/// A store that a test works on.
struct Work<'a> {
    place: &'a Place,
    store: &'a str,
}

impl Work<'_> {
    fn run(&self, args: &[&str]) -> Done {
        let env = [("QUILLET_STORE", self.store), ("USER", "ada")];
        self.place.run_with(args, "", &env)
    }

    /// What a command prints that succeeds.
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

    /// The numbers, authors, messages and labels that the log has of a definition.
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

    /// Writes past all histories, as `redis-cli`, an editor or `sqlite3` do.
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
            let key = Key::new(key);
            store.unwrap().put(Kind::Prompt, &key, text).await.unwrap();
        });
    }
}

/// Every file below a folder with its bytes.
fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                let name = entry.path().display().to_string();
                // SQLite makes and removes these while a file is only read.
                if !name.ends_with("-shm") && !name.ends_with("-wal") {
                    found.insert(name, fs::read(entry.path()).unwrap());
                }
            }
        }
    }
    found
}

/// The story of a prompt, from its first push to another store.
fn story(place: &Place, store: &str, other: &str) {
    let work = Work { place, store };
    let pushed = work.out(&["push", "repo", "-m", "First"]);
    let new =
        "prompt greet.all: new 1\nprompt greet.hello: new 1\nprompt talk: new 1\ntool m.f: new 1\n";
    assert_eq!(pushed, new, "{store}");
    let again = work.out(&["push", "repo", "-m", "Again"]);
    assert_eq!(again, new.replace("new", "unchanged"));
    assert_eq!(work.versions("greet.hello"), ["1 ada \"First\" latest"]);

    work.out(&["promote", "greet.hello", "-m", "It is good"]);
    work.by_hand(
        "greet:hello",
        r#"{"userPrompt": "Hi {{.variables.name}}.\n", "format": "go"}"#,
    );
    assert_eq!(
        work.versions("greet.hello"),
        ["2 store \"\" latest", "1 ada \"First\" production"]
    );
    let diff = work.out(&["diff", "greet.hello", "-D", "name=Ada"]);
    let expected = "--- greet.hello@1\n+++ greet.hello@2\n@@ -1,3 +1,3 @@\n userPrompt: |\n-  Hello {{.variables.name}}!\n+  Hi {{.variables.name}}.\n format: \"go\"\n--- greet.hello@1 rendered\n+++ greet.hello@2 rendered\n@@ -1 +1 @@\n-Hello Ada!\n+Hi Ada.\n";
    assert_eq!(diff, expected);

    let split = [
        "label",
        "greet.hello",
        "production",
        "--split",
        "1=90,2=10",
        "--by",
        "user",
    ];
    assert_eq!(
        work.out(&split),
        "greet.hello production: 1 → 1 90%, 2 10% by user\n"
    );
    assert_eq!(
        work.out(&["labels", "greet.hello"]),
        "latest      2\nproduction  1 90%, 2 10% by user\n"
    );
    assert_eq!(
        work.out(&["promote", "greet.hello@2"]),
        "greet.hello production: 1 90%, 2 10% by user → 2\n"
    );
    let render = |id: &str| work.out(&["render", id, "-D", "name=Ada"]);
    assert_eq!(render("greet.hello"), "Hi Ada.\n");
    assert_eq!(
        work.out(&["rollback", "greet.hello"]),
        "greet.hello production: 2 → 1\n"
    );
    assert_eq!(render("greet.hello"), "Hello Ada!\n");
    assert_eq!(render("greet.hello@latest"), "Hi Ada.\n");
    let log = work.json(&["log", "--json", "-n", "100"]);
    let did = |line: &Tree| {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let who = format!("{} {}", text("who"), text("from"));
        assert_eq!(who, "ada command line");
        format!(
            "{} {} {} {}",
            text("action"),
            text("id"),
            line["version"],
            text("label")
        )
    };
    let did: Vec<String> = log.as_array().unwrap().iter().map(did).collect();
    assert_eq!(
        did[..4],
        [
            "label greet.hello 1 production",
            "label greet.hello 2 production",
            "label greet.hello null production",
            "label greet.hello 1 production",
        ]
    );
    assert_eq!(did.len(), 8);

    work.out(&["export", "-o", "all.jsonl"]);
    let elsewhere = Work {
        place,
        store: other,
    };
    let came = elsewhere.out(&["import", "all.jsonl"]);
    assert!(came.contains("prompt greet.hello: 2 versions\n"), "{came}");
    assert!(
        elsewhere
            .out(&["import", "all.jsonl"])
            .contains("prompt greet.hello: is here already\n")
    );
    assert_eq!(elsewhere.out(&["export"]), work.out(&["export"]), "{store}");
    assert_eq!(
        elsewhere.out(&["render", "greet.hello", "-D", "name=Ada"]),
        "Hello Ada!\n"
    );
}

#[test]
fn a_prompt_goes_from_push_to_rollback_and_to_another_store() {
    let stores = ["sqlite:one.db", "dir:one"];
    for (store, other) in [(stores[0], "sqlite:two.db"), (stores[1], "dir:two")] {
        let place = Place::new().with(&FILES);
        for folder in ["one", "two"] {
            fs::create_dir_all(place.path().join(folder).join("prompts")).unwrap();
        }
        story(&place, store, other);
    }
}

#[cfg(feature = "redis")]
#[test]
fn the_same_on_redis() {
    let (one, two) = (RedisServer::start(), RedisServer::start());
    let place = Place::new().with(&FILES);
    story(&place, &one.url(), &two.url());
}

#[test]
fn dry_runs_leave_every_byte_as_it_was() {
    for store in ["sqlite:s.db", "dir:s"] {
        let place = Place::new().with(&FILES).with(&[("s/prompts/.keep", "")]);
        let work = Work {
            place: &place,
            store,
        };
        work.out(&["push", "repo"]);
        work.by_hand("greet:hello", r#"{"userPrompt": "Other", "format": "go"}"#);
        work.by_hand("old", r#"{"userPrompt": "Old"}"#);
        for number in 1..4 {
            let file = format!("{{\"userPrompt\": \"{number}\"}}");
            work.by_hand("many", &file);
            work.out(&["log", "many"]);
        }
        fs::write(
            place.path().join("repo/prompts/new.json"),
            "{\"userPrompt\": \"New\"}",
        )
        .unwrap();
        fs::create_dir(place.path().join("pulled")).unwrap();
        let before = bytes(place.path());
        let push = ["push", "repo", "--label", "staging", "--prune"];
        let dry = work.run(&[&push[..], &["--dry-run"]].concat());
        assert!(dry.err.contains("nothing was written"), "{dry:?}");
        for args in [
            &["pull", "pulled", "--dry-run"][..],
            &["gc", "--keep", "1", "--dry-run"],
        ] {
            assert_ne!(work.out(args), "", "{store} {args:?}");
        }
        let after = bytes(place.path());
        let changed: Vec<&String> = before
            .keys()
            .chain(after.keys())
            .filter(|name| before.get(*name) != after.get(*name))
            .collect();
        assert!(changed.is_empty(), "{store} {changed:?}");
        // What was said is what happens.
        assert_eq!(dry.out, work.out(&push), "{store}");
        assert!(
            dry.out
                .contains("prompt greet.hello: 2 → 3, staging none → 3\n"),
            "{}",
            dry.out
        );
        assert!(dry.out.contains("prompt old: removed\n"), "{}", dry.out);
        let versions = work.versions("greet.hello");
        assert_eq!(versions[0], "3 ada \"\" latest+staging");
        assert_eq!(
            work.out(&["gc", "many", "--keep", "1"]),
            "prompt many: 1-3\n"
        );
    }
}

#[test]
fn what_is_broken_keeps_everything_from_being_pushed() {
    let place = Place::new().with(&FILES).with(&[
        ("repo/prompts/bad.gotmpl", "one\n{{if"),
        ("repo/prompts/worse.json", "{\"userPrompt\": 1}"),
    ]);
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    let words = [
        "repo/prompts/bad.gotmpl:2:",
        "worse",
        "nothing was written",
        "--broken",
    ];
    work.run(&["push", "repo"]).fails(3, &words);
    work.run(&["prompt", "list"]).gives("");
    assert!(
        work.out(&["push", "repo", "--broken"])
            .contains("prompt bad: new 1\n")
    );
}

#[test]
fn a_push_that_broke_off_is_begun_again() {
    let place = Place::new().with(&FILES);
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    // As if it had ended behind the first of them.
    work.out(&[
        "push",
        "repo/prompts/greet/hello.gotmpl",
        "--id",
        "greet.hello",
        "-m",
        "First",
    ]);
    let rest = work.out(&["push", "repo", "-m", "First"]);
    assert!(rest.contains("prompt greet.hello: unchanged 1\n"), "{rest}");
    assert!(rest.contains("prompt greet.all: new 1\n"), "{rest}");
    assert_eq!(work.json(&["log", "--json"]).as_array().unwrap().len(), 4);
}

#[test]
fn an_import_that_broke_off_is_begun_again_and_doubles_nothing() {
    let place = Place::new().with(&FILES);
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    for text in ["One", "Two", "Three"] {
        fs::write(place.path().join("repo/prompts/greet/hello.gotmpl"), text).unwrap();
        work.out(&["push", "repo", "-m", text, "--label", "staging"]);
    }
    let whole = work.out(&["export"]);
    let lines: Vec<&str> = whole.lines().collect();
    let of_hello = lines
        .iter()
        .position(|line| line.contains("greet:hello"))
        .unwrap();
    // A history of which two versions came, and a file that was cut in the middle of a line.
    let mut part: Tree = serde_json::from_str(lines[of_hello]).unwrap();
    part["versions"].as_array_mut().unwrap().truncate(2);
    part["labels"] = serde_json::json!({});
    fs::write(place.path().join("part.jsonl"), part.to_string()).unwrap();
    fs::write(place.path().join("cut.jsonl"), &whole[..whole.len() - 9]).unwrap();
    fs::write(place.path().join("whole.jsonl"), &whole).unwrap();
    let other = Work {
        place: &place,
        store: "sqlite:o.db",
    };
    other.out(&["import", "part.jsonl"]);
    let last = format!("line {}: EOF", lines.len());
    other
        .run(&["import", "cut.jsonl"])
        .fails(1, &[&last, "nothing was imported"]);
    assert_eq!(other.out(&["prompt", "list"]), "greet.hello\n");
    let came = other.out(&["import", "whole.jsonl"]);
    assert!(came.contains("prompt greet.hello: 1 version\n"), "{came}");
    assert_eq!(other.out(&["export"]), whole);
    // Another history under the same name is left alone, and does not keep the others out.
    let third = Work {
        place: &place,
        store: "sqlite:t.db",
    };
    third.by_hand("greet:hello", "{\"userPrompt\": \"Mine\"}");
    let done = third.run(&["import", "whole.jsonl"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(
        done.out.contains("prompt greet.all: 1 version\n"),
        "{done:?}"
    );
    assert!(
        done.err
            .contains("greet.hello: version 1 is another one here"),
        "{done:?}"
    );
    assert_eq!(third.versions("greet.hello"), ["1 store \"\" latest"]);
}

#[test]
fn pulled_files_keep_their_forms_and_what_people_changed() {
    let place = Place::new().with(&FILES).with(&[(
        "repo/prompts/hi.prompt",
        "---\nmodel: gpt-4o\n---\n{{role \"user\"}}Hi {{name}}\n",
    )]);
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    work.out(&["push", "repo", "-m", "First"]);
    let same = work.out(&["pull", "repo"]);
    assert!(
        same.lines().all(|line| line.contains("unchanged 1")),
        "{same}"
    );
    // A new version comes into the file of the old one, as the template that it is.
    work.by_hand(
        "greet:hello",
        r#"{"userPrompt": "Hi {{.variables.name}}.\n", "format": "go"}"#,
    );
    let file = place.path().join("repo/prompts/greet/hello.gotmpl");
    assert!(
        work.out(&["pull", "repo"])
            .contains("prompt greet.hello: changed 2\n")
    );
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "Hi {{.variables.name}}.\n"
    );
    // An old one, too.
    work.out(&["label", "greet.hello@1", "production"]);
    let old = work.run(&["pull", "repo", "--label", "production"]);
    assert_eq!(old.out, "prompt greet.hello: changed 1\n");
    assert!(
        old.err.contains("definitions without the label production"),
        "{old:?}"
    );
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "Hello {{.variables.name}}!\n"
    );
    // What is no version is kept, and then nothing else is written either.
    fs::write(&file, "Mine\n").unwrap();
    fs::remove_file(place.path().join("repo/prompts/greet/all.json")).unwrap();
    let words = ["hello.gotmpl was changed", "nothing was written", "--force"];
    work.run(&["pull", "repo"]).fails(1, &words);
    assert!(!place.path().join("repo/prompts/greet/all.json").exists());
    work.out(&["pull", "repo", "--force"]);
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "Hi {{.variables.name}}.\n"
    );
    // Into an empty folder, JSON is laid out and scripts are files.
    work.out(&["pull", "new", "greet.hello", "talk", "--at", "latest"]);
    let hello = fs::read_to_string(place.path().join("new/prompts/greet/hello.json")).unwrap();
    let laid_out =
        "{\n  \"userPrompt\": \"Hi {{.variables.name}}.\\n\",\n  \"format\": \"go\"\n}\n";
    assert_eq!(hello, laid_out);
    let talk = fs::read_to_string(place.path().join("new/prompts/talk.ai.yaml")).unwrap();
    assert_eq!(talk, "- user: hi\n");
    assert_eq!(
        work.out(&["push", "new"]),
        "prompt greet.hello: unchanged 2\nprompt talk: unchanged 1\n"
    );
}

#[test]
fn what_is_removed_comes_back() {
    let place = Place::new().with(&FILES);
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    work.out(&["push", "repo", "-m", "First"]);
    let removed = work.run(&["rm", "talk", "-m", "Nobody asks"]);
    assert!(
        removed
            .err
            .contains("prompt talk removed from sqlite s.db as version 2"),
        "{removed:?}"
    );
    work.run(&["show", "talk"])
        .fails(1, &["\"talk\" does not exist"]);
    assert_eq!(work.out(&["show", "talk@1"]), "- user: hi\n");
    assert_eq!(
        work.out(&["rollback", "talk"]),
        "talk is version 1 again, as version 3\n"
    );
    assert_eq!(
        work.versions("talk"),
        [
            "3 ada \"rolled back to 1\" latest",
            "2 ada \"Nobody asks\" ",
            "1 ada \"First\" "
        ]
    );
    // One after the other, each as it was before.
    let file = place.path().join("repo/prompts/talk.ai.yaml");
    fs::write(&file, "- user: ho\n").unwrap();
    work.out(&["push", "repo"]);
    assert_eq!(
        work.out(&["rollback", "talk"]),
        "talk is version 3 again, as version 5\n"
    );
    assert_eq!(
        work.out(&["rollback", "talk", "--to", "4"]),
        "talk is version 4 again, as version 6\n"
    );
    assert_eq!(
        work.out(&["rollback", "talk", "--to", "@4"]),
        "talk is version 4 already\n"
    );
    for (args, id) in [
        (&["prompt", "rm", "greet.all"][..], "greet.all"),
        (&["tool", "rm", "m.f", "-m", "x"], "m.f"),
    ] {
        let done = work.run(args);
        assert!(done.err.contains(&format!("{id} removed")), "{done:?}");
    }
    let tool = work.json(&["log", "m.f", "--kind", "tool", "--json"]);
    assert_eq!(
        (&tool[0]["removed"], &tool[0]["message"]),
        (&true.into(), &"x".into())
    );
}

#[test]
fn bad_input_names_the_thing_the_place_and_the_mend() {
    let place = Place::new().with(&FILES).with(&[
        ("empty/x.txt", ""),
        ("a/hello.gotmpl", "Hi"),
        ("no.md", ""),
        ("bad.jsonl", "{}\n\nnot JSON\n"),
        ("none.jsonl", "\n"),
        (
            "kind.jsonl",
            r#"{"kind": "environ", "key": "a", "versions": []}"#,
        ),
    ]);
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    work.out(&["push", "repo"]);
    work.out(&["label", "greet.hello", "staging"]);
    let wrong: [(&[&str], i32, &[&str]); 31] = [
        (
            &["show", "greet.helo"],
            1,
            &["\"greet.helo\" does not exist", "\"greet.hello\"?"],
        ),
        (
            &["show", "greet.hello@9"],
            1,
            &["no version 9; the newest is 1"],
        ),
        (
            &["show", "greet.hello@stagin"],
            1,
            &["no label \"stagin\"; it has staging", "\"staging\"?"],
        ),
        (
            &["show", "greet.hello@sha256:00000000"],
            1,
            &["no version sha256:00000000"],
        ),
        (
            &["show", "greet.hello@sha256:0"],
            2,
            &["8 to 64 hexadecimal digits", "quillet show --help"],
        ),
        (&["show", "greet.hello@0"], 2, &["numbered from 1"]),
        (&["show", "greet.hello@a b"], 2, &["' ' is no letter"]),
        (&["show", "a..b"], 2, &["is no id"]),
        (
            &["show", "greet.hello", "--kind", "environ"],
            2,
            &["invalid value 'environ'", "prompt"],
        ),
        (&["log", "greet.helo"], 1, &["\"greet.hello\"?"]),
        (&["log", "greet.hello@1"], 2, &["leave out @1"]),
        (&["diff", "greet.hello@1", "@7"], 1, &["no version 7"]),
        (
            &["diff", "greet.hello", "-D", "name"],
            2,
            &["-D \"name\" must be"],
        ),
        (
            &["diff", "m.f", "--kind", "tool", "-D", "a=1"],
            2,
            &["render prompts, and no tool"],
        ),
        (
            &["label", "greet.hello", "latest"],
            2,
            &["latest moves by itself"],
        ),
        (&["label", "greet.hello@9", "x"], 1, &["no version 9"]),
        (
            &["label", "greet.hello", "stagin", "--remove"],
            1,
            &["did you mean \"staging\"?"],
        ),
        (
            &["label", "greet.hello", "x", "--split", "3"],
            2,
            &["NUMBER=WEIGHT"],
        ),
        (
            &["label", "greet.hello@1", "x", "--split", "1=1"],
            2,
            &["@1 names one version"],
        ),
        (
            &["label", "greet.hello", "x", "--split", "1=1,9=1"],
            1,
            &["9"],
        ),
        (
            &["promote", "greet.hello@1", "--from", "staging"],
            2,
            &["leave one out"],
        ),
        (
            &["rollback", "greet.hello", "--label", "production"],
            1,
            &["no label \"production\""],
        ),
        (&["rollback", "greet.hello"], 1, &["no version before 1"]),
        (
            &["push", "empty"],
            1,
            &["empty is not laid out as a store", "prompts/"],
        ),
        (&["push", "nowhere"], 1, &["nowhere: "]),
        (&["push", "no.md"], 2, &["no.md: its ending"]),
        (
            &["push", "a/hello.gotmpl", "--label", "7"],
            2,
            &["a number names a version"],
        ),
        (
            &["push", "repo", "--id", "x"],
            2,
            &["--id names one definition"],
        ),
        (
            &["push", "a/hello.gotmpl", "a/hello.gotmpl"],
            1,
            &["are both the prompt hello"],
        ),
        (
            &["push", "a/hello.gotmpl", "--id", "a b"],
            2,
            &["\"a b\" is no id"],
        ),
        (&["gc", "--keep", "0"], 2, &["0"]),
    ];
    for (args, code, words) in wrong {
        let done = work.run(args);
        assert_eq!(
            (done.code, done.out.as_str()),
            (Some(code), ""),
            "{args:?}: {done:?}"
        );
        for word in words {
            assert!(
                done.err.contains(word),
                "{args:?}: {word:?} is not in:\n{}",
                done.err
            );
        }
    }
    for (file, words) in [
        (
            "bad.jsonl",
            &[
                "bad.jsonl: line 1: missing field `kind`",
                "bad.jsonl: line 3: expected",
                "2 lines",
            ][..],
        ),
        ("none.jsonl", &["there is no history in it"]),
        ("kind.jsonl", &["line 1: \"environ\" is no kind"]),
        ("nowhere.jsonl", &["nowhere.jsonl: "]),
    ] {
        work.run(&["import", file]).fails(1, words);
    }
    let here = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    assert_eq!(here.versions("greet.hello").len(), 1);
}

#[test]
fn ids_may_have_an_at_and_any_script() {
    let place = Place::new();
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    for id in ["mail@work", "问候.你好", "a.b@c"] {
        work.by_hand(&id.replace('.', ":"), r#"{"userPrompt": "One"}"#);
        work.out(&["log", id]);
        work.by_hand(&id.replace('.', ":"), r#"{"userPrompt": "Two"}"#);
        let shown = |mark: &str| work.out(&["show", &format!("{id}{mark}")]);
        assert!(shown("").contains("Two"), "{id}");
        assert!(shown("@1").contains("One"), "{id}");
        work.out(&["label", &format!("{id}@1"), "production"]);
        assert!(shown("").contains("One"), "{id}");
        assert!(shown("@production").contains("One"), "{id}");
        assert!(
            work.out(&["diff", id])
                .starts_with(&format!("--- {id}@1\n+++ {id}@2\n"))
        );
    }
}

#[test]
fn versions_are_shown_by_their_digests() {
    let place = Place::new();
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    work.by_hand("a", r#"{"userPrompt": "One"}"#);
    let log = work.out(&["log", "a"]);
    let digest = Content::new(r#"{"userPrompt": "One"}"#)
        .digest()
        .to_string();
    let columns: Vec<&str> = log.split_whitespace().collect();
    assert_eq!((columns[0], columns[1]), ("1", &digest[..8]));
    assert_eq!(columns[3..], ["store", "(latest)"]);
    let marked = format!("a@sha256:{}", &digest[..8]);
    assert!(work.out(&["show", &marked]).contains("One"));
    let json = work.json(&["show", &marked, "--json"]);
    assert_eq!(json["version"]["digest"], digest.as_str());
    assert_eq!((&json["latest"], &json["id"]), (&1.into(), &"a".into()));
}

#[test]
fn every_command_that_takes_an_id_takes_a_mark() {
    let place = Place::new();
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    for text in ["One {{.variables.x}}", "Two {{.variables.x}}"] {
        let definition = serde_json::json!({"userPrompt": text}).to_string();
        work.by_hand("a:b", &definition);
        work.out(&["log", "a.b"]);
    }
    work.out(&["label", "a.b@1", "old"]);
    let digest = work.json(&["log", "a.b", "--json"])[0]["digest"].to_string();
    let digest = format!("sha256:{}", &digest.trim_matches('"')[..12]);
    for (mark, expected) in [
        ("", "Two z"),
        ("@latest", "Two z"),
        ("@1", "One z"),
        ("@old", "One z"),
        (digest.as_str(), "Two z"),
    ] {
        let mark = mark.trim_start_matches('@');
        let id = if mark.is_empty() {
            "a.b".to_owned()
        } else {
            format!("a.b@{mark}")
        };
        assert_eq!(work.out(&["render", &id, "-D", "x=z"]), expected, "{id}");
        let run = ["run", &id, "-D", "x=z", "-m", "mock", "--dry-run"];
        assert!(work.out(&run).contains(expected), "{id}");
        let ask = ["ask", &id, "-D", "x=z", "-m", "mock"];
        let env = [("QUILLET_STORE", work.store)];
        let asked = place.run_with(&ask, "", &env);
        assert!(asked.out.contains(expected), "{id}: {asked:?}");
    }
    for (mark, words) in [
        ("9", "9"),
        ("odl", "old"),
        ("sha256:0000000000", "sha256:0000000000"),
    ] {
        let id = format!("a.b@{mark}");
        let done = work.run(&["render", &id, "-D", "x=z"]);
        assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{done:?}");
        assert!(done.err.contains(words), "{done:?}");
    }
}

#[test]
fn a_terminal_gets_colours_and_obeys_nothing_of_a_text() {
    let place = Place::new();
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    for text in ["a\nb\n", "a\n\u{1b}[2Jc\n"] {
        let definition = serde_json::json!({"userPrompt": text}).to_string();
        work.by_hand("a", &definition);
        work.out(&["log", "a"]);
    }
    let mut command = place.command(&["diff", "a@1"]);
    command.env("QUILLET_STORE", work.store);
    let mut terminal = Terminal::start(command);
    for expected in [
        "\u{1b}[1m--- a@1",
        "\u{1b}[33m@@ -1,3 +1,3 @@",
        "\u{1b}[1;31m-  b",
        "\u{1b}[32m+  ␛[2Jc",
    ] {
        terminal.until(expected);
    }
    assert!(terminal.child.wait().unwrap().success());
}

#[test]
fn prompts_that_were_saved_from_openai_become_versions() {
    let saved = serde_json::json!([
        {"id": "pmpt_1", "name": "Weather", "version": "2", "instructions": "You know {{city}} well."},
        {"id": "pmpt_1", "name": "Weather", "version": "1", "instructions": "You know {{city}}.", "owner": "x"},
        {"id": "pmpt_2", "messages": [{"role": "user", "content": "Hi"}]},
    ]);
    let place = Place::new().with(&[
        ("saved.json", saved.to_string().as_str()),
        (
            "bad.json",
            r#"[{"id": "pmpt_1", "instructions": "x"}, {"instructions": "y"}]"#,
        ),
    ]);
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    work.run(&["import", "openai", "bad.json"])
        .fails(3, &["bad.json", "prompt 2: it has no id"]);
    work.run(&["prompt", "list"]).gives("");
    let done = work.run(&["import", "openai", "saved.json"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (
            Some(0),
            "prompt pmpt_2: 1 version\nprompt weather: 2 versions\n"
        ),
        "{done:?}"
    );
    assert!(
        done.err.contains("the member \"owner\" is not taken over"),
        "{done:?}"
    );
    assert_eq!(
        work.versions("weather"),
        [
            "2 ada \"pmpt_1 version 2 of OpenAI\" latest",
            "1 ada \"pmpt_1 version 1 of OpenAI\" "
        ]
    );
    assert_eq!(
        work.out(&["import", "openai", "saved.json"]),
        "prompt pmpt_2: is here already\nprompt weather: is here already\n"
    );
    let rendered = work.out(&["render", "weather@1", "-D", "city=Paris"]);
    assert!(rendered.contains("You know Paris."), "{rendered}");
    work.run(&["import", "opanai", "saved.json"])
        .fails(2, &["\"opanai\" is no form of files"]);
}
