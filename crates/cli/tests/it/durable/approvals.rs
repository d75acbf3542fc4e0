//! Approvals of pending calls, and forks of runs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Came, World, ask, end, until};
use crate::serve::Running;

/// Sends a decision and returns status and response.
fn decide(server: &Running, id: &str, body: &Value) -> (u16, Value) {
    post(server, &format!("/v1/response/{id}/decide"), body)
}

fn post(server: &Running, path: &str, body: &Value) -> (u16, Value) {
    let answer = server.request("POST", path, &body.to_string());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

/// Returns the run as soon as it has a pending call.
fn waiting(world: &World, server: &Running, id: &str) -> Value {
    let run = until(world, server, id, |run| run["state"] == "waiting");
    assert!(!run["waiting"].as_array().unwrap().is_empty(), "{run}");
    run
}

/// Approves all pending calls until the run ends.
fn agree(world: &World, server: &Running, id: &str) -> (Came, Vec<String>) {
    let mut asked = Vec::new();
    loop {
        let run = until(world, server, id, |run| {
            run["state"] == "waiting" || run["state"] == "ended"
        });
        if run["state"] == "ended" {
            return (world.came(&run), asked);
        }
        for call in run["waiting"].as_array().unwrap() {
            assert_eq!(call["why"], "permission", "{call}");
            asked.push(call["tool"].as_str().unwrap().to_owned());
            let body = json!({"call": call["call"], "decision": "approve"});
            assert_eq!(decide(server, id, &body).0, 200);
        }
    }
}

#[test]
fn a_decision_on_another_replica_goes_on_with_the_run() {
    let world = World::with("sqlite:journal.db", "", "ask: [send]\n");
    let (first, second) = (world.server(), world.server());
    ask(&first, "run");
    let run = waiting(&world, &first, "run");
    // Calls of the same turn that need no approval are already done, but the pending call is not.
    let calls = world.tools.counts();
    assert!(
        calls.keys().any(|call| call.starts_with("look")),
        "{calls:?}"
    );
    assert!(
        !calls.keys().any(|call| call.starts_with("send")),
        "{calls:?}"
    );
    assert_eq!(run["waiting"][0]["tool"], "send");
    // The client does not have to stay connected.
    drop(first);
    let began = Instant::now();
    assert_eq!(
        decide(&second, "run", &json!({"decision": "approve"})).0,
        200
    );
    until(&world, &second, "run", |_| {
        world
            .tools
            .counts()
            .keys()
            .any(|call| call.starts_with("send"))
    });
    let took = began.elapsed();
    println!("a decision to the call that it was about: {took:?}");
    let (came, asked) = agree(&world, &second, "run");
    // The first call was approved above, so only the call of the last turn is pending.
    assert_eq!(asked, ["send"]);
    assert!(came.calls.values().all(|count| *count == 1), "{came:?}");
    assert_eq!(came.asked, super::TURNS.len() + 1);
}

#[test]
fn decisions_change_deny_and_stand_in_for_calls() {
    let world = World::with("sqlite:journal.db", "", "ask: [\"*\", \"!look\"]\n");
    let server = world.server();
    ask(&server, "run");
    let run = waiting(&world, &server, "run");
    let call = run["waiting"][0]["call"].as_str().unwrap().to_owned();
    // The call of `book` is approved with other arguments, and an invalid decision has no effect.
    for (body, status, said) in [
        (json!({"decision": "maybe"}), 400, "unknown decision"),
        (json!({"decision": "edit"}), 400, "arguments"),
        (json!({"decision": "result"}), 400, "text"),
        (
            json!({"call": "call_x", "decision": "approve"}),
            409,
            call.as_str(),
        ),
    ] {
        let (found, answer) = decide(&server, "run", &body);
        assert_eq!(found, status, "{answer}");
        assert!(
            answer["detail"].as_str().unwrap().contains(said),
            "{answer}"
        );
    }
    let edit = json!({"decision": "edit", "arguments": {"step": 77}});
    assert_eq!(decide(&server, "run", &edit).0, 200);
    // A second decision about the same call is a conflict, and the run must exist.
    let (status, answer) = decide(&server, "run", &json!({"call": call, "decision": "deny"}));
    assert_eq!(status, 409, "{answer}");
    assert_eq!(decide(&server, "nobody", &edit).0, 404);
    // The call of `send` is denied, with a reason for the model.
    waiting(&world, &server, "run");
    let deny = json!({"decision": "deny", "note": "Not on a Sunday."});
    assert_eq!(decide(&server, "run", &deny).0, 200);
    // note and book belong to one turn and are pending at the same time.
    let run = until(&world, &server, "run", |run| {
        run["waiting"]
            .as_array()
            .is_some_and(|waiting| waiting.len() == 2)
    });
    let ids: Vec<&str> = run["waiting"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["call"].as_str().unwrap())
        .collect();
    assert_eq!(decide(&server, "run", &json!({"decision": "deny"})).0, 409);
    let result = json!({"call": ids[0], "decision": "result", "text": "done by hand"});
    assert_eq!(decide(&server, "run", &result).0, 200);
    until(&world, &server, "run", |run| {
        run["waiting"]
            .as_array()
            .is_some_and(|waiting| waiting.len() == 1)
    });
    let approve = json!({"call": ids[1], "decision": "approve"});
    assert_eq!(decide(&server, "run", &approve).0, 200);
    let (came, _) = agree(&world, &server, "run");
    assert!(came.text.contains("Not on a Sunday."), "{}", came.text);
    assert!(came.text.contains("done by hand"), "{}", came.text);
    assert_eq!(came.calls.get("book 77"), Some(&1), "{came:?}");
    assert!(!came.calls.contains_key("note 30"), "{came:?}");
    assert!(!came.calls.contains_key("send 10"), "{came:?}");
    // After the end of the run, decisions are rejected.
    assert_eq!(decide(&server, "run", &json!({"decision": "deny"})).0, 409);
}

#[test]
fn of_two_who_decide_at_once_one_counts() {
    let world = World::with("sqlite:journal.db", "", "ask: [send]\n");
    let (first, second) = (world.server(), world.server());
    ask(&first, "run");
    waiting(&world, &first, "run");
    let statuses = std::thread::scope(|scope| {
        let deciders: Vec<_> = (0..8)
            .map(|number| {
                let server = if number % 2 == 0 { &first } else { &second };
                let body = json!({"call": "call_1_0", "decision": "result", "text": format!("by {number}")});
                scope.spawn(move || decide(server, "run", &body).0)
            })
            .collect();
        let statuses = deciders.into_iter().map(|decider| decider.join().unwrap());
        statuses.collect::<Vec<u16>>()
    });
    let won = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(won, 1, "{statuses:?}");
    assert!(
        statuses.iter().all(|status| matches!(status, 200 | 409)),
        "{statuses:?}"
    );
    let (came, _) = agree(&world, &second, "run");
    assert_eq!(came.text.matches("by ").count(), 1, "{}", came.text);
}

#[test]
fn what_nobody_decides_about_in_time_is_denied() {
    let world = World::with("sqlite:journal.db", "approval_s = 1\n", "ask: [send]\n");
    let server = world.server();
    ask(&server, "run");
    waiting(&world, &server, "run");
    let began = Instant::now();
    let (ended, _) = loop {
        // Both calls are denied, one after the other.
        let run = world.run(&server, "run").unwrap();
        if run["state"] == "ended" {
            break (run, ());
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{run:#}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let came = world.came(&ended);
    assert!(
        came.text
            .contains("its approval expired without a decision"),
        "{}",
        came.text
    );
    assert!(
        !came.calls.keys().any(|call| call.starts_with("send")),
        "{came:?}"
    );
}

#[test]
fn a_fork_repeats_nothing_and_goes_on_with_another_model() {
    let world = World::new("sqlite:journal.db");
    let server = world.server();
    ask(&server, "run");
    let (run, _) = end(&world, &server, "run");
    let before = world.came(&run);
    let journal = run["journal"].as_array().unwrap();
    // The fork starts after the results of the third turn.
    let at = journal
        .iter()
        .filter(|step| step["step"] == "returned")
        .nth(3)
        .unwrap()["number"]
        .clone();
    let body = json!({"at": at, "model": "gpt-4.1", "system": "Do it in another way."});
    let (status, forked) = post(&server, "/v1/runs/run/fork", &body);
    assert_eq!(status, 200, "{forked}");
    let id = forked["id"].as_str().unwrap();
    let (fork, _) = end(&world, &server, id);
    assert_eq!(fork["forked"][1], at);
    let after = world.came(&fork);
    assert_eq!(after.text, before.text);
    // The common steps are identical byte for byte, except for the request id.
    let steps = |run: &Value| -> Vec<String> {
        let all = run["journal"].as_array().unwrap().iter();
        let same = all.filter(|step| {
            let name = step["step"].as_str().unwrap();
            !matches!(name, "admitted" | "prepared" | "ended")
        });
        same.map(|step| {
            let mut step = step.clone();
            for key in ["number", "at_ms"] {
                step.as_object_mut().unwrap().remove(key);
            }
            step.to_string()
        })
        .collect()
    };
    let (old, new) = (steps(&run), steps(&fork));
    let common = usize::try_from(at.as_u64().unwrap()).unwrap() - 2;
    assert_eq!(old[..common], new[..common]);
    // Only later steps are repeated, with the other model and the other text.
    let asked = world.provider.requests();
    let more = &asked[before.asked..];
    assert_eq!(more.len(), super::TURNS.len() + 1 - 3);
    for request in more {
        assert_eq!(request.model, "gpt-4.1");
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(body["messages"][0]["content"], "Do it in another way.");
    }
    let twice = after.calls.iter().filter(|(_, count)| **count == 2);
    assert_eq!(twice.count(), 3, "{after:?}");
    // Both the run and the step must exist.
    assert_eq!(post(&server, "/v1/runs/nobody/fork", &body).0, 404);
    let (status, answer) = post(&server, "/v1/runs/run/fork", &json!({"at": 900}));
    assert_eq!(
        (status, answer["error"].as_str()),
        (400, Some("run.step")),
        "{answer}"
    );
}

/// For a client without support for runs, a pending approval is a tool call, and the result of that
/// call is the decision.
#[test]
fn an_openai_client_decides_by_answering_a_call() {
    let world = World::with("sqlite:journal.db", "", "ask: [send]\n");
    let (first, second) = (world.server(), world.server());
    let mut messages = vec![json!({"role": "user", "content": "Do it"})];
    let mut asked = Vec::new();
    let text = loop {
        let server = if asked.is_empty() { &first } else { &second };
        let body = json!({"model": "agent/clerk", "messages": messages});
        let (status, answer) = post(server, "/v1/chat/completions", &body);
        assert_eq!(status, 200, "{answer}");
        let choice = &answer["choices"][0];
        let message = choice["message"].clone();
        if choice["finish_reason"] != "tool_calls" {
            break message["content"].as_str().unwrap().to_owned();
        }
        let call = message["tool_calls"][0].clone();
        assert_eq!(call["function"]["name"], "send", "{call}");
        let id = call["id"].as_str().unwrap().to_owned();
        assert!(id.starts_with("resp-"), "{id}");
        let word = if asked.is_empty() {
            "Not on a Sunday."
        } else {
            "approve"
        };
        asked.push(id.clone());
        messages.push(message);
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": word}));
    };
    assert_eq!(asked.len(), 2);
    assert!(text.contains("Not on a Sunday."), "{text}");
    let calls = world.tools.counts();
    let sent: Vec<&String> = calls
        .keys()
        .filter(|call| call.starts_with("send"))
        .collect();
    assert_eq!(sent, ["send 40"], "{calls:?}");
    assert!(calls.values().all(|count| *count == 1), "{calls:?}");
    // The model was called once per turn, so the conversation sent back by the client was not
    // replayed.
    assert_eq!(world.provider.requests().len(), super::TURNS.len() + 1);
    // A second answer is an error, because no call is pending.
    let body = json!({"model": "agent/clerk", "messages": messages});
    let (status, answer) = post(&second, "/v1/chat/completions", &body);
    assert_eq!(
        (status, answer["error"]["code"].as_str()),
        (409, Some("run.not_waiting")),
        "{answer}"
    );
}
