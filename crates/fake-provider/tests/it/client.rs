//! A minimal HTTP client that shows every byte.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use quillet_fake_provider::{FakeProvider, ProviderApi};
use serde_json::{Value, json};

/// A received response.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Status line and headers.
    pub(crate) head: String,
    /// The body, with chunked encoding removed.
    pub(crate) body: String,
    /// Whether the HTTP body is complete.
    pub(crate) whole: bool,
    /// The error that ended the connection, if any.
    pub(crate) error: Option<ErrorKind>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Returns the path and body of a request in the format of this API.
pub(crate) fn request(wire: ProviderApi, model: &str, streaming: bool) -> (String, Value) {
    let messages = json!([{"role": "user", "content": "hi"}]);
    let contents = json!([{"role": "user", "parts": [{"text": "hi"}]}]);
    let options = json!({"include_usage": true});
    match wire {
        ProviderApi::OpenAiChat => (
            "/v1/chat/completions".to_owned(),
            json!({"model": model, "stream": streaming, "stream_options": options, "messages": messages}),
        ),
        ProviderApi::OpenAiResponses => (
            "/v1/responses".to_owned(),
            json!({"model": model, "stream": streaming, "input": "hi"}),
        ),
        ProviderApi::Anthropic => (
            "/v1/messages".to_owned(),
            json!({"model": model, "stream": streaming, "messages": messages, "max_tokens": 9}),
        ),
        ProviderApi::Gemini if streaming => (
            format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"),
            json!({"contents": contents}),
        ),
        ProviderApi::Gemini => (
            format!("/v1beta/models/{model}:generateContent"),
            json!({"contents": contents}),
        ),
    }
}

/// Sends a request and returns the open connection.
pub(crate) fn send(provider: &FakeProvider, path: &str, key: &str, body: &Value) -> TcpStream {
    let body = body.to_string();
    let mut stream = TcpStream::connect(provider.address()).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: fake\r\nauthorization: Bearer {key}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

/// Reads until the connection ends.
pub(crate) fn read(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let error = stream
        .read_to_end(&mut bytes)
        .err()
        .map(|error| error.kind());
    let text = String::from_utf8(bytes).unwrap();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return Answer {
            error,
            ..Answer::default()
        };
    };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let (body, whole) = if head.contains("chunked") {
        unchunk(body)
    } else {
        (body.to_owned(), body.len() == length(head))
    };
    Answer {
        status,
        head: head.to_owned(),
        body,
        whole,
        error,
    }
}

fn length(head: &str) -> usize {
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    line.map_or(0, |length| length.parse().unwrap())
}

fn unchunk(mut body: &str) -> (String, bool) {
    let mut text = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (text, true);
        }
        let Some(chunk) = rest.get(..size) else {
            break;
        };
        text.push_str(chunk);
        body = rest[size..].strip_prefix("\r\n").unwrap_or_default();
    }
    (text, false)
}

/// Sends a request and reads the complete response.
pub(crate) fn ask(
    provider: &FakeProvider,
    wire: ProviderApi,
    model: &str,
    streaming: bool,
) -> Answer {
    let (path, body) = request(wire, model, streaming);
    read(send(provider, &path, "sk-test", &body))
}
