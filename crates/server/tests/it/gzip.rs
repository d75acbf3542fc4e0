//! Gzip bodies on every route give the same response as uncompressed ones.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Answer, parse};
use crate::test_server::{TestServer, start};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Sends a body with its length, or in HTTP chunks of this size.
async fn send(server: &TestServer, path: &str, name: &str, body: &[u8], chunks: usize) -> Answer {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let length = match chunks {
        0 => format!("content-length: {}", body.len()),
        _ => "transfer-encoding: chunked".to_owned(),
    };
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-encoding: {name}\r\n{length}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2025-06-18\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    if chunks == 0 {
        stream.write_all(body).await.unwrap();
    } else {
        let mut all = Vec::new();
        for chunk in body.chunks(chunks) {
            all.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
            all.extend(chunk);
            all.extend(b"\r\n");
        }
        all.extend(b"0\r\n\r\n");
        // The server may close the connection before it has read everything.
        let _ = stream.write_all(&all).await;
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    parse(&String::from_utf8_lossy(&answer))
}

#[tokio::test]
async fn a_body_as_gzip_is_read_on_every_route() {
    let server = start().await;
    let variables = json!({"variables": {"name": "Ada"}}).to_string();
    let by_id = json!({"prompt_id": "hello", "variables": {"name": "Ada"}}).to_string();
    let chat = json!({"model": "prompt/hello", "messages": [], "variables": {"name": "Ada"}});
    let mcp = json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/get",
        "params": {"name": "hello", "arguments": {"name": "Ada"}}});
    for (path, body, said) in [
        ("/api/render/prompts/hello", variables.clone(), "Ada"),
        ("/api/prompts/hello/render", variables.clone(), "Ada"),
        ("/api/chat/prompts/hello", variables, "chat.completion"),
        ("/api/render", by_id, "Ada"),
        ("/v1/chat/completions", chat.to_string(), "chat.completion"),
        ("/mcp", mcp.to_string(), "Ada"),
    ] {
        for (name, chunks) in [("gzip", 0), ("GZip", 1), ("x-gzip", 10)] {
            let answer = send(&server, path, name, &gzip(body.as_bytes()), chunks).await;
            assert_eq!(answer.status, 200, "{path} {name}: {answer:?}");
            assert!(answer.body.contains(said), "{path} {name}: {answer:?}");
        }
    }
    let empty = send(&server, "/api/render/prompts/a.b.c", "gzip", b"", 0).await;
    assert_eq!(empty.status, 200, "{empty:?}");
}

#[tokio::test]
async fn a_body_that_becomes_too_large_is_refused_and_names_the_limit() {
    let server = start().await;
    let bomb = gzip(&vec![b' '; 256 << 20]);
    assert!(bomb.len() < 300_000, "{}", bomb.len());
    let cut = &gzip(br#"{"variables":{"name":"Ada"}}"#)[..20];
    for (path, body, status, said) in [
        (
            "/api/render/prompts/hello",
            &bomb[..],
            413,
            "the limit on body_bytes",
        ),
        ("/api/render", &bomb, 413, "the limit on body_bytes"),
        (
            "/v1/chat/completions",
            &bomb,
            413,
            "the limit on body_bytes",
        ),
        ("/api/render/prompts/hello", cut, 400, "invalid gzip data"),
        ("/api/render/prompts/hello", b"{}", 400, "invalid gzip data"),
    ] {
        for chunks in [0, 4096] {
            let answer = send(&server, path, "gzip", body, chunks).await;
            assert_eq!(answer.status, status, "{path} {chunks}: {answer:?}");
            assert!(answer.body.contains(said), "{path} {chunks}: {answer:?}");
        }
    }
    let mcp = send(&server, "/mcp", "gzip", &bomb, 4096).await;
    assert!((400..500).contains(&mcp.status), "{mcp:?}");
}
