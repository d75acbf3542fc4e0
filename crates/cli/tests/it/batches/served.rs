//! Helpers for batches over HTTP, shared by tests with several processes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::serve::Running;

/// Returns the body of a successful response.
pub(super) fn body(answer: &str) -> Value {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

pub(super) fn upload(server: &Running, key: &[(&str, &str)], text: &str) -> String {
    let body = format!(
        "--b\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
         --b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"rows.jsonl\"\r\n\r\n{text}\r\n--b--\r\n"
    );
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let key: String = key
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    write!(
        stream,
        "POST /v1/files HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{key}content-type: multipart/form-data; boundary=b\r\ncontent-length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let file = self::body(&answer);
    file["id"].as_str().unwrap().to_owned()
}

/// Starts a batch with these rows and returns its id.
pub(crate) fn begin(server: &Running, rows: &str) -> String {
    begin_as(server, &[], rows)
}

/// Like [`begin`], but with an API key.
pub(super) fn begin_as(server: &Running, key: &[(&str, &str)], rows: &str) -> String {
    let file = upload(server, key, rows);
    let asked = json!({"input_file_id": file, "endpoint": "/v1/chat/completions",
        "completion_window": "24h"});
    let batch = body(&server.send("POST", "/v1/batches", key, &asked.to_string()));
    batch["id"].as_str().unwrap().to_owned()
}

pub(super) fn batch(server: &Running, id: &str) -> Value {
    body(&server.request("GET", &format!("/v1/batches/{id}"), ""))
}

/// Polls until a batch ends, and calls a function between polls.
pub(crate) fn ended(server: &Running, id: &str, mut meanwhile: impl FnMut()) -> Value {
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

pub(crate) fn content(server: &Running, file: &Value) -> String {
    let path = format!("/v1/files/{}/content", file.as_str().unwrap());
    let answer = server.request("GET", &path, "");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body.to_owned()
}
