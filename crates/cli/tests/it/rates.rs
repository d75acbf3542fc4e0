//! Rate limits of models with two replicas that share a Redis: real processes, and a provider that
//! counts requests.

use std::thread;
use std::time::{Duration, Instant};

use quillet_fake_provider::{
    ErrorResponse, FakeProvider, InjectedFault, ReplyScript, ScriptedReply,
};
use quillet_test_support::RedisServer;

use crate::Place;
use crate::ask::{borrowed, reach};
use crate::serve::Running;

const CHAT: &str = r#"{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}"#;

fn place(redis: &RedisServer, settings: &str) -> Place {
    let file = format!(
        "[model]\nname = \"gpt-4o\"\nrates = \"{}\"\n{settings}\n",
        redis.url()
    );
    Place::new().with(&[
        ("quillet.toml", file.as_str()),
        ("s/prompts/talk.ai.yaml", "user: Hi\n"),
    ])
}

/// The provider asks to wait for an hour.
fn busy() -> ScriptedReply {
    let hour = Duration::from_secs(3600);
    ScriptedReply::failing(InjectedFault::Refuse(ErrorResponse::RateLimited(Some(
        hour,
    ))))
}

/// Status, wait time and body of a response.
fn read(answer: &str) -> (u16, Option<u64>, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let wait = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("retry-after").then_some(value)
    });
    (status, wait.map(|wait| wait.parse().unwrap()), body)
}

/// If the provider tells one replica to wait, no replica sends requests, in any API.
#[test]
fn a_429_reaches_every_replica_and_every_door() {
    let redis = RedisServer::start();
    let provider =
        FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Hello"]), busy()]));
    let place = place(&redis, "[model.requests_per_minute]\nopenai = 600");
    let around = reach(&provider);
    let args = ["--demo", "--model", "gpt-4o"];
    let one = Running::start_with(&place, &args, &borrowed(&around));
    let two = Running::start_with(&place, &args, &borrowed(&around));
    let first = two.request("POST", "/v1/chat/completions", CHAT);
    assert_eq!(read(&first).0, 200, "{first}");
    let told = one.request("POST", "/v1/chat/completions", CHAT);
    assert_eq!(read(&told).0, 429, "{told}");
    let asked = provider.requests().len();

    let question = r#"{"model": "gpt-4o", "input": "Hi"}"#;
    let agent = r#"{"input": {"text": "Hi"}, "features": {"streaming": false}}"#;
    let prompt = r#"{"variables": {"name": "Ada"}}"#;
    let natural = r#"{"prompt": "How many customers are there?"}"#;
    for (path, body, code) in [
        ("/v1/chat/completions", CHAT, "rate_limit_exceeded"),
        ("/v1/responses", question, "rate_limit_exceeded"),
        ("/v1/response", agent, "rate_limit"),
        ("/api/chat/prompts/hello", prompt, "model.over_rate"),
        ("/api/v1/dbs/demo/query/natural", natural, "model.over_rate"),
    ] {
        let answer = two.request("POST", path, body);
        let (status, wait, body) = read(&answer);
        assert_eq!(status, 429, "{path}: {answer}");
        assert!(body.contains(&format!("\"{code}\"")), "{path}: {answer}");
        // `retry-after` is the remaining part of the provider's wait time.
        let wait = wait.unwrap_or_else(|| panic!("{path}: {answer}"));
        assert!((1800..=3601).contains(&wait), "{path}: {wait}");
    }
    assert_eq!(provider.requests().len(), asked);

    let metrics = two.request("GET", "/metrics", "");
    assert!(
        metrics.contains("\nquillet_model_rate_refusals_total 5\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("\nquillet_model_rates_shared 1\n"),
        "{metrics}"
    );
    let metrics = one.request("GET", "/metrics", "");
    assert!(
        metrics.contains("\nquillet_model_rate_holds_total 1\n"),
        "{metrics}"
    );
}

/// The same for a stored script.
#[test]
fn a_script_keeps_the_rate() {
    let redis = RedisServer::start();
    let provider = FakeProvider::start(ReplyScript::turns([busy()]));
    let place = place(&redis, "[model.requests_per_minute]\nopenai = 600");
    let around = reach(&provider);
    let one = Running::start_with(&place, &["--store", "dir:s"], &borrowed(&around));
    let two = Running::start_with(&place, &["--store", "dir:s"], &borrowed(&around));
    let told = one.request("POST", "/v1/chat/completions", CHAT);
    assert_eq!(read(&told).0, 429, "{told}");
    let script = r#"{"model": "prompt/talk", "messages": [{"role": "user", "content": "Hi"}]}"#;
    let answer = two.request("POST", "/v1/chat/completions", script);
    let (status, wait, _) = read(&answer);
    assert_eq!(status, 429, "{answer}");
    assert!(wait.is_some_and(|wait| wait > 1800), "{answer}");
    assert_eq!(provider.requests().len(), 1);
}

/// With many workers and two replicas, the request rate stays within the bucket.
#[test]
fn many_workers_through_two_replicas_keep_one_rate() {
    let redis = RedisServer::start();
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Hello"])]));
    let place = place(
        &redis,
        "rate_wait_ms = 600000\n[model.requests_per_minute]\nopenai = 600",
    );
    let around = reach(&provider);
    let one = Running::start_with(&place, &["--demo"], &borrowed(&around));
    let two = Running::start_with(&place, &["--demo"], &borrowed(&around));
    let began = Instant::now();
    let times: Vec<f64> = thread::scope(|scope| {
        let asking = (0..40).map(|index| {
            let replica = if index % 2 == 0 { &one } else { &two };
            scope.spawn(move || {
                let answer = replica.request("POST", "/v1/chat/completions", CHAT);
                assert_eq!(read(&answer).0, 200, "{answer}");
                began.elapsed().as_secs_f64()
            })
        });
        let asking: Vec<_> = asking.collect();
        asking
            .into_iter()
            .map(|asking| asking.join().unwrap())
            .collect()
    });
    let mut times = times;
    times.sort_by(f64::total_cmp);
    // The limit allows a burst of ten requests and then 591 a minute. No answer may arrive earlier
    // than the limit allows.
    for (index, time) in times.iter().enumerate() {
        let earliest = (index as f64 - 9.0) * 60.0 / 591.0;
        assert!(
            *time >= earliest - 0.001,
            "{index}: {time} s, not {earliest} s"
        );
    }
    assert_eq!(provider.requests().len(), 40);
}

/// Without Redis, each replica uses a local bucket and reports this in its metrics.
#[test]
fn a_replica_without_redis_goes_on() {
    let mut redis = RedisServer::start();
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Hello"])]));
    let place = place(&redis, "[model.requests_per_minute]\nopenai = 60000");
    let around = reach(&provider);
    let mut one = Running::start_with(&place, &["--demo"], &borrowed(&around));
    let ask = |server: &Running| {
        let answer = server.request("POST", "/v1/chat/completions", CHAT);
        assert_eq!(read(&answer).0, 200, "{answer}");
    };
    ask(&one);
    let metrics = one.request("GET", "/metrics", "");
    assert!(
        metrics.contains("\nquillet_model_rates_shared 1\n"),
        "{metrics}"
    );
    redis.kill();
    for _ in 0..3 {
        ask(&one);
    }
    let metrics = one.request("GET", "/metrics", "");
    assert!(
        metrics.contains("\nquillet_model_rates_shared 0\n"),
        "{metrics}"
    );
    let _ = one.child.kill();
}
