//! Workers that are killed while they process rows: no row is lost or duplicated, and repeated
//! requests are counted.

use std::time::{Duration, Instant};

use quillet_fake_provider::{
    ErrorResponse, FakeProvider, InjectedFault, ReplyScript, ScriptedReply,
};
use quillet_test_support::RedisServer;
use serde_json::json;

use super::served::{batch, begin, content, ended};
use super::{lines, row};
use crate::Place;
use crate::ask::{borrowed, reach};
use crate::serve::Running;

/// Number of rows. A longer trial sets it with `TRIALS_ROWS`.
fn rows() -> usize {
    let said = std::env::var("TRIALS_ROWS").ok();
    said.and_then(|text| text.parse().ok()).unwrap_or(10_000)
}

/// Starts three workers. Every second, one of the last two is killed and restarted.
fn a_batch_outlives_its_workers(store: &str) {
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Hello"])]));
    let place = Place::new();
    let mut around = reach(&provider);
    around.push(("QUILLET_BATCH_LEASE_MS", "1000".to_owned()));
    around.push(("QUILLET_MODEL", "gpt-4o".to_owned()));
    around.push(("QUILLET_LOG", "error".to_owned()));
    let args = ["--store", store];
    let start = || Running::start_with(&place, &args, &borrowed(&around));
    let first = start();
    let mut others = [start(), start()];
    let count = rows();
    let text: String = (0..count)
        .map(|n| row(&format!("row-{n}"), "gpt-4o"))
        .collect();
    let id = begin(&first, &text);
    let (mut killed, mut last, mut turn) = (0, Instant::now(), 0);
    let batch = ended(&first, &id, || {
        if last.elapsed() < Duration::from_secs(1) {
            return;
        }
        last = Instant::now();
        let other = &mut others[turn % 2];
        other.child.kill().unwrap();
        other.child.wait().unwrap();
        *other = start();
        killed += 1;
        turn += 1;
    });
    assert_eq!(batch["status"], "completed", "{batch}");
    let counts = json!({"total": count, "completed": count, "failed": 0});
    assert_eq!(batch["request_counts"], counts, "{batch}");
    assert!(batch["error_file_id"].is_null(), "{batch}");
    assert!(killed > 0, "nobody was killed");
    let done = lines(&content(&first, &batch["output_file_id"]));
    assert_eq!(done.len(), count);
    for n in 0..count {
        assert!(done.contains_key(&format!("row-{n}")), "row-{n} is lost");
    }
    let asked = provider.asked();
    let again = batch["quillet"]["asked_again"].as_u64().unwrap() as usize;
    assert!(asked >= count, "{asked}");
    assert!(
        asked - count <= again,
        "{asked} asked, {again} of them again"
    );
    println!(
        "{count} rows, {killed} killed, {} asked twice, {again} handed out again",
        asked - count
    );
}

#[test]
fn over_redis() {
    let redis = RedisServer::start();
    a_batch_outlives_its_workers(&redis.url());
}

#[test]
fn over_sqlite() {
    a_batch_outlives_its_workers("sqlite:store.db");
}

/// Redis is killed and restarts with its persisted data, and the batch continues.
#[test]
fn over_a_redis_that_goes_away() {
    let mut redis = RedisServer::start_with(&["--appendonly", "yes", "--appendfsync", "always"]);
    let turn = ScriptedReply::text(["Hello"]).delay(Duration::from_millis(50));
    let provider = FakeProvider::start(ReplyScript::turns([turn]));
    let place = Place::new();
    let mut around = reach(&provider);
    around.push(("QUILLET_BATCH_CONCURRENCY", "8".to_owned()));
    around.push(("QUILLET_LOG", "off".to_owned()));
    let url = redis.url();
    let args = ["--store", &url, "--model", "gpt-4o"];
    let server = Running::start_with(&place, &args, &borrowed(&around));
    let text: String = (0..300)
        .map(|n| row(&format!("row-{n}"), "gpt-4o"))
        .collect();
    let id = begin(&server, &text);
    while batch(&server, &id)["request_counts"]["completed"] == 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    redis.kill();
    std::thread::sleep(Duration::from_secs(2));
    redis.restart();
    while !server.request("GET", "/v1/batches", "").contains("200 OK") {
        std::thread::sleep(Duration::from_millis(50));
    }
    let batch = ended(&server, &id, || {});
    let counts = json!({"total": 300, "completed": 300, "failed": 0});
    assert_eq!(batch["request_counts"], counts, "{batch}");
    assert_eq!(
        lines(&content(&server, &batch["output_file_id"])).len(),
        300
    );
}

/// A worker that is stopped releases its rows, so the long lease does not delay them.
#[test]
fn a_worker_that_stops_gives_its_rows_back() {
    let slow = ScriptedReply::text(["Hello"]).delay(Duration::from_millis(400));
    let provider = FakeProvider::start(ReplyScript::turns([slow]));
    let place = Place::new();
    let mut around = reach(&provider);
    around.push(("QUILLET_BATCH_LEASE_MS", "600000".to_owned()));
    around.push(("QUILLET_BATCH_CONCURRENCY", "4".to_owned()));
    let args = ["--store", "sqlite:store.db", "--model", "gpt-4o"];
    let mut first = Running::start_with(&place, &args, &borrowed(&around));
    let text: String = (0..40)
        .map(|n| row(&format!("row-{n}"), "gpt-4o"))
        .collect();
    let id = begin(&first, &text);
    while batch(&first, &id)["request_counts"]["completed"] == 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = first.child.id().to_string();
    let told = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(told.unwrap().success());
    let second = Running::start_with(&place, &args, &borrowed(&around));
    let batch = ended(&second, &id, || {});
    let counts = json!({"total": 40, "completed": 40, "failed": 0});
    assert_eq!(batch["request_counts"], counts, "{batch}");
    assert_eq!(lines(&content(&second, &batch["output_file_id"])).len(), 40);
    // The second server repeated no request for the rows that were in progress.
    assert_eq!(provider.asked(), 40);
    assert!(first.child.wait().unwrap().success());
}

/// A rate-limited row is retried later. A row with a permanent error is written to the error file.
#[test]
fn rows_that_are_told_to_wait_do_not_fail() {
    let wait = || {
        ScriptedReply::failing(InjectedFault::Refuse(ErrorResponse::RateLimited(Some(
            Duration::from_secs(1),
        ))))
    };
    let turns = [
        wait(),
        wait(),
        wait(),
        wait(),
        wait(),
        wait(),
        wait(),
        wait(),
        ScriptedReply::text(["Hello"]),
    ];
    let provider = FakeProvider::start(ReplyScript::turns(turns));
    let place = Place::new();
    let around = reach(&provider);
    let args = ["--store", "sqlite:store.db", "--model", "gpt-4o"];
    let server = Running::start_with(&place, &args, &borrowed(&around));
    let id = begin(&server, &(row("a", "gpt-4o") + &row("b", "prompt/nobody")));
    let batch = ended(&server, &id, || {});
    let counts = json!({"total": 2, "completed": 1, "failed": 1});
    assert_eq!(batch["request_counts"], counts, "{batch}");
    let failed = content(&server, &batch["error_file_id"]);
    assert!(
        lines(&failed)["b"]["response"]["status_code"] == 404,
        "{failed}"
    );
}

/// If the time of a batch runs out while rows are pending, each of them has an error.
#[test]
fn rows_that_are_not_asked_in_time_say_so() {
    let hour = Duration::from_secs(3600);
    let busy = ScriptedReply::failing(InjectedFault::Refuse(ErrorResponse::RateLimited(Some(
        hour,
    ))));
    let provider = FakeProvider::start(ReplyScript::turns([busy]));
    let place = Place::new();
    let around = reach(&provider);
    let args = ["--store", "sqlite:store.db", "--model", "gpt-4o"];
    let server = Running::start_with(&place, &args, &borrowed(&around));
    let text: String = (0..100)
        .map(|n| row(&format!("row-{n}"), "gpt-4o"))
        .collect();
    let file = super::served::upload(&server, &[], &text);
    let asked = json!({"input_file_id": file, "endpoint": "/v1/chat/completions",
        "completion_window": "2s"});
    let begun = super::served::body(&server.request("POST", "/v1/batches", &asked.to_string()));
    let batch = ended(&server, begun["id"].as_str().unwrap(), || {});
    assert_eq!(batch["status"], "expired", "{batch}");
    let counts = json!({"total": 100, "completed": 0, "failed": 100});
    assert_eq!(batch["request_counts"], counts, "{batch}");
    assert!(
        batch["expired_at"].is_u64() && batch["output_file_id"].is_null(),
        "{batch}"
    );
    let failed = lines(&content(&server, &batch["error_file_id"]));
    assert_eq!(failed["row-7"]["error"]["code"], "batch_expired");
    assert!(failed["row-7"]["response"].is_null());
}

/// If a key is removed from the configuration, its pending rows are rejected.
#[test]
fn rows_of_a_key_that_is_gone_are_refused() {
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Hello"])]));
    let keys = |secret: &str| {
        format!("[server.token.ci]\nsecret = \"{secret}\"\nrights = [\"render\", \"read\"]\n")
    };
    let place = Place::new().with(&[("quillet.toml", &keys("one"))]);
    let mut around = reach(&provider);
    around.push(("QUILLET_BATCH_WORK", "false".to_owned()));
    let args = ["--store", "sqlite:store.db", "--model", "gpt-4o"];
    let key = [("authorization", "Bearer one")];
    let idle = Running::start_with(&place, &args, &borrowed(&around));
    let id = super::served::begin_as(&idle, &key, &(row("a", "gpt-4o") + &row("b", "gpt-4o")));
    let metrics = idle.send("GET", "/metrics", &key, "");
    assert!(
        metrics.contains("\nquillet_batches{state=\"running\"} 0\n"),
        "{metrics}"
    );
    drop(idle);
    around.retain(|(name, _)| *name != "QUILLET_BATCH_WORK");
    std::fs::write(place.path().join("quillet.toml"), keys("two")).unwrap();
    let other = [("authorization", "Bearer two")];
    let working = Running::start_with(&place, &args, &borrowed(&around));
    let began = Instant::now();
    loop {
        let metrics = working.send("GET", "/metrics", &other, "");
        let ended = "\nquillet_batches_ended_total{status=\"completed\"} 1\n";
        if metrics.contains(ended) {
            assert!(
                metrics.contains("\nquillet_batches{state=\"queued\"} 0\n"),
                "{metrics}"
            );
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{metrics}");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(working);
    std::fs::write(place.path().join("quillet.toml"), keys("one")).unwrap();
    let back = Running::start_with(&place, &args, &borrowed(&around));
    let answer = back.send("GET", &format!("/v1/batches/{id}"), &key, "");
    let batch = super::served::body(&answer);
    assert_eq!(batch["request_counts"]["failed"], 2, "{batch}");
    let path = format!(
        "/v1/files/{}/content",
        batch["error_file_id"].as_str().unwrap()
    );
    let errors = back.send("GET", &path, &key, "");
    let (_, errors) = errors.split_once("\r\n\r\n").unwrap();
    for line in lines(errors).values() {
        assert_eq!(line["response"]["status_code"], 401, "{line}");
    }
    assert_eq!(provider.asked(), 0);
}
