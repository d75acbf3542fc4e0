//! An HTTP client that shows every byte.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = |line: &'_ str| -> Option<(usize, usize)> {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| {
                let value = value.trim();
                let start = value.as_ptr() as usize - self.head.as_ptr() as usize;
                (start, start + value.len())
            })
        };
        let (start, end) = self.head.lines().find_map(line)?;
        Some(&self.head[start..end])
    }

    /// Returns the data of all server-sent events.
    pub(crate) fn events(&self) -> Vec<&str> {
        self.body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .collect()
    }
}

/// A raw TCP connection.
pub(crate) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Connection {
            stream: TcpStream::connect(address).await.unwrap(),
            read: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) async fn try_send(&mut self, text: &str) -> std::io::Result<()> {
        self.stream.write_all(text.as_bytes()).await
    }

    /// Reads until this many responses have begun.
    pub(crate) async fn read_answers(&mut self, count: usize) {
        while String::from_utf8_lossy(&self.read)
            .matches("HTTP/1.1 200")
            .count()
            < count
        {
            let mut bytes = [0; 4096];
            let got = self.stream.read(&mut bytes).await.unwrap();
            assert!(got > 0, "the connection ended");
            self.read.extend_from_slice(&bytes[..got]);
        }
    }

    /// Reads until the text arrives. Panics if the connection ends first.
    pub(crate) async fn read_until(&mut self, wanted: &str) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.read).into_owned();
            if text.contains(wanted) {
                return text;
            }
            let mut bytes = [0; 4096];
            let count = self.stream.read(&mut bytes).await.unwrap();
            assert!(count > 0, "ended before {wanted:?}: {text}");
            self.read.extend_from_slice(&bytes[..count]);
        }
    }

    /// Reads until the server closes the connection.
    pub(crate) async fn read_to_end(&mut self) -> String {
        // The server may also reset the connection if it closes with unread bytes.
        let _ = self.stream.read_to_end(&mut self.read).await;
        String::from_utf8_lossy(&self.read).into_owned()
    }
}

/// Sends one request on a new connection.
pub(crate) async fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    let mut connection = Connection::open(address).await;
    // The server may respond and close the connection before it has read everything.
    let _ = connection
        .stream
        .write_all(format!("{text}\r\n{body}").as_bytes())
        .await;
    let text = connection.read_to_end().await;
    parse(&text)
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> Answer {
    request(address, "GET", path, &[], "").await
}

pub(crate) async fn post(address: SocketAddr, path: &str, body: &str) -> Answer {
    request(address, "POST", path, &[], body).await
}

pub(crate) fn parse(text: &str) -> Answer {
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no head in {text:?}"));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    Answer {
        status: status.unwrap_or_else(|| panic!("no status in {head:?}")),
        head: head.to_owned(),
        body: if chunked {
            dechunk(body)
        } else {
            body.to_owned()
        },
    }
}

/// Decodes a chunked body, possibly incomplete.
fn dechunk(mut rest: &str) -> String {
    let mut out = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size =
            usize::from_str_radix(size, 16).unwrap_or_else(|_| panic!("chunk size {size:?}"));
        // The last chunk has size 0.
        let Some(chunk) = after.get(..size).filter(|chunk| !chunk.is_empty()) else {
            break;
        };
        out.push_str(chunk);
        rest = after.get(size + 2..).unwrap_or("");
    }
    out
}
