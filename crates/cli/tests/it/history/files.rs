//! `quillet push` and `quillet pull`: convert files to versions and versions to files.

use std::fs;

use super::{FILES, Work, bytes};
use crate::Place;

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
        // The dry run reports the same changes as the push.
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
    // Creates the state after a push that stopped after its first definition.
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
    // The new version replaces the old one in its file, in template form.
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
    // A version can be pulled even if it is not the newest one.
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
    // A file with changes that are not in any version is kept, and no other file is written.
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
    // In an empty folder, JSON is indented and scripts are written to script files.
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
