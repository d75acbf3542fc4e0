//! Budgets in real processes: every API, two replicas that share a Redis, a replica that is killed
//! with a reservation, and a provider that counts requests.

use std::thread;
use std::time::{Duration, Instant};

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};
use quillet_test_support::RedisServer;
use serde_json::Value;

use crate::Place;
use crate::ask::{borrowed, reach};
use crate::serve::Running;

/// `Hi` is one token, plus four per message, eight per request, and 100 for the answer.
const MOST: u64 = 1 + 4 + 8 + 100;
const CHAT: &str =
    r#"{"model": "gpt-4o", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}"#;
const KEYS: &str = "
[server.token.ci]
secret = \"ci-secret\"
rights = [\"read\", \"render\"]
[server.token.root]
secret = \"root-secret\"
rights = [\"admin\", \"read\", \"render\"]
";
const CI: (&str, &str) = ("authorization", "Bearer ci-secret");
const ROOT: (&str, &str) = ("authorization", "Bearer root-secret");

fn place(settings: &str) -> Place {
    let file = format!("[model]\nname = \"gpt-4o\"\n{settings}\n");
    Place::new().with(&[
        ("quillet.toml", file.as_str()),
        ("s/prompts/hello.gotmpl", "Hello {{.variables.name}}!"),
        (
            "s/prompts/talk.ai.yaml",
            "- user: Hi\n- assistant: \"[[A]]\"\n- user: Go on\n- assistant: \"[[B]]\"\n\
             - user: Go on\n- assistant: \"[[C]]\"\n",
        ),
        (
            "s/agents/thrifty.json",
            r#"{"model": "gpt-4o", "instructions": "Be short.", "budget": {"runTokens": 20}}"#,
        ),
        (
            "s/agents/plain.json",
            r#"{"model": "gpt-4o", "instructions": "Be short.", "options": {"maxTokens": 100}}"#,
        ),
    ])
}

/// A provider whose replies have this usage.
fn provider(input: u64, output: u64) -> FakeProvider {
    FakeProvider::start(ReplyScript::turns([
        ScriptedReply::text(["Hello"]).spent(input, output)
    ]))
}

/// Status, head and body of a response.
fn read(answer: &str) -> (u16, &str, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let status = head.split(' ').nth(1).unwrap_or("0").parse().unwrap();
    (status, head, body)
}

fn header<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case(wanted).then_some(value)
    })
}

fn budgets(server: &Running, who: (&str, &str)) -> Value {
    let answer = server.send("GET", "/v1/budgets", &[who], "");
    let (status, _, body) = read(&answer);
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(body).unwrap()
}

#[test]
fn every_door_keeps_the_budget_and_says_which_it_is() {
    let provider = provider(12, 100);
    let place = place(&format!("[budget]\nday_tokens = 10\n{KEYS}"));
    let around = reach(&provider);
    let server = Running::start_with(&place, &["--store", "dir:s"], &borrowed(&around));
    let question = r#"{"model": "gpt-4o", "input": "Hi"}"#;
    let agent = r#"{"input": {"text": "Hi"}, "features": {"streaming": false}}"#;
    let streamed = r#"{"input": {"text": "Hi"}, "features": {"streaming": true}}"#;
    let prompt = r#"{"variables": {"name": "Ada"}}"#;
    let of_prompt = r#"{"model": "prompt/hello", "variables": {"name": "Ada"}, "messages": []}"#;
    let script = r#"{"model": "prompt/talk", "messages": []}"#;
    let of_agent = r#"{"model": "agent/plain", "messages": [{"role": "user", "content": "Hi"}]}"#;
    let stream = CHAT.replace("\"max_tokens\"", "\"stream\": true, \"max_tokens\"");
    for (path, body, code) in [
        ("/v1/chat/completions", CHAT, "insufficient_quota"),
        ("/v1/chat/completions", &stream, "insufficient_quota"),
        ("/v1/chat/completions", of_prompt, "insufficient_quota"),
        ("/v1/chat/completions", script, "insufficient_quota"),
        ("/v1/chat/completions", of_agent, "insufficient_quota"),
        ("/v1/responses", question, "insufficient_quota"),
        ("/v1/response", agent, "budget_exceeded"),
        ("/api/chat/prompts/hello", prompt, "budget.exceeded"),
    ] {
        let answer = server.send("POST", path, &[CI], body);
        let (status, head, said) = read(&answer);
        assert_eq!(status, 429, "{path} {body}: {answer}");
        assert!(
            said.contains(&format!("\"{code}\"")),
            "{path} {body}: {answer}"
        );
        assert!(
            said.contains("budget.day_tokens"),
            "{path} {body}: {answer}"
        );
        // These calls exceed the budget of any day, so waiting does not help.
        assert_eq!(header(head, "retry-after"), None, "{path} {body}: {answer}");
        if code == "insufficient_quota" {
            assert_eq!(header(head, "x-should-retry"), Some("false"), "{answer}");
        }
    }
    let answer = server.send("POST", "/v1/response", &[CI], streamed);
    assert!(answer.contains("budget_exceeded"), "{answer}");
    assert_eq!(provider.requests().len(), 0);
    let metrics = server.send("GET", "/metrics", &[ROOT], "");
    assert!(
        metrics.contains("\nquillet_budget_refusals_total{key=\"ci\"} 9\n"),
        "{metrics}"
    );
}

/// Budgets also apply to questions to databases, and to prompts and agents called over MCP.
#[cfg(all(feature = "sql", feature = "mcp"))]
#[test]
fn databases_and_mcp_keep_it_too() {
    let provider = provider(12, 100);
    let place = place(&format!("[budget]\nday_tokens = 10\n{KEYS}"));
    rusqlite::Connection::open(place.path().join("shop.db"))
        .unwrap()
        .execute_batch("CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL)")
        .unwrap();
    let place = place.with(&[("s/databases/shop.json", r#"{"url": "sqlite:shop.db"}"#)]);
    let around = reach(&provider);
    let server = Running::start_with(&place, &["--store", "dir:s"], &borrowed(&around));
    let sql = "/api/v1/dbs/shop/query/natural";
    let question = r#"{"prompt": "how many orders are there?", "run": true}"#;
    let as_model =
        r#"{"model": "database/shop", "messages": [{"role": "user", "content": "How many?"}]}"#;
    for (path, body, code) in [
        (sql, question, "budget.exceeded"),
        ("/v1/chat/completions", as_model, "insufficient_quota"),
    ] {
        let answer = server.send("POST", path, &[ROOT], body);
        let (status, _, said) = read(&answer);
        assert_eq!(status, 429, "{path}: {answer}");
        assert!(said.contains(&format!("\"{code}\"")), "{path}: {answer}");
        assert!(said.contains("budget.day_tokens"), "{path}: {answer}");
    }
    let headers = [
        ROOT,
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    for (tool, arguments) in [
        ("prompt_hello", r#"{"name": "Ada"}"#),
        ("agent_plain", r#"{"question": "Hi"}"#),
        ("db_shop_ask", r#"{"question": "How many orders?"}"#),
    ] {
        let call = format!(
            r#"{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": "{tool}", "arguments": {arguments}}}}}"#
        );
        let answer = server.send("POST", "/mcp", &headers, &call);
        assert!(answer.contains("\"isError\":true"), "{tool}: {answer}");
        assert!(answer.contains("budget.day_tokens"), "{tool}: {answer}");
    }
    assert_eq!(provider.requests().len(), 0);
}

#[test]
fn the_chat_of_a_terminal_keeps_it_too() {
    let provider = provider(12, 10);
    // The budget is enough for one question of four words, but not for a second one.
    let place = place("[budget]\nday_tokens = 150\n");
    let around = reach(&provider);
    let args = ["chat", "--agent", "plain", "--store", "dir:s"];
    let done = place.run_with(&args, "Hi\nAnd once more\nAnd again\n", &borrowed(&around));
    assert!(done.out.contains("Hello"), "{done:?}");
    assert!(done.err.contains("budget.day_tokens"), "{done:?}");
    let asked = provider.requests().len();
    assert!((1..=2).contains(&asked), "{asked}: {done:?}");
    // A folder store has no usage counters, so SQLite is set up to share usage between commands.
    let place = place.with(&[(
        "quillet.toml",
        "[model]\nname = \"gpt-4o\"\n[budget]\nstore = \"sqlite:books.db\"\nday_tokens = 150\n",
    )]);
    let run = || place.run_with(&args, "Hi\n", &borrowed(&around));
    let mut before = provider.requests().len();
    for _ in 0..3 {
        if run().err.contains("budget.day_tokens") {
            break;
        }
        before += 1;
    }
    assert_eq!(
        provider.requests().len(),
        before,
        "the books were kept by nobody"
    );
    run().fails(4, &["budget.day_tokens"]);
    assert_eq!(provider.requests().len(), before);
}

#[test]
fn rows_of_a_batch_and_the_command_line_keep_it_too() {
    let provider = provider(12, 100);
    let place = place("[budget]\nrun_tokens = 10\n");
    let place = place.with(&[("names.jsonl", "{\"name\": \"Ada\"}\n")]);
    let around = reach(&provider);
    let run = |args: &[&str]| place.run_with(args, "Hi\n", &borrowed(&around));
    run(&["ask", "Hi"]).fails(4, &["budget.run_tokens"]);
    run(&["run", "s/prompts/talk.ai.yaml"]).fails(4, &["budget.run_tokens"]);
    let batch = run(&[
        "batch",
        "names.jsonl",
        "-m",
        "prompt/hello",
        "-o",
        "out.jsonl",
        "--store",
        "dir:s",
    ]);
    assert_eq!(batch.code, Some(1), "{batch:?}");
    let errors = std::fs::read_to_string(place.path().join("out.jsonl.errors")).unwrap();
    assert!(errors.contains("insufficient_quota"), "{errors}");
    assert!(errors.contains("\"status_code\":429"), "{errors}");
    assert_eq!(provider.requests().len(), 0);
}

/// A key has its own budget inside the total one. It sees only its own budget; an administrator
/// sees all.
#[test]
fn keys_have_budgets_of_their_own() {
    let provider = provider(12, 100);
    let keys = KEYS.replacen("rights", "day_tokens = 230\nrights", 1);
    let place = place(&format!("[budget]\nday_tokens = 1000\n{keys}"));
    let around = reach(&provider);
    let server = Running::start_with(&place, &["--demo"], &borrowed(&around));
    let ask = |who| read(&server.send("POST", "/v1/chat/completions", &[who], CHAT)).0;
    assert_eq!([ask(CI), ask(CI), ask(CI)], [200, 200, 429]);
    let refused = server.send("POST", "/v1/chat/completions", &[CI], CHAT);
    let (_, head, body) = read(&refused);
    assert!(body.contains("server.token.ci.day_tokens"), "{refused}");
    let wait: u64 = header(head, "retry-after").unwrap().parse().unwrap();
    assert!((1..=86_400).contains(&wait), "{refused}");
    assert_eq!([ask(ROOT), ask(ROOT)], [200, 200]);
    let own = budgets(&server, CI);
    assert_eq!(own["data"][0]["name"], "all");
    assert_eq!(own["data"][0]["spent"]["tokens"], 4 * 112);
    assert_eq!(own["data"][1]["name"], "key:ci");
    assert_eq!(own["data"][1]["left"]["tokens"], 230 - 2 * 112);
    assert_eq!(own["data"][1]["held"]["tokens"], 0);
    assert!(own["data"][1]["left"].get("usd").is_none(), "{own}");
    assert!(own["resets_in_s"].as_u64().unwrap() <= 86_400);
    let metrics = server.send("GET", "/metrics", &[ROOT], "");
    for line in [
        "quillet_budget_tokens_total{key=\"ci\"} 224",
        "quillet_budget_refusals_total{key=\"ci\"} 2",
        "quillet_budgets_shared 1",
    ] {
        assert!(
            metrics.contains(&format!("\n{line}\n")),
            "{line}: {metrics}"
        );
    }
}

/// Concurrent requests through two replicas never exceed the budget.
#[test]
fn two_replicas_never_spend_more_than_there_is() {
    let redis = RedisServer::start();
    let turn = ScriptedReply::text(["Hello"]).spent(13, 100);
    let provider = FakeProvider::start(ReplyScript::turns([turn.delay(Duration::from_millis(50))]));
    // The budget is enough for ten calls of 1.0325e-3 dollars. Each call costs 13 tokens at 2.50
    // and 100 tokens at 10 dollars per million.
    let place = place(&format!(
        "[budget]\nstore = \"{}\"\nday_usd = 0.0105\n{KEYS}",
        redis.url()
    ));
    let around = reach(&provider);
    let one = Running::start_with(&place, &["--demo"], &borrowed(&around));
    let two = Running::start_with(&place, &["--demo"], &borrowed(&around));
    let answered: usize = thread::scope(|scope| {
        let asking = (0..60).map(|index| {
            let replica = if index % 2 == 0 { &one } else { &two };
            scope.spawn(move || {
                let answer = replica.send("POST", "/v1/chat/completions", &[CI], CHAT);
                let (status, _, body) = read(&answer);
                assert!([200, 429].contains(&status), "{answer}");
                assert!(status == 200 || body.contains("budget.day_usd"), "{answer}");
                usize::from(status == 200)
            })
        });
        let asking: Vec<_> = asking.collect();
        asking.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert_eq!(answered, 10);
    assert_eq!(provider.requests().len(), 10);
    let seen = budgets(&two, ROOT);
    assert_eq!(seen["data"][0]["spent"]["tokens"], 10 * MOST);
    let usd = seen["data"][0]["spent"]["usd"].as_f64().unwrap();
    assert!((usd - 0.010325).abs() < 1e-9, "{seen}");
    assert_eq!(seen["data"][0]["held"]["tokens"], 0);
    // Moves the stored day back by one, as if the next day had begun.
    redis.cli(&["HINCRBY", "shenma:budgets:{day}", "day", "-1"]);
    let answer = one.send("POST", "/v1/chat/completions", &[CI], CHAT);
    assert_eq!(read(&answer).0, 200, "{answer}");
}

/// The reservation of a killed replica expires after `budget.hold_ms`.
#[test]
fn who_is_killed_lets_go() {
    let redis = RedisServer::start();
    let slow = ScriptedReply::text(["Hello"]).spent(13, 100);
    let provider = FakeProvider::start(ReplyScript::turns([
        slow.clone().delay(Duration::from_secs(600)),
        slow,
    ]));
    let place = place(&format!(
        "[budget]\nstore = \"{}\"\nday_tokens = {MOST}\nhold_ms = 15000\n{KEYS}",
        redis.url()
    ));
    let around = reach(&provider);
    let mut one = Running::start_with(&place, &["--demo"], &borrowed(&around));
    let two = Running::start_with(&place, &["--demo"], &borrowed(&around));
    thread::scope(|scope| {
        scope.spawn(|| {
            let stream = std::net::TcpStream::connect(&one.address).unwrap();
            drop_into(stream, &one.address);
        });
        while provider.requests().is_empty() {
            thread::sleep(Duration::from_millis(10));
        }
    });
    let refused = two.send("POST", "/v1/chat/completions", &[CI], CHAT);
    assert_eq!(read(&refused).0, 429, "{refused}");
    assert!(
        refused.contains(&format!("{MOST} tokens reserved")),
        "{refused}"
    );
    one.child.kill().unwrap();
    one.child.wait().unwrap();
    let began = Instant::now();
    loop {
        let answer = two.send("POST", "/v1/chat/completions", &[CI], CHAT);
        if read(&answer).0 == 200 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{answer}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Sends a request and keeps the connection open without reading the response.
fn drop_into(mut stream: std::net::TcpStream, address: &str) {
    use std::io::Write;
    let length = CHAT.len();
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\n{}: {}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{CHAT}",
        CI.0, CI.1
    )
    .unwrap();
    // The server cancels the requests of disconnected clients, so the connection must stay open.
    std::mem::forget(stream);
}

#[test]
fn a_run_has_a_budget_of_its_own_and_a_request_lowers_it() {
    let provider = provider(13, 10);
    let place = place(&format!(
        "[budget]\nrun_tokens = 100000\nanswer_tokens = 100\n{KEYS}"
    ));
    let around = reach(&provider);
    let server = Running::start_with(&place, &["--store", "dir:s"], &borrowed(&around));
    let ask = |body: &str, budget: &str| {
        let headers = [CI, ("x-quillet-budget", budget)];
        server.send("POST", "/v1/chat/completions", &headers, body)
    };
    let script = r#"{"model": "prompt/talk", "messages": []}"#;
    let answer = ask(script, "tokens=5000");
    assert_eq!(read(&answer).0, 200, "{answer}");
    assert_eq!(provider.requests().len(), 3);
    // Each turn spends 23 tokens, and reserves 2048 for a script's answer plus its prompt. The
    // second turn is therefore the last one.
    let answer = ask(script, "tokens=2115");
    let (status, _, body) = read(&answer);
    assert_eq!(status, 429, "{answer}");
    assert!(body.contains("the request's budget.run_tokens"), "{answer}");
    assert_eq!(provider.requests().len(), 5, "{answer}");
    // A request cannot raise the configured limit.
    let answer = ask(&CHAT.replace("100", "200000"), "tokens=500000");
    assert!(answer.contains("(budget.run_tokens)"), "{answer}");
    let answer = ask(CHAT, "eur=1");
    assert_eq!(read(&answer).0, 400, "{answer}");
    assert!(answer.contains("usd=0.05, tokens=2000, s=30"), "{answer}");
    // The limit of the agent applies too.
    let agent = r#"{"model": "agent/thrifty", "messages": [{"role": "user", "content": "Hi"}]}"#;
    let answer = ask(agent, "tokens=500000");
    assert_eq!(read(&answer).0, 429, "{answer}");
    assert!(
        answer.contains("agent thrifty: budget.run_tokens"),
        "{answer}"
    );
    // A cost budget needs a known price, which this model does not have.
    let unknown = CHAT.replace("gpt-4o", "my-own");
    let answer = ask(&unknown, "usd=1");
    assert_eq!(read(&answer).0, 403, "{answer}");
    assert!(answer.contains("budget.unpriced_usd"), "{answer}");
    assert_eq!(read(&ask(&unknown, "tokens=1000")).0, 200);
    assert_eq!(provider.requests().len(), 6);
}

/// The time limit of a run interrupts an answer.
#[test]
fn the_time_of_a_run_ends_it() {
    let words = vec!["word "; 2000];
    let turn = ScriptedReply::text(words).pause(Duration::from_millis(20));
    let provider = FakeProvider::start(ReplyScript::turns([turn]));
    let place = place(&format!("[budget]\nday_tokens = 100000\nrun_s = 4\n{KEYS}"));
    let around = reach(&provider);
    let server = Running::start_with(&place, &["--demo"], &borrowed(&around));
    // The first call loads the tokenizer, which takes time.
    server.send("POST", "/v1/chat/completions", &[CI], CHAT);
    let stream = CHAT.replace("\"max_tokens\"", "\"stream\": true, \"max_tokens\"");
    let answer = server.send("POST", "/v1/chat/completions", &[CI], &stream);
    assert!(answer.contains("word "), "{answer}");
    assert!(answer.contains("budget.run_s"), "{answer}");
    assert!(!answer.contains("[DONE]"), "{answer}");
    // Tokens received before the interruption are counted.
    let began = Instant::now();
    loop {
        let seen = budgets(&server, ROOT);
        let (spent, held) = (&seen["data"][0]["spent"], &seen["data"][0]["held"]);
        if held["tokens"] == 0 && spent["tokens"].as_u64().unwrap() > 13 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{seen}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// While Redis is unavailable, each replica counts locally, or rejects calls if configured to do
/// so.
#[test]
fn redis_may_be_away() {
    for (alone, status) in [("true", 200), ("false", 503)] {
        let provider = provider(13, 100);
        let mut redis = RedisServer::start();
        let place = place(&format!(
            "[budget]\nstore = \"{}\"\nalone = {alone}\nday_tokens = 300\n[store]\nresponse_ms = 300\n{KEYS}",
            redis.url()
        ));
        let around = reach(&provider);
        let server = Running::start_with(&place, &["--demo"], &borrowed(&around));
        let ask = || server.send("POST", "/v1/chat/completions", &[CI], CHAT);
        assert_eq!(read(&ask()).0, 200);
        redis.kill();
        let answer = ask();
        assert_eq!(read(&answer).0, status, "{answer}");
        if status == 503 {
            assert!(answer.contains("budget.unavailable"), "{answer}");
            continue;
        }
        // The usage of the day is still known, so the third call exceeds the budget.
        let answer = ask();
        assert_eq!(read(&answer).0, 429, "{answer}");
        let metrics = server.send("GET", "/metrics", &[ROOT], "");
        assert!(
            metrics.contains("\nquillet_budgets_shared 0\n"),
            "{metrics}"
        );
    }
}
