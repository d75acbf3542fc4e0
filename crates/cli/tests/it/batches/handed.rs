//! Provider batches over HTTP, with two replicas that share a Redis, and split into several jobs.

use std::fs;
use std::time::{Duration, Instant};

use quillet_fake_provider::{FakeProvider, RecordedRequest, ReplyScript, ScriptedReply};
use quillet_test_support::RedisServer;
use serde_json::{Value, json};

use super::served::{batch, body, content, ended, upload};
use super::{lines, row};
use crate::Place;
use crate::ask::{borrowed, reach};
use crate::serve::Running;

const KEYS: &str = "
[server.token.ci]
secret = \"ci-secret\"
rights = [\"read\", \"render\"]
[server.token.other]
secret = \"other-secret\"
rights = [\"read\", \"render\"]
";
const CI: (&str, &str) = ("authorization", "Bearer ci-secret");
const OTHER: (&str, &str) = ("authorization", "Bearer other-secret");

fn hello() -> FakeProvider {
    FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Hello"])]))
}

/// Starts a batch that is submitted to a provider, and returns its id.
fn hand_over(server: &Running, key: &[(&str, &str)], rows: &str) -> String {
    let file = upload(server, key, rows);
    let asked = json!({"input_file_id": file, "endpoint": "/v1/chat/completions",
        "completion_window": "24h", "provider_batch": true});
    let batch = body(&server.send("POST", "/v1/batches", key, &asked.to_string()));
    batch["id"].as_str().unwrap().to_owned()
}

/// Returns the requests of one kind that the provider received.
fn asked(provider: &FakeProvider, method: &str, path: &str) -> Vec<RecordedRequest> {
    let mut all = provider.requests();
    all.retain(|asked| asked.method == method && asked.path.ends_with(path));
    all
}

#[test]
fn a_batch_of_one_replica_is_worked_on_and_read_by_all() {
    let (redis, provider) = (RedisServer::start(), hello());
    let place = Place::new().with(&[("quillet.toml", KEYS)]);
    let around = reach(&provider);
    let store = redis.url();
    let args = ["--store", store.as_str()];
    let first = Running::start_with(&place, &args, &borrowed(&around));
    let second = Running::start_with(&place, &args, &borrowed(&around));
    let rows: String = (0..40)
        .map(|n| {
            let model = ["gpt-4o", "claude-sonnet-4-5"][n % 2];
            row(&format!("row-{n}"), model)
        })
        .collect();
    let id = hand_over(&first, &[CI], &rows);
    let path = format!("/v1/batches/{id}");
    // Clients with another key cannot see the batch.
    let hidden = second.send("GET", &path, &[OTHER], "");
    assert!(hidden.starts_with("HTTP/1.1 404"), "{hidden}");
    let began = Instant::now();
    let ended = loop {
        let batch = body(&second.send("GET", &path, &[CI], ""));
        if batch["status"] == "completed" {
            break batch;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{batch}");
        std::thread::sleep(Duration::from_millis(20));
    };
    let counts = json!({"total": 40, "completed": 40, "failed": 0});
    assert_eq!(ended["request_counts"], counts, "{ended}");
    let file = ended["output_file_id"].as_str().unwrap();
    let read = second.send("GET", &format!("/v1/files/{file}/content"), &[CI], "");
    let (_, out) = read.split_once("\r\n\r\n").unwrap();
    assert_eq!(lines(out).len(), 40);
    // Only one of the replicas has submitted the rows.
    assert_eq!(provider.batch_rows(), 40);
    assert_eq!(asked(&provider, "POST", "/completions").len(), 0);
}

/// Rows completed before the cancellation are kept, and the provider's batch is cancelled too.
#[test]
fn a_batch_that_is_cancelled_is_cancelled_at_the_provider() {
    let (redis, provider) = (RedisServer::start(), hello());
    let place = Place::new();
    let around = reach(&provider);
    let store = redis.url();
    let args = ["--store", store.as_str()];
    let first = Running::start_with(&place, &args, &borrowed(&around));
    let second = Running::start_with(&place, &args, &borrowed(&around));
    let rows: String = ["gpt-4o", "gpt-4o", "fake-stuck", "gpt-4o", "fake-stuck"]
        .iter()
        .enumerate()
        .map(|(n, model)| row(&format!("row-{n}"), model))
        .collect();
    let id = hand_over(&first, &[], &rows);
    let began = Instant::now();
    while batch(&first, &id)["request_counts"]["completed"] != 3 {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "{}",
            batch(&first, &id)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(batch(&first, &id)["status"], "in_progress");
    assert!(asked(&provider, "POST", "/cancel").is_empty());
    // Cancelled through the other replica, which may not be the one that processes the batch.
    let path = format!("/v1/batches/{id}/cancel");
    let taken: Value = body(&second.request("POST", &path, ""));
    assert!(
        ["cancelling", "cancelled"].contains(&taken["status"].as_str().unwrap()),
        "{taken}"
    );
    let ended = ended(&first, &id, || {});
    assert_eq!(ended["status"], "cancelled", "{ended}");
    let out = lines(&content(&second, &ended["output_file_id"]));
    assert_eq!(out.keys().collect::<Vec<_>>(), ["row-0", "row-1", "row-3"]);
    let began = Instant::now();
    while asked(&provider, "POST", "/cancel").is_empty() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "nobody told the provider"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    // The unfinished job is cancelled exactly once.
    let cancelled = asked(&provider, "POST", "/cancel");
    assert_eq!(cancelled.len(), 1, "{cancelled:?}");
    let again = second.request("POST", &path, "");
    assert!(
        again.starts_with("HTTP/1.1 200") || again.contains("batch_ended"),
        "{again}"
    );
}

/// Number of rows in each file sent to the provider, in order of arrival.
fn portions(rows: &str) -> Vec<usize> {
    let provider = hello();
    let place = Place::new().with(&[("rows.jsonl", rows)]);
    let around = reach(&provider);
    let args = [
        "batch",
        "rows.jsonl",
        "-o",
        "out.jsonl",
        "--provider-batch",
        "--demo",
    ];
    let done = place.run_with(&args, "", &borrowed(&around));
    assert_eq!(done.code, Some(0), "{done:?}");
    let out = fs::read_to_string(place.path().join("out.jsonl")).unwrap();
    let count = rows.lines().count();
    assert_eq!(lines(&out).len(), count);
    assert_eq!(provider.batch_rows(), count);
    assert_eq!(
        asked(&provider, "POST", "/batches").len(),
        asked(&provider, "POST", "/files").len()
    );
    let files = asked(&provider, "POST", "/files").into_iter();
    let rows = files.map(|file| file.text().matches("\"custom_id\"").count());
    rows.collect()
}

/// A job has at most 64 MiB.
#[test]
#[ignore = "takes minutes: scripts/trials portions"]
fn rows_of_many_bytes_go_in_portions() {
    let long = "word ".repeat(700_000);
    let rows: String = (0..20)
        .map(|n| {
            row(&format!("{n} {long}"), "gpt-4o").replacen(
                &format!("{n} {long}"),
                &format!("row-{n}"),
                1,
            )
        })
        .collect();
    assert!(rows.len() > 64 << 20, "{}", rows.len());
    let portions = portions(&rows);
    assert_eq!(portions, [19, 1], "{} bytes", rows.len());
}

/// OpenAI accepts 50,000 rows per job.
#[test]
#[ignore = "takes minutes: scripts/trials portions"]
fn rows_beyond_the_providers_count_go_in_portions() {
    let rows: String = (0..50_003)
        .map(|n| row(&format!("row-{n}"), "gpt-4o"))
        .collect();
    assert_eq!(portions(&rows), [50_000, 3]);
}
