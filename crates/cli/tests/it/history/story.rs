//! The history of a prompt from its first push to a rollback, and its restoration after a removal.

use std::fs;

#[cfg(feature = "redis")]
use quillet_test_support::RedisServer;
use serde_json::Value as Tree;

use super::{FILES, Work};
use crate::Place;

/// Runs the history of a prompt, from its first push to its export to another store.
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
            .contains("prompt greet.hello: already exists\n")
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
        "restored version 1 of talk as version 3\n"
    );
    assert_eq!(
        work.versions("talk"),
        [
            "3 ada \"rolled back to 1\" latest",
            "2 ada \"Nobody asks\" ",
            "1 ada \"First\" "
        ]
    );
    // Each rollback saves the restored text as a new version.
    let file = place.path().join("repo/prompts/talk.ai.yaml");
    fs::write(&file, "- user: ho\n").unwrap();
    work.out(&["push", "repo"]);
    assert_eq!(
        work.out(&["rollback", "talk"]),
        "restored version 3 of talk as version 5\n"
    );
    assert_eq!(
        work.out(&["rollback", "talk", "--to", "4"]),
        "restored version 4 of talk as version 6\n"
    );
    assert_eq!(
        work.out(&["rollback", "talk", "--to", "@4"]),
        "talk is already version 4\n"
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
