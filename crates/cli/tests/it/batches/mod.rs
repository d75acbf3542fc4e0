//! Batches through real processes: over SQLite and over Redis, of which some are killed, and by the
//! command line.

mod command;
#[cfg(feature = "redis")]
mod killed;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::serve::Running;

/// A row that asks a model.
fn row(name: &str, model: &str) -> String {
    let row = json!({"custom_id": name, "method": "POST", "url": "/v1/chat/completions",
        "body": {"model": model, "messages": [{"role": "user", "content": name}]}});
    format!("{row}\n")
}

/// The body of an answer, whose status is good.
fn body(answer: &str) -> Value {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

fn upload(server: &Running, text: &str) -> String {
    let body = format!(
        "--b\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
         --b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"rows.jsonl\"\r\n\r\n{text}\r\n--b--\r\n"
    );
    let mut stream = TcpStream::connect(&server.address).unwrap();
    write!(
        stream,
        "POST /v1/files HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let file = self::body(&answer);
    file["id"].as_str().unwrap().to_owned()
}

/// Begins a batch of these rows; its id.
fn begin(server: &Running, rows: &str) -> String {
    let file = upload(server, rows);
    let asked = json!({"input_file_id": file, "endpoint": "/v1/chat/completions",
        "completion_window": "24h"});
    let batch = body(&server.request("POST", "/v1/batches", &asked.to_string()));
    batch["id"].as_str().unwrap().to_owned()
}

fn batch(server: &Running, id: &str) -> Value {
    body(&server.request("GET", &format!("/v1/batches/{id}"), ""))
}

/// Waits for the end of a batch, and does something until then.
fn ended(server: &Running, id: &str, mut meanwhile: impl FnMut()) -> Value {
    let started = Instant::now();
    loop {
        let batch = batch(server, id);
        if ["completed", "failed", "expired", "cancelled"]
            .contains(&batch["status"].as_str().unwrap())
        {
            return batch;
        }
        assert!(started.elapsed() < Duration::from_secs(900), "{batch}");
        meanwhile();
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The lines of a file by their ids, each of which is there once.
fn lines(text: &str) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let id = line["custom_id"].as_str().unwrap().to_owned();
        assert!(
            all.insert(id.clone(), line).is_none(),
            "{id} is there twice"
        );
    }
    all
}

fn content(server: &Running, file: &Value) -> String {
    let path = format!("/v1/files/{}/content", file.as_str().unwrap());
    let answer = server.request("GET", &path, "");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body.to_owned()
}
