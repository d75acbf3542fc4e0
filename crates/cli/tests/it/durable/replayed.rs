//! Results that a script's journal replays, and scripts that diverge from their journal.

use serde_json::{Value, json};

use super::killed::{Barrier, Trigger};
use super::scripts::{self, answer, durable};
use super::{World, ask_script, until};
use crate::ask::{borrowed, reach};
use crate::serve::Running;

/// Creates a world with additional settings.
fn world(script: &str, settings: &str) -> World {
    let mut world = World::of_script("sqlite:journal.db", "", "user: Hi\n", answer);
    let script = script.replace("TOOLS", &world.tools.address);
    let before = std::fs::read_to_string(world.place.path().join("quillet.toml")).unwrap();
    world.place = world.place.with(&[
        ("quillet.toml", format!("{before}{settings}").as_str()),
        ("s/prompts/clerk.ai.yaml", script.as_str()),
    ]);
    world
}

fn approve(server: &Running) {
    let body = json!({"decision": "approve"}).to_string();
    let answer = server.request("POST", "/v1/response/run/decide", &body);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

fn waits(world: &World, server: &Running) -> Value {
    let run = until(world, server, "run", |run| {
        run["state"] == "waiting" || run["state"] == "ended"
    });
    assert_eq!(run["state"], "waiting", "{run:#}");
    run["waiting"][0]["tool"].clone()
}

#[test]
fn what_was_fetched_is_not_fetched_again() {
    let fetched = r#"---
parameters: {model: gpt-4o}
ask: ASK
---
$fetch: {url: "http://TOOLS/look?step=7"}
user: "Say {{LatestResult.text}}"
assistant: "[[A]]"
$send(step=1)
$ret: "{{A}}"
"#;
    for (ask, first) in [("[send]", "send"), ("[send, fetch]", "fetch")] {
        let script = fetched.replace("ASK", ask);
        let world = world(&script, "[scripts]\nallow_net = true\n");
        let server = world.server();
        let _reader = ask_script(&server, "run", &durable());
        assert_eq!(waits(&world, &server), first);
        if first == "fetch" {
            assert!(
                world.tools.counts().is_empty(),
                "{:?}",
                world.tools.counts()
            );
            approve(&server);
            until(&world, &server, "run", |run| {
                run["waiting"][0]["tool"] == "send"
            });
        }
        drop(server);
        assert_eq!(world.tools.counts().get("look 7"), Some(&1));
        let server = world.server();
        approve(&server);
        let run = until(&world, &server, "run", |run| run["state"] == "ended");
        let came = world.came(&run);
        assert!(came.text.contains("look 7"), "{came:?}");
        assert_eq!(came.calls.get("look 7"), Some(&1), "{came:?}");
        assert_eq!((came.calls.get("send 1"), came.asked), (Some(&1), 1));
    }
}

/// A script also depends on other definitions. Here a tool's parameter is renamed before the run
/// resumes, so the same line makes a different call.
#[test]
fn a_script_that_goes_another_way_ends_before_it_does_anything() {
    let script = "---\nask: [send]\n---\n$look(40)\n$send(step=1)\n$ret: \"done\"\n";
    let world = world(script, "");
    let server = world.server();
    let _reader = ask_script(&server, "run", &durable());
    assert_eq!(waits(&world, &server), "send");
    drop(server);
    let file = world.place.path().join("s/tools/look.json");
    let tool = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, tool.replace("\"step\"", "\"number\"")).unwrap();
    let server = world.server();
    approve(&server);
    let run = until(&world, &server, "run", |run| run["state"] == "ended");
    let last = run["journal"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["how"], "error", "{last}");
    let error = last["error"].as_str().unwrap();
    assert!(error.contains("differs from its journal"), "{last}");
    assert!(
        error.contains("look differs from the recorded one"),
        "{last}"
    );
    let events = server.request("GET", "/v1/response/run/events", "");
    assert!(events.contains("run.diverged"), "{events}");
    let calls = world.tools.counts();
    assert_eq!(
        calls.into_iter().collect::<Vec<_>>(),
        [("look 40".to_owned(), 1)]
    );
}

/// Kills the command after several journal steps and resumes the run. Completed work is not
/// repeated.
#[test]
fn a_durable_command_that_is_killed_is_gone_on_with() {
    for point in [2, 6, 10, 14] {
        let world = World::of_script("sqlite:journal.db", "", scripts::SCRIPT, answer);
        // The server creates the journal and ends.
        drop(Trigger.server(&world, point));
        let around = reach(&world.provider);
        let store = ["--store", "dir:s"];
        let mut command = world
            .place
            .command(&[&["run", "--durable", "clerk"], &store[..]].concat());
        command.envs(borrowed(&around));
        command.stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        let run = |args: &[&str]| {
            let args = [args, &store[..]].concat();
            world.place.run_with(&args, "", &borrowed(&around))
        };
        let head = || -> Value {
            let listed = run(&["runs", "list", "--json"]);
            let heads: Value = serde_json::from_str(&listed.out).unwrap();
            heads[0].clone()
        };
        loop {
            let ended = child.try_wait().unwrap();
            if head()["last"].as_u64() == Some(point) {
                break;
            }
            assert_eq!(ended, None, "it does not come to {point}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        Trigger.lift(&world);
        let id = head()["id"].as_str().unwrap().to_owned();
        let ended = loop {
            // The command is repeated, because the run belongs to the killed process until its
            // lease expires.
            run(&["runs", "resume", &id]);
            let head = head();
            if head["standing"]["state"] == "ended" {
                break run(&["runs", "show", &id, "--json"]);
            }
            for call in head["standing"]["waiting"].as_array().into_iter().flatten() {
                assert_eq!(call["why"], "unknown", "{call}");
                let made = format!(
                    "{} {}",
                    call["tool"].as_str().unwrap(),
                    call["arguments"]["step"]
                );
                let is_made = world.tools.counts().contains_key(&made);
                let call = call["call"].as_str().unwrap();
                let word = if is_made { "result" } else { "approve" };
                let decided = run(&["runs", "decide", &id, word, "--call", call, "--text", "{}"]);
                assert_eq!(decided.code, Some(0), "{decided:?}");
            }
        };
        let shown: Value = serde_json::from_str(&ended.out).unwrap();
        let came = world.came(&shown);
        assert!(came.text.ends_with("That is all."), "{point}: {came:?}");
        assert!(came.asked <= scripts::ASKED + 1, "{point}: {came:?}");
        assert_eq!(came.calls.len(), scripts::CALLS, "{point}: {came:?}");
        for (call, count) in &came.calls {
            let never = call.starts_with("send") || call.starts_with("note");
            assert!(*count == 1 || !never, "killed at {point}: {call} {count}");
        }
    }
}
