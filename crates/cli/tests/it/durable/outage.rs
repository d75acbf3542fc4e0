//! Redis is unavailable for the time of a reboot, while runs are active or pending.

use std::io::Read;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use quillet_test_support::RedisServer;
use serde_json::{Value, json};

use super::{World, post, scripts, until};
use crate::serve::Running;

/// Number of runs of each kind.
const EACH: usize = 4;

/// How Redis is unavailable.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Away {
    /// Killed: no server is listening.
    Killed,
    /// It accepts connections but does not respond.
    Silent,
}

/// Duration of the outage, which `TRIALS_AWAY_S` can change.
fn away() -> Duration {
    let said = std::env::var("TRIALS_AWAY_S").ok();
    Duration::from_secs(said.and_then(|text| text.parse().ok()).unwrap_or(60))
}

/// Starts a run of an agent. The client stays connected while the returned stream exists.
fn begin(server: &Running, agent: &str, id: &str) -> TcpStream {
    let body = json!({"model_config": {"model_id": format!("agent/{agent}"), "model": "openai"},
        "input": {"text": "Do it"}, "features": {"durable": true}});
    let mut stream = post(server, "/v1/response", id, &body);
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    stream
}

#[test]
#[ignore = "takes minutes: scripts/trials outage"]
fn runs_outlive_a_redis_that_is_away_for_a_minute() {
    for how in [Away::Killed, Away::Silent] {
        outlived(how);
    }
}

fn outlived(how: Away) {
    let data = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut redis = RedisServer::start_with(&data);
    let mut world = World::of_script(&redis.url(), "", scripts::SCRIPT, |asked| {
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        match body["messages"][0]["content"].as_str() {
            Some("Do it.") => super::answer(asked),
            _ => scripts::answer(asked),
        }
    });
    let agent = "model: gpt-4o\ninstructions: Do it.\ntools: [\"*\"]\n";
    world.place = world.place.with(&[
        ("s/agents/worker.yaml", agent),
        ("s/agents/clerk.yaml", &format!("{agent}ask: [send]\n")),
    ]);
    let (first, second) = (world.server(), world.server());
    let ids = |kind: &str| -> Vec<String> { (0..EACH).map(|n| format!("{kind}-{n}")).collect() };
    let (waiting, working, scripts) = (ids("waiting"), ids("working"), ids("script"));
    let mut readers: Vec<TcpStream> = waiting
        .iter()
        .map(|id| begin(&first, "clerk", id))
        .collect();
    for id in &waiting {
        until(&world, &first, id, |run| run["state"] == "waiting");
    }
    readers.extend(working.iter().map(|id| begin(&first, "worker", id)));
    let durable = scripts::durable();
    readers.extend(
        scripts
            .iter()
            .map(|id| post(&second, "/api/chat/prompts/clerk", id, &durable)),
    );
    for id in working.iter().chain(&scripts) {
        until(&world, &first, id, |run| run["steps"].as_u64() >= Some(4));
    }
    let began = Instant::now();
    thread::scope(|scope| {
        match how {
            Away::Killed => redis.kill(),
            Away::Silent => {
                let (redis, time) = (&redis, away().as_secs().to_string());
                scope.spawn(move || redis.cli(&["DEBUG", "SLEEP", &time]));
            }
        }
        while first
            .request("GET", "/v1/runs", "")
            .starts_with("HTTP/1.1 200")
        {
            assert!(began.elapsed() < away(), "{how:?}: Redis is still there");
        }
        // No server claims that there are no runs, or that a decision was accepted.
        for server in [&first, &second] {
            for (method, path, body) in [
                ("GET", "/v1/runs".to_owned(), ""),
                (
                    "POST",
                    format!("/v1/response/{}/decide", waiting[0]),
                    "{\"decision\": \"approve\"}",
                ),
            ] {
                let said = server.request(method, &path, body);
                assert!(said.starts_with("HTTP/1.1 503"), "{how:?}: {path}: {said}");
            }
        }
        thread::sleep(away().saturating_sub(began.elapsed()));
    });
    if how == Away::Killed {
        redis.restart();
    }
    let was_away = began.elapsed();
    let back = Instant::now();
    for id in working.iter().chain(&scripts).chain(&waiting) {
        loop {
            let run = until(&world, &second, id, |run| {
                run["state"] == "waiting" || run["state"] == "ended"
            });
            if run["state"] == "ended" {
                let last = run["journal"].as_array().unwrap().last().unwrap();
                assert_eq!(last["how"], "done", "{how:?}: {id}: {last}");
                let text = last["text"].as_str().unwrap();
                assert!(text.ends_with("That is all."), "{how:?}: {id}: {text}");
                break;
            }
            for call in run["waiting"].as_array().unwrap() {
                let body = match call["why"].as_str() {
                    Some("permission") => json!({"decision": "approve"}),
                    _ => json!({"decision": "result", "text": "{}"}),
                };
                let mut body = body;
                body["call"] = call["call"].clone();
                let path = format!("/v1/response/{id}/decide");
                let said = second.request("POST", &path, &body.to_string());
                assert!(said.starts_with("HTTP/1.1 200"), "{how:?}: {id}: {said}");
            }
        }
    }
    drop(readers);
    // Calls that must not be repeated happened at most once for each run.
    let calls = world.tools.counts();
    for (call, count) in &calls {
        let most = match call.split(' ').next().unwrap() {
            "send" | "note" if call.ends_with("40") => 3 * EACH,
            "send" | "note" => 2 * EACH,
            _ => continue,
        };
        assert!(*count <= most, "{how:?}: {call} {count}: {calls:?}");
    }
    println!(
        "{how:?} for {was_away:?}: {} runs ended within {:?}, the model was asked {} times",
        3 * EACH,
        back.elapsed(),
        world.provider.requests().len()
    );
}
