//! Tools and a model that record their calls and kill the calling worker at a given point.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use quillet_fake_provider::{
    FakeProvider, RecordedRequest, ReplyPart, ReplyScript, ScriptedCall, ScriptedReply,
};
use serde_json::{Value, json};

/// The tools: name, HTTP method, and whether a call may be repeated.
pub const TOOLS: [(&str, &str, &str); 4] = [
    ("look", "GET", "true"),
    ("book", "POST", "\"key\""),
    ("send", "POST", "\"never\""),
    ("note", "POST", "\"never\""),
];

/// The tool calls of each turn. After the last turn, the model answers.
pub const TURNS: [&[&str]; 5] = [
    &["look", "book"],
    &["send"],
    &["look"],
    &["note", "book"],
    &["send"],
];

/// Kills a worker at a named point of a run. The first worker that reaches the point is killed
/// immediately.
#[derive(Default)]
pub struct Trap {
    passed: Vec<String>,
    at: Option<String>,
    sprung: Option<usize>,
    workers: Vec<Option<Child>>,
}

impl Trap {
    /// Sets the point. The first worker that reaches it is killed.
    pub fn set(trap: &Mutex<Trap>, at: Option<&str>) {
        let mut trap = trap.lock().unwrap();
        trap.passed.clear();
        trap.at = at.map(str::to_owned);
        trap.sprung = None;
    }

    pub fn watch(trap: &Mutex<Trap>, worker: usize, child: Child) {
        let mut trap = trap.lock().unwrap();
        let places = trap.workers.len().max(worker + 1);
        trap.workers.resize_with(places, || None);
        trap.workers[worker] = Some(child);
    }

    /// Reports that a worker reached a point. Returns whether it was killed.
    fn pass(trap: &Mutex<Trap>, worker: usize, what: &str) -> bool {
        let mut trap = trap.lock().unwrap();
        trap.passed.push(what.to_owned());
        if trap.at.as_deref() != Some(what) || trap.sprung.is_some() {
            return false;
        }
        trap.sprung = Some(worker);
        kill(&mut trap.workers, worker);
        true
    }

    pub fn kill(trap: &Mutex<Trap>, worker: usize) {
        kill(&mut trap.lock().unwrap().workers, worker);
    }

    /// Returns the points that workers reached, in order.
    pub fn passed(trap: &Mutex<Trap>) -> Vec<String> {
        trap.lock().unwrap().passed.clone()
    }

    /// Returns the number of the killed worker, if any.
    pub fn sprung(trap: &Mutex<Trap>) -> Option<usize> {
        trap.lock().unwrap().sprung
    }
}

fn kill(workers: &mut [Option<Child>], worker: usize) {
    if let Some(mut child) = workers.get_mut(worker).and_then(Option::take) {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// The tool calls in order. Each entry is the name of the tool and a number.
pub type Calls = Arc<Mutex<Vec<String>>>;

/// Returns how many times each call was made.
pub fn counts(calls: &Calls) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in calls.lock().unwrap().iter() {
        *counts.entry(call.clone()).or_default() += 1;
    }
    counts
}

/// Starts the tools of one worker and returns their address.
pub fn serve_tools(worker: usize, calls: &Calls, trap: &Arc<Mutex<Trap>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (calls, trap) = (calls.clone(), trap.clone());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (calls, trap) = (calls.clone(), trap.clone());
            thread::spawn(move || serve(stream, worker, &calls, &trap));
        }
    });
    address
}

fn serve(mut stream: TcpStream, worker: usize, calls: &Calls, trap: &Mutex<Trap>) {
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
        let call = format!("{tool} {step}");
        if Trap::pass(trap, worker, &format!("{call} is asked for")) {
            return;
        }
        calls.lock().unwrap().push(call.clone());
        if Trap::pass(trap, worker, &format!("{call} is done")) {
            return;
        }
        let large = if tool == "huge" {
            "x".repeat(3_000_000)
        } else {
            String::new()
        };
        let answer = json!({"did": call, "large": large});
        let answer = if large.is_empty() {
            json!({"did": call})
        } else {
            answer
        }
        .to_string();
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        let _ = stream.flush();
        Trap::pass(trap, worker, &format!("{call} is answered"));
    }
}

/// Starts the model of one worker.
pub fn serve_model(
    worker: usize,
    trap: &Arc<Mutex<Trap>>,
    answer: fn(&Value) -> ScriptedReply,
) -> FakeProvider {
    let trap = trap.clone();
    FakeProvider::start(ReplyScript::function(move |asked: &RecordedRequest| {
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        let question = asked_before(&body);
        let name = format!("question {}{}", question + 1, named(&body));
        Trap::pass(&trap, worker, &format!("{name} is asked"));
        let turn = answer(&body);
        // The worker stops in the middle of the answer: its first chunk was sent, but its last
        // chunk was not.
        let (trap, pause) = (trap.clone(), turn.pause);
        if !pause.is_zero() {
            let pieces = u32::try_from(turn.pieces.len()).unwrap();
            let is_last = question == TURNS.len();
            thread::spawn(move || {
                thread::sleep(pause / 2);
                let what = format!("{name} is half answered");
                // The run ends after the last answer.
                if Trap::pass(&trap, worker, &what) || is_last {
                    return;
                }
                thread::sleep(pause * pieces);
                let what = format!("{name} is answered");
                Trap::pass(&trap, worker, &what);
            });
        }
        turn
    }))
}

/// Identifies a model call of a script by its first words; calls of an agent are identified by
/// number.
fn named(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    let asked = messages.iter().rfind(|m| m["role"] == "user");
    let text = asked
        .and_then(|m| m["content"].as_str())
        .unwrap_or_default();
    if text == "Do it" || text.parse::<usize>().is_ok() {
        return String::new();
    }
    let words: Vec<&str> = text.split(' ').take(2).collect();
    let words: String = words
        .join(" ")
        .chars()
        .filter(|c| !c.is_ascii_digit())
        .collect();
    format!(" ({})", words.trim())
}

fn asked_before(body: &Value) -> usize {
    let messages = body["messages"].as_array().unwrap();
    messages.iter().filter(|m| m["role"] == "assistant").count()
}

/// Returns a reply with one tool call, whose id is derived from the turn.
pub fn call(turn: usize, tool: &str, step: usize) -> ScriptedReply {
    let arguments = json!({"step": step}).to_string();
    ScriptedReply::new(Vec::new()).and_call(format!("call_{turn}"), tool, [arguments])
}

/// Returns the model's reply, which depends only on the messages so far.
pub fn clerk(body: &Value) -> ScriptedReply {
    let turn = asked_before(body);
    let turns = TURNS.get(turn);
    let pieces = match turns {
        Some(tools) => {
            let call = |(index, tool): (usize, &&str)| {
                ReplyPart::Call(ScriptedCall {
                    id: format!("call_{turn}_{index}"),
                    name: (*tool).to_owned(),
                    arguments: vec![json!({"step": turn * 10 + index}).to_string()],
                })
            };
            let text = std::iter::once(ReplyPart::Text(format!("Turn {turn}. ")));
            text.chain(tools.iter().enumerate().map(call)).collect()
        }
        None => {
            let messages = body["messages"].as_array().unwrap();
            let results = messages.iter().filter(|m| m["role"] == "tool");
            let results: Vec<String> = results.map(|m| m["content"].to_string()).collect();
            vec![
                ReplyPart::Text(results.join(" ")),
                ReplyPart::Text(" That is all.".to_owned()),
            ]
        }
    };
    ScriptedReply::new(pieces).pause(Duration::from_millis(120))
}
