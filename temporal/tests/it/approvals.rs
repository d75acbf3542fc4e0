//! Pending approvals: concurrent decisions, other kinds of decisions, and restarts.

use std::thread;

use crate::server::Temporal;
use crate::tools::{TURNS, Trap, clerk, counts};
use crate::world::World;

fn world(temporal: &Temporal, settings: &str, agent: &str) -> World {
    World::with(&temporal.address(), 2, settings, agent, clerk)
}

#[test]
fn concurrent_decisions_first_one_counts() {
    let temporal = Temporal::start();
    let world = world(&temporal, "", "ask: [note]\n");
    world.worker(0);
    world.worker(1);
    let run = world.begin("run");
    let shown = world.waiting(&run);
    let call = shown["waiting"][0]["call"].as_str().unwrap();
    assert_eq!(shown["waiting"][0]["tool"], "note");
    assert_eq!(shown["waiting"][0]["why"], "permission");
    // The other calls of the turn are made meanwhile.
    assert!(counts(&world.calls).contains_key("book 31"));
    let outputs = thread::scope(|scope| {
        let deciders: Vec<_> = (0..6)
            .map(|number| {
                let (world, run) = (&world, &run);
                scope.spawn(move || {
                    let text = format!("by {number}");
                    world.decide(run, call, &["result", "--text", &text, "--by", &text])
                })
            })
            .collect();
        let outputs = deciders.into_iter().map(|decider| decider.join().unwrap());
        outputs.collect::<Vec<_>>()
    });
    let won = outputs.iter().filter(|output| output.status.success());
    assert_eq!(won.count(), 1, "{outputs:?}");
    for output in outputs.iter().filter(|output| !output.status.success()) {
        let said = String::from_utf8_lossy(&output.stderr);
        println!("{}", said.trim());
        assert!(said.contains("run.not_waiting"), "{said}");
    }
    let (ended, _) = world.end(&run);
    let came = world.came(&ended);
    assert_eq!(came.text.matches("by ").count(), 1, "{}", came.text);
    assert!(!came.calls.contains_key("note 30"), "{came:?}");
    // A run that has ended has no pending calls, and the error reports that.
    let late = world.decide(&run, call, &["approve"]);
    let said = String::from_utf8_lossy(&late.stderr);
    println!("{}", said.trim());
    assert!(
        said.contains("run.not_waiting") && said.contains("it has ended (done)"),
        "{said}"
    );
    let nobody = world.client(&["decide", "nobody", "approve"]);
    let said = String::from_utf8_lossy(&nobody.stderr);
    assert!(said.contains("run.unknown"), "{said}");
    // The same id does not start a second run.
    let again = world.client(&["run", "Do it", "-m", "agent/clerk", "--id", "run"]);
    assert!(
        String::from_utf8_lossy(&again.stderr).contains("choose another --id"),
        "{again:?}"
    );
}

#[test]
fn decisions_change_and_deny_calls() {
    let temporal = Temporal::start();
    let world = world(&temporal, "", "ask: [\"*\", \"!look\"]\n");
    world.worker(0);
    let run = world.begin("run");
    let shown = world.waiting(&run);
    let book = shown["waiting"][0]["call"].as_str().unwrap();
    let wrong = world.decide(&run, book, &["edit"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let wrong = world.decide(&run, "call_x", &["approve"]);
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        said.contains("is not pending; pending calls") && said.contains(book),
        "{said}"
    );
    let edited = world.decide(&run, book, &["edit", "--arguments", r#"{"step": 77}"#]);
    assert!(edited.status.success(), "{edited:?}");
    let shown = world.until(&run, |shown| shown["waiting"][0]["tool"] == "send");
    let send = shown["waiting"][0]["call"].as_str().unwrap();
    let denied = world.decide(&run, send, &["deny", "--text", "Not on a Sunday."]);
    assert!(denied.status.success(), "{denied:?}");
    // Two calls of one turn are pending, so the decision must name its call.
    let shown = world.until(&run, |shown| {
        shown["waiting"]
            .as_array()
            .is_some_and(|waiting| waiting.len() == 2)
    });
    let unclear = world.client(&["decide", &run, "approve"]);
    let said = String::from_utf8_lossy(&unclear.stderr);
    assert!(said.contains("several calls are pending"), "{said}");
    for at in [1, 0] {
        let call = shown["waiting"][at]["call"].as_str().unwrap();
        assert!(world.decide(&run, call, &["approve"]).status.success());
    }
    let shown = world.until(&run, |shown| shown["waiting"][0]["tool"] == "send");
    let send = shown["waiting"][0]["call"].as_str().unwrap();
    assert!(world.decide(&run, send, &["approve"]).status.success());
    let (ended, _) = world.end(&run);
    let came = world.came(&ended);
    assert!(came.text.contains("Not on a Sunday."), "{}", came.text);
    assert_eq!(came.calls.get("book 77"), Some(&1), "{came:?}");
    assert!(!came.calls.contains_key("book 1"), "{came:?}");
    assert!(!came.calls.contains_key("send 10"), "{came:?}");
    assert!(came.calls.values().all(|count| *count == 1), "{came:?}");
}

#[test]
fn undecided_call_is_denied_at_expiry() {
    let temporal = Temporal::start();
    let world = world(&temporal, "approval_s = 3\n", "ask: [send]\n");
    world.worker(0);
    let run = world.begin("run");
    world.waiting(&run);
    let (ended, _) = world.until_over(&run);
    let came = world.came(&ended);
    assert!(
        !came.calls.keys().any(|call| call.starts_with("send")),
        "{came:?}"
    );
    assert_eq!(
        came.text
            .matches("its approval expired without a decision")
            .count(),
        2
    );
    assert_eq!(came.asked, TURNS.len() + 1);
}

#[test]
fn pending_call_survives_worker_and_server() {
    let mut temporal = Temporal::start();
    let world = world(&temporal, "", "ask: [note]\n");
    world.worker(0);
    let run = world.begin("run");
    let shown = world.waiting(&run);
    let call = shown["waiting"][0]["call"].as_str().unwrap();
    let asked = world.asked();
    Trap::kill(&world.trap, 0);
    temporal.kill();
    temporal.begin();
    world.worker(1);
    let again = world.waiting(&run);
    assert_eq!(again["waiting"], shown["waiting"]);
    assert_eq!(world.asked(), asked);
    let decided = world.decide(&run, call, &["approve"]);
    assert!(decided.status.success(), "{decided:?}");
    let (ended, _) = world.end(&run);
    let came = world.came(&ended);
    assert!(came.calls.values().all(|count| *count == 1), "{came:?}");
    assert_eq!(came.asked, TURNS.len() + 1);
}
