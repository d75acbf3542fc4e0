//! Responses report unknown members, invalid definitions and sources in addition to the text.

use quillet_core::store::EntryKind;
use quillet_test_support::sample_step;
use serde_json::{Value, json};

use crate::client::{Connection, parse, request};
use crate::test_server::{Setup, TestServer, start, start_with};

async fn with(more: &[(EntryKind, &'static str, &'static str)]) -> TestServer {
    let more = more.to_vec();
    start_with(Setup {
        more,
        ..Setup::default()
    })
    .await
}

#[tokio::test]
async fn a_broken_tool_or_extension_is_named_where_it_is_used() {
    let server = with(&[
        (
            EntryKind::Prompt,
            "uses:torn",
            r#"{"userPrompt":"one\n{{torn 1}} {{nosuch 2}}"}"#,
        ),
        (
            EntryKind::Prompt,
            "uses:only:torn",
            r#"{"userPrompt":"{{torn 1}}"}"#,
        ),
        (
            EntryKind::Prompt,
            "by:name",
            r#"{"userPrompt":"{{tool \"torn\" 1}}"}"#,
        ),
        (
            EntryKind::Prompt,
            "in:mustache",
            r#"{"prompt":"{{torn}}","format":"mustache","missing":"strict"}"#,
        ),
        (
            EntryKind::Extension,
            "acme:themes",
            r#"{"name":"themes","extensionType":"theme"}"#,
        ),
        (EntryKind::Extension, "acme:ill", "{"),
    ])
    .await;
    let broken = "tool torn is registered but invalid: ";
    // The columns are the path, the status, the error code and the expected text.
    for (path, status, code, said) in [
        (
            "/api/render/prompts/uses.torn",
            400,
            "render.unknown_function",
            &[broken, "\"nosuch\" not defined"][..],
        ),
        (
            "/api/render/prompts/uses.only.torn",
            400,
            "render.broken_tool",
            &[broken],
        ),
        ("/api/render/prompts/by.name", 500, "render.call", &[broken]),
        (
            "/api/render/prompts/in.mustache",
            400,
            "render.missing_variable",
            &[broken],
        ),
        (
            "/api/render/prompts/themes.dark",
            404,
            "not_found",
            &[
                "extension acme.themes is registered but invalid: ",
                "must be",
            ],
        ),
        (
            "/api/prompts/ill.any",
            404,
            "not_found",
            &["extension acme.ill is registered but invalid: "],
        ),
        (
            "/api/prompts/acme.ill.any",
            404,
            "not_found",
            &["extension acme.ill is registered but invalid: "],
        ),
    ] {
        let method = if path.contains("/render/") {
            "POST"
        } else {
            "GET"
        };
        let answer = request(server.address, method, path, &[], "").await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error == code || status == 500, "{path}: {error}");
        for part in said {
            let text = answer.json().to_string().replace("\\\"", "\"");
            assert!(text.contains(part), "{path}: {part}: {text}");
        }
    }
    let answer = server
        .post("/api/render/prompts/uses.torn", "")
        .await
        .json();
    assert_eq!(
        (&answer["line"], &answer["column"]),
        (&json!(2), &json!(14)),
        "{answer}"
    );
}

#[tokio::test]
async fn missing_variables_have_places_and_names_that_are_near() {
    let server = with(&[(
        EntryKind::Prompt,
        "places",
        r#"{"messages":[{"role":"system","content":"fine"},{"role":"user","content":"a\n  {{.variables.name}} {{.vscode.lnag}}"}]}"#,
    )])
    .await;
    let answer = server
        .post(
            "/api/render/prompts/places",
            r#"{"variables":{"nmae":"x"}}"#,
        )
        .await
        .json();
    assert_eq!(answer["missing"], json!(["variables.name", "vscode.lnag"]));
    let found: Vec<Value> = answer["diagnostics"].as_array().unwrap().clone();
    let places: Vec<_> = found
        .iter()
        .map(|found| {
            (
                found["source"].as_str().unwrap(),
                &found["line"],
                &found["column"],
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            ("places.messages.1", &json!(2), &json!(5)),
            ("places.messages.1", &json!(2), &json!(25))
        ],
        "{answer}"
    );
    assert!(
        answer["hint"]
            .as_str()
            .unwrap()
            .contains("variables.name: did you mean nmae?"),
        "{answer}"
    );
}

#[tokio::test]
async fn what_nobody_reads_is_told() {
    let server = with(&[
        (EntryKind::Prompt, "declares", r#"{"userPrompt":"{{.args.a}}","parameters":{"type":"object","properties":{"a":{},"b":{}}}}"#),
        (EntryKind::Prompt, "takes:all", r#"{"userPrompt":"{{range $k, $v := .variables}}{{$k}}{{end}}"}"#),
        (EntryKind::Prompt, "in:jinja", r#"{"prompt":"{{ name }}","format":"jinja"}"#),
    ])
    .await;
    // The columns are the prompt, the body and the names in the warnings.
    for (prompt, body, expected) in [
        ("hello", r#"{"variables":{"name":"A"}}"#, &[][..]),
        (
            "hello",
            r#"{"varaibles":{},"args":{"name":"A"}}"#,
            &["unknown member \"varaibles\" is ignored; did you mean \"variables"],
        ),
        (
            "hello",
            r#"{"variables":{"name":"A","nome":"B"}}"#,
            &["variable \"nome\""],
        ),
        (
            "declares",
            r#"{"args":{"a":1,"b":2,"c":3}}"#,
            &["variable \"c\""],
        ),
        ("takes.all", r#"{"args":{"a":1,"b":2}}"#, &[]),
        (
            "in.jinja",
            r#"{"args":{"name":1,"other":2}}"#,
            &["variable \"other\""],
        ),
    ] {
        for path in [
            format!("/api/render/prompts/{prompt}"),
            format!("/api/prompts/{prompt}/render"),
        ] {
            let answer = server.post(&path, body).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            let none = Vec::new();
            let body_json = answer.json();
            let warnings = body_json["warnings"].as_array().unwrap_or(&none);
            assert_eq!(warnings.len(), expected.len(), "{body}: {warnings:?}");
            for (warning, part) in warnings.iter().zip(expected) {
                let message = warning["message"].as_str().unwrap();
                assert!(message.contains(part), "{body}: {message}");
                assert!(warning.get("tool").is_none());
            }
        }
    }
    let answer = server
        .post("/api/render", r#"{"promt_id":"x","prompt_id":"a.b.c"}"#)
        .await
        .json();
    assert!(
        answer["warnings"][0]["message"]
            .as_str()
            .unwrap()
            .contains("prompt_id"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_render_says_what_it_was_made_of() {
    let server = with(&[(
        EntryKind::Prompt,
        "made",
        r#"{"userPrompt":"{{.variables.name}} {{.variables.tone}} {{.vscode.lang}} {{ill}} {{codebase_lookup .variables.name}}","parameters":{"type":"object","properties":{"name":{},"tone":{"default":"calm"}}}}"#,
    )])
    .await;
    let body = r#"{"variables":{"name":"Ada"}}"#;
    let plain = server.post("/api/render/prompts/made", body).await.json();
    assert!(plain.get("explanation").is_none());
    let with_member = r#"{"variables":{"name":"Ada"},"explain":true}"#;
    for (path, body) in [
        ("/api/render/prompts/made?explain=true", body),
        ("/api/prompts/made/render?explain=1", body),
        ("/api/render/prompts/made", with_member),
        ("/api/chat/prompts/made?explain=true", body),
        ("/api/chat/prompts/made", with_member),
    ] {
        let answer = server.post(path, body).await.json();
        let explanation = &answer["explanation"];
        let template = &explanation["template"];
        assert_eq!(template["id"], "made", "{path}: {answer}");
        assert_eq!(
            (&template["format"], &template["cached"]),
            (&json!("go"), &json!(true))
        );
        let version = template["version"].as_str().unwrap();
        assert!(
            version.len() == 32 && version.bytes().all(|digit| digit.is_ascii_hexdigit()),
            "{version}"
        );
        let from = |path: &str| {
            let facts = explanation["variables"].as_array().unwrap();
            facts
                .iter()
                .find(|fact| fact["path"] == path)
                .unwrap()
                .clone()
        };
        assert_eq!(from("variables.name")["from"], "request");
        assert_eq!(from("variables.tone")["from"], "default");
        let shared = from("vscode.lang");
        assert_eq!(
            (&shared["from"], &shared["keys"][0]["key"]),
            (&json!("shared"), &json!("vscode:lang"))
        );
        assert_eq!(shared["keys"][0]["stale"], false);
        assert!(shared["keys"][0]["age_ms"].is_u64());
        let mut calls: Vec<_> = explanation["calls"].as_array().unwrap().clone();
        calls.sort_by_key(|call| call["tool"].to_string());
        let outcomes: Vec<_> = calls
            .iter()
            .map(|call| (&call["tool"], &call["outcome"]))
            .collect();
        let code = calls[1]["outcome"].clone();
        assert_eq!(
            outcomes,
            [
                (&json!("codebase_lookup"), &json!("ok")),
                (&json!("ill"), &code)
            ]
        );
        assert!(code.as_str().unwrap().starts_with("tool."), "{code}");
        assert!(calls[1]["failure"].is_string() && calls[0].get("failure").is_none());
    }
    let streamed = r#"{"variables":{"name":"Ada"},"explain":true,"stream":true}"#;
    let answer = server.post("/api/chat/prompts/made", streamed).await;
    let first: Value = serde_json::from_str(answer.events()[0]).unwrap();
    assert_eq!(first["explanation"]["template"]["id"], "made", "{first}");
    assert_eq!(answer.body.matches("explanation").count(), 1);
}

#[tokio::test]
async fn prompts_and_tools_are_counted_by_name_up_to_a_bound() {
    let server = start().await;
    for _ in 0..3 {
        server.post("/api/render/prompts/uses.ill", "").await;
    }
    server.post("/api/render/prompts/hello", "").await;
    server.post("/api/chat/prompts/a.b.c", "").await;
    for number in 0..300 {
        server
            .post(&format!("/api/render/prompts/made-up-{number}"), "")
            .await;
    }
    let text = server.get("/metrics").await.body;
    for line in [
        r#"quillet_prompt_renders_total{prompt="uses.ill",outcome="ok"} 3"#,
        r#"quillet_prompt_renders_total{prompt="hello",outcome="failed"} 1"#,
        r#"quillet_prompt_renders_total{prompt="a.b.c",outcome="ok"} 1"#,
        r#"quillet_prompt_render_seconds_count{prompt="uses.ill"} 3"#,
        r#"quillet_tool_call_seconds_count{tool="ill"} 3"#,
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
    assert!(
        text.contains(r#"quillet_tool_outcomes_total{tool="ill",outcome="tool."#),
        "{text}"
    );
    assert!(!text.contains("made-up"));
    // Every sample has a type, and every series is unique.
    let mut seen = std::collections::BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(seen.insert(series), "{series} is there twice");
        let name = series.split('{').next().unwrap();
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| name.strip_suffix(end));
        let typed = |name: &str| text.contains(&format!("# TYPE {name} "));
        assert!(typed(name) || family.is_some_and(typed), "{name}");
    }
}

/// Sends invalid bodies to every route with a body.
#[tokio::test]
async fn no_error_names_a_type_of_this_program() {
    let server = start().await;
    let paths = server.openapi["paths"].as_object().unwrap();
    let mut members: Vec<String> = [
        "variables",
        "args",
        "history",
        "stream",
        "messages",
        "model",
    ]
    .map(str::to_owned)
    .to_vec();
    let schemas = server.openapi["components"]["schemas"].as_object().unwrap();
    for schema in schemas.values() {
        members.extend(
            schema["properties"]
                .as_object()
                .into_iter()
                .flat_map(|p| p.keys().cloned()),
        );
    }
    members.sort();
    members.dedup();
    let wrong = [
        "[]", "[1]", "1", "-1.5", "\"x\"", "null", "true", "{", "", "{} {}", "[[[]]]",
    ];
    let values = [
        "[]",
        "[1]",
        "{}",
        "-1",
        "1.5",
        "\"x\"",
        "true",
        "[{}]",
        r#"[{"role":1}]"#,
        r#"[{"role":"x","content":[{"type":"y"}]}]"#,
    ];
    let of_members = members.iter().flat_map(|name| {
        values
            .iter()
            .map(move |value| format!("{{{name:?}: {value}}}"))
    });
    let bodies: Vec<String> = wrong
        .iter()
        .map(|body| (*body).to_owned())
        .chain(of_members)
        .collect();
    let types = [
        "struct ",
        "enum ",
        "::",
        " variant of ",
        "Option<",
        "Vec<",
        "usize",
        "u64",
        "i64",
        "f64",
        "visitor",
    ];
    // A generated id can contain any hexadecimal digits, so set a fixed id.
    let id = [("x-request-id", "test")];
    let mut route = 0;
    for (path, item) in paths {
        for method in ["post", "put"] {
            if item.get(method).is_none()
                || path.starts_with("/api/v1/prompts")
                || path.starts_with("/api/v1/render")
            {
                continue;
            }
            let real = path.replace("{id}", "hello").replace("{name}", "nosuch");
            // Each route gets another sample of the bodies.
            let step = sample_step(7);
            route += 1;
            for body in bodies.iter().skip(route % step).step_by(step) {
                let answer =
                    request(server.address, &method.to_uppercase(), &real, &id, body).await;
                if answer.status < 400 {
                    continue;
                }
                for name in types {
                    assert!(
                        !answer.body.contains(name),
                        "{real} {body}: {name:?} in {}",
                        answer.body
                    );
                }
                assert!(
                    answer.status < 500 || matches!(answer.status, 501 | 503),
                    "{real} {body}: {answer:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn heads_and_bodies_that_cannot_be_read_are_refused_at_once() {
    let server = start().await;
    let send = async |head: &str| {
        let mut connection = Connection::open(server.address).await;
        connection
            .send(&format!("{head}connection: close\r\n\r\n"))
            .await;
        parse(&connection.read_to_end().await)
    };
    let post =
        |path: &str, more: &str| format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{more}");
    let large = "content-length: 2000000000\r\n";
    let brotli = "content-encoding: br\r\ncontent-length: 0\r\n";
    let headers = format!("x-large: {}\r\n", "x".repeat(100 << 10));
    for (head, status, said) in [
        (post("/api/render/prompts/hello", large), 413, "body_bytes"),
        (post("/mcp", large), 413, "body_bytes"),
        (
            post("/api/render/prompts/hello", brotli),
            415,
            "Content-Encoding",
        ),
        (post("/mcp", brotli), 415, "send the body as gzip"),
        (
            post(
                "/api/render/prompts/a.b.c",
                "content-encoding: identity\r\n",
            ),
            200,
            "",
        ),
        (
            format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{headers}"),
            431,
            "",
        ),
        ("GET /healthz HTTP/1.1\r\n".to_owned(), 400, "Host"),
    ] {
        let answer = send(&head).await;
        assert_eq!(
            answer.status,
            status,
            "{}: {answer:?}",
            &head[..60.min(head.len())]
        );
        assert!(answer.body.contains(said), "{answer:?}");
    }
    let many: String = (0..100)
        .map(|n| format!("x-{n}: {}\r\n", "y".repeat(1000)))
        .collect();
    let answer = send(&format!(
        "GET /healthz HTTP/1.1\r\nhost: localhost\r\n{many}"
    ))
    .await;
    assert_eq!(answer.status, 431, "{answer:?}");
}
