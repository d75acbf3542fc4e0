//! Replicas that are killed in the middle of an answer, as real processes with a real Redis.

use std::io::{Read, Write};
use std::net::TcpStream;

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};
use quillet_test_support::RedisServer;
use serde_json::json;

use crate::Place;
use crate::ask::{borrowed, reach, stuck};
use crate::serve::Running;

/// Sends a request and reads until the response contains this text.
fn begin(server: &Running, body: &str, until: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    write!(
        stream,
        "POST /v1/response HTTP/1.1\r\nhost: {}\r\nx-request-id: shared\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    )
    .unwrap();
    let mut heard = Vec::new();
    let mut piece = [0; 1024];
    while !String::from_utf8_lossy(&heard).contains(until) {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&piece[..read]);
    }
    stream
}

/// Returns the event names of a response, in order.
fn names(answer: &str) -> Vec<&str> {
    let lines = answer.lines();
    let mut names: Vec<&str> = lines
        .filter_map(|line| line.strip_prefix("event: "))
        .collect();
    names.dedup();
    names
}

#[test]
fn a_killed_replica_leaves_every_reader_an_error_and_the_session_its_question() {
    let redis = RedisServer::start();
    let provider = FakeProvider::start(ReplyScript::turns([
        stuck(),
        ScriptedReply::text(["Again."]),
    ]));
    let settings = format!(
        "[agent]\nruns = \"{0}\"\nsessions = \"{0}\"\nlease_ms = 300\nkey_concurrent = 1\n",
        redis.url()
    );
    let place = Place::new().with(&[
        ("quillet.toml", settings.as_str()),
        ("s/prompts/hi.gotmpl", "Hi"),
    ]);
    let around = reach(&provider);
    let args = ["--store", "dir:s"];
    let mut first = Running::start_with(&place, &args, &borrowed(&around));
    let second = Running::start_with(&place, &args, &borrowed(&around));
    let third = Running::start_with(&place, &args, &borrowed(&around));
    let ask = |text: &str| {
        json!({"model_config": {"model_id": "gpt-4o", "model": "openai"}, "session_id": "s",
            "input": {"text": text}, "features": {"resumable": true}})
        .to_string()
    };
    let mut client = begin(&first, &ask("What is lost?"), "It begins");
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let mut rest = String::new();
    let _ = client.read_to_string(&mut rest);
    assert!(
        !rest.contains("0\r\n\r\n"),
        "a killed server ends no stream: {rest}"
    );

    let path = "/v1/response/shared/events";
    let readers = [&second, &third, &second, &third];
    let heard: Vec<String> = std::thread::scope(|scope| {
        let reading = readers.map(|server| scope.spawn(|| server.request("GET", path, "")));
        reading.map(|reader| reader.join().unwrap()).into()
    });
    let later = third.request("GET", path, "");
    for answer in heard.iter().chain([&later]) {
        let names = names(answer);
        assert_eq!(names.first(), Some(&"response.start"), "{answer}");
        assert_eq!(names.last(), Some(&"response.error"), "{answer}");
        assert_eq!(
            answer.matches("event: response.error").count(),
            1,
            "{answer}"
        );
        assert!(answer.contains("\"code\":\"interrupted\""), "{answer}");
    }
    let id = |answer: &str| {
        let before = answer.split("event: response.error").next().unwrap();
        before.rsplit("id: ").next().unwrap().trim().to_owned()
    };
    assert!(
        heard.iter().all(|answer| id(answer) == id(&later)),
        "one error for all"
    );

    // The permit of the dead run is free again, and its question is in the history once.
    let again = second.request("POST", "/v1/response", &ask("What is lost?"));
    assert_eq!(names(&again).last(), Some(&"response.done"), "{again}");
    let requests = provider.requests();
    let said = requests.last().unwrap().json()["messages"].to_string();
    assert_eq!(said.matches("What is lost?").count(), 1, "{said}");
    let more = second.request("POST", "/v1/response", &ask("And now?"));
    assert_eq!(names(&more).last(), Some(&"response.done"), "{more}");
    let said = provider.requests().last().unwrap().json()["messages"].to_string();
    for part in ["What is lost?", "Again.", "And now?"] {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
}
