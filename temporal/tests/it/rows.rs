//! Runs the rows of a file while a worker is killed each second.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use quillet_fake_provider::ScriptedReply;
use serde_json::{Value, json};

use crate::server::Temporal;
use crate::tools::{Trap, call, counts};
use crate::world::World;

const ROWS: usize = 200;
/// Interval between kills.
const SECOND: Duration = Duration::from_secs(1);

/// Books the requested row and confirms it.
fn booked(body: &Value) -> ScriptedReply {
    let messages = body["messages"].as_array().unwrap();
    let asked = messages.iter().rfind(|m| m["role"] == "user").unwrap();
    let row: usize = asked["content"].as_str().unwrap().parse().unwrap();
    match messages.iter().any(|m| m["role"] == "tool") {
        false => call(row, "book", row),
        true => ScriptedReply::text([format!("{row} is booked.")]),
    }
}

#[test]
fn rows_run_once_despite_kills() {
    let temporal = Temporal::start();
    let world = World::with(&temporal.address(), 2, "concurrent = 8\n", "", booked);
    let folder = temporal.folder();
    let (input, output) = (folder.join("in.jsonl"), folder.join("out.jsonl"));
    let lines =
        (0..ROWS).map(|row| json!({"custom_id": format!("r{row}"), "input": row.to_string()}));
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
    fs::write(&input, lines.join("\n")).unwrap();
    let begin = || {
        let mut command = world.command(0);
        command
            .arg("batch")
            .arg(&input)
            .args(["-m", "agent/clerk", "-o"])
            .arg(&output);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap()
    };
    world.worker(0);
    world.worker(1);
    let began = Instant::now();
    let mut batch = begin();
    let (mut kills, mut asked, mut last) = (0, 0, Instant::now());
    let status = loop {
        if let Some(status) = batch.try_wait().unwrap() {
            break status;
        }
        assert!(
            began.elapsed() < Duration::from_secs(900),
            "{}",
            world.logs()
        );
        // Workers must be killed at this interval while they work. A worker killed before it starts
        // to work only delays the test.
        std::thread::sleep(SECOND);
        if world.asked() < asked + 10 && last.elapsed() < 20 * SECOND {
            continue;
        }
        (asked, last) = (world.asked(), Instant::now());
        world.worker(kills % 2);
        kills += 1;
        if kills == 5 {
            // The command that started the rows is also killed; the same command resumes them.
            batch.kill().unwrap();
            batch.wait().unwrap();
            batch = begin();
        }
    };
    let took = began.elapsed();
    assert!(status.success());
    let text = fs::read_to_string(&output).unwrap();
    let answers: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), ROWS);
    for (row, answer) in answers.iter().enumerate() {
        assert_eq!(answer["custom_id"], format!("r{row}"), "{answer}");
        assert_eq!(answer["text"], format!("{row} is booked."), "{answer}");
    }
    let runs: BTreeSet<&str> = answers
        .iter()
        .map(|answer| answer["run"].as_str().unwrap())
        .collect();
    assert_eq!(runs.len(), ROWS);
    assert_eq!(world.listed().len(), ROWS);
    let calls = counts(&world.calls);
    let booked = calls.keys().filter(|call| call.starts_with("book")).count();
    assert_eq!(booked, ROWS);
    let again: usize = calls
        .iter()
        .filter(|(call, _)| call.starts_with("book"))
        .map(|(_, count)| count - 1)
        .sum();
    println!(
        "{ROWS} rows, {kills} kills, {took:?}: {} questions for {} answers, {again} calls again with their key",
        world.asked(),
        2 * ROWS
    );
    Trap::kill(&world.trap, 0);
}
