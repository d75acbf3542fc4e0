//! Version selectors in ids, and the output format of versions.

use quillet_core::history::DefinitionContent;

use super::Work;
use crate::Place;
use crate::pseudo_terminal::Terminal;

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
    let digest = DefinitionContent::new(r#"{"userPrompt": "One"}"#)
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
