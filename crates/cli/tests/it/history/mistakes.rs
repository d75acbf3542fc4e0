//! Errors on the command line and in files.

use super::{FILES, Work};
use crate::Place;

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
        (&["show", "greet.hello@a b"], 2, &["invalid character ' '"]),
        (&["show", "a..b"], 2, &["invalid id \"a..b\""]),
        (
            &["show", "greet.hello", "--kind", "environ"],
            2,
            &["invalid value 'environ'", "prompt"],
        ),
        (&["log", "greet.helo"], 1, &["\"greet.hello\"?"]),
        (&["log", "greet.hello@1"], 2, &["omit @1"]),
        (&["diff", "greet.hello@1", "@7"], 1, &["no version 7"]),
        (
            &["diff", "greet.hello", "-D", "name"],
            2,
            &["-D \"name\" must be"],
        ),
        (
            &["diff", "m.f", "--kind", "tool", "-D", "a=1"],
            2,
            &["a tool cannot be rendered"],
        ),
        (
            &["label", "greet.hello", "latest"],
            2,
            &["latest is always the stored definition"],
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
            &["@1 selects one version"],
        ),
        (
            &["label", "greet.hello", "x", "--split", "1=1,9=1"],
            1,
            &["9"],
        ),
        (
            &["promote", "greet.hello@1", "--from", "staging"],
            2,
            &["omit one of them"],
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
            &["empty does not have the layout of a store", "prompts/"],
        ),
        (&["push", "nowhere"], 1, &["nowhere: "]),
        (&["push", "no.md"], 2, &["no.md: unknown file extension"]),
        (
            &["push", "a/hello.gotmpl", "--label", "7"],
            2,
            &["a label cannot be a number"],
        ),
        (
            &["push", "repo", "--id", "x"],
            2,
            &["--id needs exactly one file"],
        ),
        (
            &["push", "a/hello.gotmpl", "a/hello.gotmpl"],
            1,
            &["both define the prompt hello"],
        ),
        (
            &["push", "a/hello.gotmpl", "--id", "a b"],
            2,
            &["invalid id \"a b\""],
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
                "2 invalid lines",
            ][..],
        ),
        ("none.jsonl", &["no histories in the file"]),
        ("kind.jsonl", &["line 1: unknown kind \"environ\""]),
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

/// A failing audit log does not fail a completed write, because the client would repeat the write.
#[test]
fn a_failing_log_does_not_fail_the_write() {
    let place = Place::new().with(&FILES);
    let work = Work {
        place: &place,
        store: "sqlite:s.db",
    };
    work.out(&["push", "repo", "-m", "first"]);
    let file = rusqlite::Connection::open(place.path().join("s.db")).unwrap();
    file.execute_batch("DROP TABLE definition_log").unwrap();
    drop(file);
    for args in [
        ["label", "greet.hello@1", "next"].as_slice(),
        &["promote", "greet.hello@1"],
        &["rm", "greet.all"],
    ] {
        let done = work.run(args);
        assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
        assert!(done.err.contains("audit log"), "{args:?}: {done:?}");
    }
    let labels = work.json(&["labels", "greet.hello", "--json"]);
    assert!(labels.to_string().contains("next"), "{labels}");
}
