//! Runs that survive their process, on real servers with tools and a model that count their calls.

mod approvals;
mod asking;
mod broken;
mod killed;
#[cfg(feature = "mcp")]
mod mcp;
mod names;
#[cfg(feature = "redis")]
mod outage;
#[cfg(feature = "redis")]
mod proxy;
mod replayed;
#[cfg(feature = "redis")]
mod rows;
mod scripts;
mod spent;
mod terminal;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use quillet_fake_provider::{
    FakeProvider, RecordedRequest, ReplyPart, ReplyScript, ScriptedCall, ScriptedReply,
};
use serde_json::{Value, json};

use crate::Place;
use crate::ask::{borrowed, reach};
use crate::serve::Running;

/// Tools of the run with their HTTP methods and retry policies.
const TOOLS: [(&str, &str, &str); 4] = [
    ("look", "GET", "true"),
    ("book", "POST", "\"key\""),
    ("send", "POST", "\"never\""),
    ("note", "POST", "\"never\""),
];

/// Tool calls in each turn of the model. After the last turn it answers.
const TURNS: [&[&str]; 5] = [
    &["look", "book"],
    &["send"],
    &["look"],
    &["note", "book"],
    &["send"],
];

/// A server with tools that counts their calls.
struct ToolServer {
    address: String,
    calls: Arc<Mutex<Vec<String>>>,
}

impl ToolServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let calls: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = calls.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let heard = heard.clone();
                thread::spawn(move || serve(stream, &heard));
            }
        });
        ToolServer { address, calls }
    }

    /// Number of calls by tool and arguments.
    fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for call in self.calls.lock().unwrap().iter() {
            *counts.entry(call.clone()).or_default() += 1;
        }
        counts
    }
}

/// Responds with the path, slowly enough that a process can be killed during the call.
fn serve(mut stream: TcpStream, calls: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let lower = head.to_ascii_lowercase();
        let length = lower
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        let path = head.split(' ').nth(1).unwrap().to_owned();
        let tool = path.split(['/', '?']).nth(1).unwrap().to_owned();
        let step: String = format!("{path} {}", String::from_utf8_lossy(&body))
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        let key = lower.contains("\r\nidempotency-key: ");
        assert_eq!(key, tool == "book", "{head}");
        calls.lock().unwrap().push(format!("{tool} {step}"));
        thread::sleep(Duration::from_millis(30));
        let answer = format!("{{\"did\":\"{tool} {step}\"}}");
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
    }
}

/// The model, whose next reply depends only on the request.
fn answer(asked: &RecordedRequest) -> ScriptedReply {
    let body: Value = serde_json::from_slice(&asked.body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let turn = messages.iter().filter(|m| m["role"] == "assistant").count();
    let Some(tools) = TURNS.get(turn) else {
        let results = messages.iter().filter(|m| m["role"] == "tool");
        let results: Vec<String> = results.map(|m| m["content"].to_string()).collect();
        return ScriptedReply::text([results.join(" "), " That is all.".to_owned()]);
    };
    let call = |(index, tool): (usize, &&str)| {
        ReplyPart::Call(ScriptedCall {
            id: format!("call_{turn}_{index}"),
            name: (*tool).to_owned(),
            arguments: vec![json!({"step": turn * 10 + index}).to_string()],
        })
    };
    ScriptedReply::new(tools.iter().enumerate().map(call).collect()).pause(Duration::from_millis(5))
}

/// Outcome of a run.
#[derive(Debug, PartialEq)]
struct Came {
    text: String,
    calls: BTreeMap<String, usize>,
    asked: usize,
}

struct World {
    place: Place,
    tools: ToolServer,
    provider: FakeProvider,
}

impl World {
    fn new(journal: &str) -> Self {
        World::with(journal, "", "")
    }

    /// Creates a world with additional agent settings and additional lines in the agent.
    fn with(journal: &str, more: &str, agent: &str) -> Self {
        let tools = ToolServer::start();
        let settings = format!(
            "[agent]\njournal = \"{journal}\"\nruns = \"{}\"\nsessions = \"sqlite:sessions.db\"\nlease_ms = 600\n{more}[tools]\naddresses = {{allow = [\"127.0.0.1\"]}}\n",
            if journal.starts_with("redis") {
                journal
            } else {
                "memory:"
            }
        );
        let clerk = format!("model: gpt-4o\ninstructions: Do it.\ntools: [\"*\"]\n{agent}");
        let mut place = Place::new().with(&[
            ("quillet.toml", settings.as_str()),
            ("s/agents/clerk.yaml", clerk.as_str()),
            ("s/prompts/hi.gotmpl", "Hi"),
        ]);
        for (tool, method, idempotent) in TOOLS {
            let text = format!(
                r#"{{"type":"restful","url":"http://{}/{tool}","method":"{method}","idempotent":{idempotent},
                "parameters":{{"type":"object","properties":{{"step":{{"type":"integer"}}}}}}}}"#,
                tools.address
            );
            place = place.with(&[(&format!("s/tools/{tool}.json"), &text)]);
        }
        World {
            place,
            tools,
            provider: FakeProvider::start(ReplyScript::function(answer)),
        }
    }

    /// Creates a world with a stored script instead of the agent, and with this model.
    fn of_script(
        journal: &str,
        more: &str,
        script: &str,
        answer: fn(&RecordedRequest) -> ScriptedReply,
    ) -> Self {
        let mut world = World::with(journal, more, "");
        world.place = world.place.with(&[("s/prompts/clerk.ai.yaml", script)]);
        world.provider = FakeProvider::start(ReplyScript::function(answer));
        world
    }

    /// Starts a server with its journal at another address.
    fn server_at(&self, journal: &str) -> Running {
        let around = reach(&self.provider);
        let mut env = borrowed(&around);
        env.push(("QUILLET_JOURNAL", journal));
        Running::start_with(&self.place, &["--store", "dir:s"], &env)
    }

    fn server(&self) -> Running {
        let around = reach(&self.provider);
        Running::start_with(&self.place, &["--store", "dir:s"], &borrowed(&around))
    }

    fn run(&self, server: &Running, id: &str) -> Option<Value> {
        let answer = server.request("GET", &format!("/v1/runs/{id}"), "");
        let (head, body) = answer.split_once("\r\n\r\n")?;
        head.starts_with("HTTP/1.1 200")
            .then(|| serde_json::from_str(body).unwrap())
    }

    fn came(&self, run: &Value) -> Came {
        let last = run["journal"].as_array().unwrap().last().unwrap();
        assert_eq!(last["how"], "done", "{last}");
        Came {
            text: last["text"].as_str().unwrap().to_owned(),
            calls: self.tools.counts(),
            asked: self.provider.requests().len(),
        }
    }
}

/// Sends the question without reading the response.
fn ask(server: &Running, id: &str) {
    let body = json!({"model_config": {"model_id": "agent/clerk", "model": "openai"}, "input": {"text": "Do it"},
        "features": {"durable": true}});
    let mut stream = post(server, "/v1/response", id, &body);
    let mut first = [0; 64];
    let read = stream.read(&mut first).unwrap();
    let first = String::from_utf8_lossy(&first[..read]).into_owned();
    assert!(first.starts_with("HTTP/1.1 200"), "{first}");
}

/// Starts the script. The client stays connected while the stream exists.
fn ask_script(server: &Running, id: &str, body: &Value) -> TcpStream {
    post(server, "/api/chat/prompts/clerk", id, body)
}

/// Sends a request with this id, and leaves the response to the reader of the stream.
fn post(server: &Running, path: &str, id: &str, body: &Value) -> TcpStream {
    let body = body.to_string();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {}\r\nx-request-id: {id}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    )
    .unwrap();
    stream
}

/// Polls until the run has the expected state.
fn until(world: &World, server: &Running, id: &str, is: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let run = world.run(server, id);
        if let Some(run) = run.as_ref().filter(|run| is(run)) {
            return run.clone();
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{id}: {run:#?}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Returns the end of a run. Calls with an unknown outcome are approved like a user would.
fn end(world: &World, server: &Running, id: &str) -> (Value, usize) {
    let mut decided = 0;
    loop {
        let run = until(world, server, id, |run| {
            run["state"] == "ended" || run["state"] == "waiting"
        });
        if run["state"] == "ended" {
            return (run, decided);
        }
        for call in run["waiting"].as_array().unwrap() {
            assert_eq!(call["why"], "unknown", "{call}");
            let tool = call["tool"].as_str().unwrap();
            assert!(tool == "send" || tool == "note", "{call}");
            let step = &call["arguments"]["step"];
            let made = format!("{tool} {:0>1}", step.to_string());
            let body = if world.tools.counts().contains_key(&made) {
                json!({"call": call["call"], "decision": "result",
                    "text": format!("{{\"did\":\"{made}\"}}")})
            } else {
                json!({"call": call["call"], "decision": "approve"})
            };
            let path = format!("/v1/response/{id}/decide");
            let answer = server.request("POST", &path, &body.to_string());
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            decided += 1;
        }
    }
}
