//! `quillet batch`: rows of variables and of requests, invalid rows, and a process that is killed
//! and restarted.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};

use super::{lines, row};
use crate::Place;
use crate::ask::{borrowed, reach};

const HELLO: (&str, &str) = ("s/prompts/hello.gotmpl", "Hello {{.variables.name}}!");

#[test]
fn each_line_of_variables_is_a_prompt() {
    let place = Place::new().with(&[
        HELLO,
        (
            "names.jsonl",
            "{\"name\": \"Ada\"}\n\n{\"name\": \"Bob\"}\n",
        ),
    ]);
    let args = [
        "batch",
        "names.jsonl",
        "-m",
        "prompt/hello",
        "-o",
        "out.jsonl",
        "--store",
        "dir:s",
    ];
    let env = [("QUILLET_MODEL", "mock")];
    let done = place.run_with(&args, "", &env);
    assert_eq!(
        (done.code, done.out.as_str(), done.err.as_str()),
        (Some(0), "", "2 rows\n"),
        "{done:?}"
    );
    let text = fs::read_to_string(place.path().join("out.jsonl")).unwrap();
    let rows = lines(&text);
    assert_eq!(rows.keys().collect::<Vec<_>>(), ["row-1", "row-3"]);
    assert!(rows["row-1"].to_string().contains("Hello Ada!"), "{text}");
    assert_eq!(rows["row-3"]["response"]["status_code"], 200);
    let mut left: Vec<String> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["names.jsonl", "out.jsonl", "s"]);
    place
        .run_with(&args, "", &env)
        .fails(2, &["out.jsonl already exists"]);
}

/// A row may query a database. Its result contains the query and the rows.
#[cfg(feature = "sql")]
#[test]
fn a_row_may_ask_a_database() {
    let ask = row("How many customers are there?", "database/demo");
    let place = Place::new().with(&[("rows.jsonl", &(ask + &row("b", "database/nobody")))]);
    let args = ["batch", "rows.jsonl", "-o", "out.jsonl", "--demo"];
    let done = place.run_with(&args, "", &[("QUILLET_MODEL", "mock")]);
    assert_eq!(done.code, Some(1), "{done:?}");
    let of = |name: &str| lines(&fs::read_to_string(place.path().join(name)).unwrap());
    let answered = &of("out.jsonl")["How many customers are there?"]["response"]["body"];
    assert_eq!(answered["model"], "database/demo");
    let said = answered["choices"][0]["message"]["content"].as_str();
    let said: serde_json::Value = serde_json::from_str(said.unwrap()).unwrap();
    let sql = said["generatedSql"].as_str().unwrap();
    assert!(sql.contains("customers"), "{said}");
    assert_eq!(said["result"]["rowCount"], 1, "{said}");
    let failed = of("out.jsonl.errors");
    assert_eq!(failed["b"]["response"]["status_code"], 404, "{failed:?}");
}

#[test]
fn rows_that_fail_are_told_apart() {
    let bad = row("c", "prompt/nobody");
    let place = Place::new().with(&[
        HELLO,
        (
            "rows.jsonl",
            &(row("a", "mock") + "{\"name\": \"Ada\"}\n{\"nam\": 1}\n" + &bad),
        ),
    ]);
    let args = [
        "batch",
        "rows.jsonl",
        "-m",
        "prompt/hello",
        "-o",
        "out.jsonl",
        "--store",
        "dir:s",
        "--progress",
    ];
    let done = place.run_with(&args, "", &[("QUILLET_MODEL", "mock")]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("4/4 rows, 2 failed"), "{done:?}");
    assert!(
        done.err
            .contains("2 of 4 rows failed, see out.jsonl.errors"),
        "{done:?}"
    );
    let of = |name: &str| lines(&fs::read_to_string(place.path().join(name)).unwrap());
    assert_eq!(of("out.jsonl").keys().collect::<Vec<_>>(), ["a", "row-2"]);
    let failed = of("out.jsonl.errors");
    assert_eq!(failed["c"]["response"]["status_code"], 404);
    assert_eq!(failed["row-3"]["response"]["status_code"], 400);
}

#[test]
fn what_is_wrong_with_a_file_is_named_with_its_line() {
    let place = Place::new().with(&[
        HELLO,
        ("bad.jsonl", "{\"name\": 1}\nnonsense\n[1]\n"),
        (
            "twice.jsonl",
            &(row("a", "mock") + "\n" + &row("a", "mock")),
        ),
        ("long.jsonl", "{\"name\": \"a name that is too long\"}\n"),
        ("empty.jsonl", "\n"),
        ("short.toml", "[batch]\nline_bytes = 20\nrows = 1\n"),
        ("two.jsonl", &(row("a", "m") + &row("b", "m"))),
    ]);
    let run = |file: &str, more: &[&str]| {
        let mut args = vec!["batch", file, "-o", "out.jsonl", "--store", "dir:s"];
        args.extend(more);
        place.run(&args)
    };
    let prompt = ["-m", "prompt/hello"];
    let bad = run("bad.jsonl", &prompt);
    bad.fails(
        2,
        &[
            "bad.jsonl:2: invalid JSON",
            "bad.jsonl:3: expected an object",
        ],
    );
    run("bad.jsonl", &[]).fails(2, &["bad.jsonl:1: variables need a prompt", "-m prompt/ID"]);
    run("bad.jsonl", &["-m", "mock"]).fails(2, &["pass -m prompt/ID instead of mock"]);
    run("twice.jsonl", &[]).fails(2, &["twice.jsonl:3: duplicate custom_id \"a\": line 1"]);
    run("empty.jsonl", &[]).fails(2, &["empty.jsonl: the file is empty"]);
    run("none.jsonl", &[]).fails(2, &["cannot read none.jsonl"]);
    let short = ["-m", "prompt/hello", "--config", "short.toml"];
    run("long.jsonl", &short).fails(
        2,
        &["long.jsonl:1: line too long: limit 20 bytes (batch.line_bytes)"],
    );
    let nowhere = place.run(&["batch", "two.jsonl", "-o", "no/out.jsonl"]);
    nowhere.fails(2, &["cannot write no/out.jsonl.queue.lock"]);
}

/// Even if the command is killed twice, it completes without lost or duplicate rows.
#[test]
fn it_goes_on_where_it_was_killed() {
    let turn = ScriptedReply::text(["Hello"]).delay(Duration::from_millis(20));
    let provider = FakeProvider::start(ReplyScript::turns([turn]));
    let count = 1000;
    let text: String = (0..count)
        .map(|n| row(&format!("row-{n}"), "gpt-4o"))
        .collect();
    let place = Place::new().with(&[("rows.jsonl", &text), ("other.jsonl", &row("a", "gpt-4o"))]);
    let around = reach(&provider);
    let args = ["batch", "rows.jsonl", "-o", "out.jsonl", "-c", "16"];
    let out = place.path().join("out.jsonl");
    let mut killed = 0;
    loop {
        let mut command = place.command(&args);
        command
            .envs(borrowed(&around))
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let started = Instant::now();
        // The first two processes are killed after 700 ms, when they have processed some rows.
        let patience = Duration::from_millis(if killed < 2 { 700 } else { 60_000 });
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if started.elapsed() > patience {
                break None;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        if let Some(status) = status {
            assert!(status.success());
            break;
        }
        assert!(!out.exists());
        child.kill().unwrap();
        child.wait().unwrap();
        killed += 1;
        if killed == 1 {
            let other = ["batch", "other.jsonl", "-o", "out.jsonl"];
            let refused = place.run_with(&other, "", &borrowed(&around));
            refused.fails(2, &["an unfinished batch with another file"]);
        }
    }
    assert!(killed > 0, "it was too quick");
    assert_eq!(lines(&fs::read_to_string(out).unwrap()).len(), count);
    let asked = provider.asked();
    assert!(
        asked >= count && asked <= count + killed * 32,
        "{asked} of {count}, {killed} killed"
    );
}

#[test]
fn two_do_not_write_one_output() {
    let turn = ScriptedReply::text(["Hello"]).delay(Duration::from_secs(2));
    let provider = FakeProvider::start(ReplyScript::turns([turn]));
    let place = Place::new().with(&[("rows.jsonl", &row("a", "gpt-4o"))]);
    let around = reach(&provider);
    let args = ["batch", "rows.jsonl", "-o", "out.jsonl"];
    let mut command = place.command(&args);
    let mut first = command
        .envs(borrowed(&around))
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    while !place.path().join("out.jsonl.queue").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = place.run_with(&args, "", &borrowed(&around));
    second.fails(2, &["another `quillet batch` uses out.jsonl.queue"]);
    assert!(first.wait().unwrap().success());
    assert_eq!(provider.asked(), 1);
}
