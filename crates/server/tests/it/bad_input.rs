//! Hostile and invalid input. After each case the server must still serve a request.

use serde_json::json;

use crate::client::{Connection, parse};
use crate::test_server::{Setup, TestServer, start, start_with};

async fn still_serves(server: &TestServer) {
    assert_eq!(
        server.post("/api/render/prompts/a.b.c", "").await.json()["rendered_prompt"],
        "dotted"
    );
}

#[tokio::test]
async fn bodies_that_are_no_requests_are_400_with_the_place() {
    let server = start().await;
    let deep = format!(
        "{{\"variables\":{{\"x\":{}{}}}}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let cases = [
        ("nonsense", 1),
        ("[]", 1),
        ("{\"variables\": 7}", 1),
        ("{\"variables\": \"text\"}", 1),
        ("{\n\"variables\": {\n\"a\": 1,\n}}", 4),
        ("{} {}", 1),
        ("{\"variables\": {\"a\": 1e999}}", 1),
        ("{\"variables\": {\"a\": \"\\ud800\"}}", 1),
        (deep.as_str(), 1),
    ];
    for (body, line) in cases {
        for path in [
            "/api/render/prompts/hello",
            "/api/chat/prompts/hello",
            "/api/prompts/hello/chat",
        ] {
            let answer = server.post(path, body).await;
            let problem = answer.json();
            let short: String = body.chars().take(40).collect();
            assert_eq!(
                (answer.status, &problem["error"]),
                (400, &json!("request.body")),
                "{short}: {problem}"
            );
            assert_eq!(problem["line"], line, "{short}: {problem}");
            assert!(problem["column"].is_u64(), "{short}: {problem}");
        }
    }
    still_serves(&server).await;
}

#[tokio::test]
async fn bodies_over_the_limit_are_413_whether_they_say_so_or_not() {
    let mut setup = Setup::default();
    setup.config.body_bytes = 1000;
    let server = start_with(setup).await;
    let fits = format!("{{\"variables\":{{\"name\":\"{}\"}}}}", "x".repeat(900));
    assert_eq!(
        server.post("/api/render/prompts/hello", &fits).await.status,
        200
    );
    let large = "x".repeat(100_000);
    let answer = server.post("/api/render/prompts/hello", &large).await;
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (413, Some("request.too_large"))
    );

    let mut connection = Connection::open(server.address).await;
    connection.send("POST /api/render/prompts/hello HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n").await;
    connection
        .send(&format!("{:x}\r\n{}\r\n", 2000, "x".repeat(2000)))
        .await;
    let answer = parse(&connection.read_to_end().await);
    assert_eq!(answer.status, 413, "{answer:?}");
    still_serves(&server).await;
}

#[tokio::test]
async fn a_body_that_does_not_come_is_408() {
    let mut setup = Setup::default();
    setup.config.body_time = std::time::Duration::from_millis(50);
    let server = start_with(setup).await;
    let mut connection = Connection::open(server.address).await;
    connection
        .send("POST /api/render/prompts/hello HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n{")
        .await;
    let answer = parse(&connection.read_to_end().await);
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (408, Some("request.slow"))
    );
    still_serves(&server).await;
}

#[tokio::test]
async fn templates_that_would_never_end_are_stopped() {
    let server = start().await;
    let doubling = format!(
        "{{{{$x := \"0123456789\"}}}}{}{{{{$x}}}}",
        "{{$x = print $x $x}}".repeat(40)
    );
    let cases = [
        "{{define \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}".to_owned(),
        "{{range 1000000000}}x{{end}}".to_owned(),
        "{{range 100000}}{{range 100000}}{{end}}{{end}}".to_owned(),
        "{{printf \"%1000000000d\" 1}}".to_owned(),
        doubling,
        format!("{}1{}", "{{(".repeat(5000), ")}}".repeat(5000)),
        format!("{}{}", "{{if 1}}".repeat(5000), "{{end}}".repeat(5000)),
    ];
    for template in cases {
        let body = json!({"template": template, "missing": "lenient"}).to_string();
        let answer = server.post("/api/render", &body).await;
        let short: String = template.chars().take(60).collect();
        assert!(answer.status == 200 || answer.status >= 400, "{short}");
        assert!(
            answer.body.len() < 10 << 20,
            "{short} gave {} bytes",
            answer.body.len()
        );
        still_serves(&server).await;
    }
}

#[tokio::test]
async fn requests_that_are_not_http_are_refused() {
    let server = start().await;
    let cases = [
        "NONSENSE\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n",
        "POST /api/render HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        "POST /api/render HTTP/1.1\r\nhost: localhost\r\ncontent-length: +5\r\n\r\nhello",
        "POST /api/render HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\nhello",
    ];
    for case in cases {
        let mut connection = Connection::open(server.address).await;
        connection.send(case).await;
        let answer = connection.read_to_end().await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
            "{case:?}: {answer}"
        );
    }
    still_serves(&server).await;
}

#[tokio::test]
async fn a_request_with_two_lengths_is_the_last_of_its_connection() {
    let server = start().await;
    let mut connection = Connection::open(server.address).await;
    connection
        .send("POST /api/render/prompts/a.b.c HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await;
    let answers = connection.read_to_end().await;
    assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
}

#[tokio::test]
async fn headers_without_end_are_refused() {
    let server = start().await;
    let mut connection = Connection::open(server.address).await;
    connection
        .send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
        .await;
    connection
        .send(&format!("x-long: {}\r\n\r\n", "x".repeat(200_000)))
        .await;
    let answer = connection.read_to_end().await;
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );
    still_serves(&server).await;
}
