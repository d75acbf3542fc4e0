//! Contract tests of files and batches in memory, SQLite and Redis. Two connections stand for two
//! processes.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use quillet_core::batch::{
    BatchChunk, BatchOrder, BatchTransition, Batches, FileChunk, FileInfo, LineError, Report,
    RowResult, Status,
};
use quillet_core::clock;
use quillet_store::open_batches;
use quillet_test_support::{Cluster, RedisServer, TempDir};

use crate::support::patient;

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(60);
const OWNER: &str = "k{1}";

async fn opened(address: &str) -> Arc<dyn Batches> {
    open_batches(address, &patient()).await.unwrap()
}

/// Start time of this test; repeated requests must be equal.
fn now() -> u64 {
    static BEGUN: LazyLock<u64> = LazyLock::new(|| clock::millis() / 1000);
    *BEGUN
}

fn piece(number: u64, text: &str) -> FileChunk {
    FileChunk {
        number,
        bytes: text.as_bytes().to_vec(),
    }
}

fn file(id: &str) -> FileInfo {
    FileInfo {
        id: id.to_owned(),
        owner: OWNER.to_owned(),
        name: "a \"b\".jsonl".to_owned(),
        purpose: "batch".to_owned(),
        bytes: 6,
        created: now(),
        expires: now() + 3600,
    }
}

fn order(id: &str) -> BatchOrder {
    BatchOrder {
        provider: false,
        id: id.to_owned(),
        owner: OWNER.to_owned(),
        input: "file-in".to_owned(),
        endpoint: "/v1/chat/completions".to_owned(),
        window: "24h".to_owned(),
        created: now(),
        expires: now() + 86_400,
        keep: 3600,
        metadata: None,
    }
}

fn result(row: u64, failed: bool) -> RowResult {
    RowResult {
        row,
        failed,
        line: format!("row {row}\n").into_bytes(),
    }
}

async fn text(batches: &Arc<dyn Batches>, id: &str) -> String {
    let (mut all, mut from) = (Vec::new(), Some(1));
    while let Some(number) = from {
        let page = batches.pieces(id, number, 10).await.unwrap();
        all.extend(page.pieces.into_iter().flat_map(|piece| piece.bytes));
        from = page.next;
    }
    String::from_utf8(all).unwrap()
}

async fn files_are_pieces(one: &Arc<dyn Batches>, two: &Arc<dyn Batches>) {
    let id = "file-7";
    one.add_pieces(id, &[piece(1, "ab\n"), piece(5000, "cd\n")], now() + 60)
        .await
        .unwrap();
    assert_eq!(two.file(id).await.unwrap(), None);
    one.add_pieces(id, &[piece(9000, "e\n")], now() + 60)
        .await
        .unwrap();
    one.keep_file(&file(id)).await.unwrap();
    assert_eq!(two.file(id).await.unwrap(), Some(file(id)));
    assert_eq!(text(two, id).await, "ab\ncd\ne\n");
    let page = two.pieces(id, 5000, 1).await.unwrap();
    assert_eq!(page.pieces, [piece(5000, "cd\n")]);
    assert!(page.next.is_some());
    assert_eq!(two.pieces(id, 9001, 1).await.unwrap().next, None);

    one.keep_file(&file("file-8")).await.unwrap();
    let ids = |files: Vec<FileInfo>| -> Vec<String> { files.into_iter().map(|f| f.id).collect() };
    assert_eq!(ids(two.files(OWNER).await.unwrap()), ["file-8", "file-7"]);
    assert!(two.files("somebody").await.unwrap().is_empty());
    assert!(two.remove_file(id).await.unwrap());
    assert!(!one.remove_file(id).await.unwrap());
    assert!(one.file(id).await.unwrap().is_none());
    assert_eq!(text(one, id).await, "");
    assert_eq!(ids(one.files(OWNER).await.unwrap()), ["file-8"]);
}

async fn claimed(
    batches: &Arc<dyn Batches>,
    id: &str,
    worker: &str,
    lease: Duration,
) -> Option<BatchChunk> {
    batches.claim(id, worker, lease).await.unwrap()
}

fn unit(number: u64, again: bool) -> Option<BatchChunk> {
    Some(BatchChunk { number, again })
}

/// Creates a batch with these units that is in progress.
async fn in_progress(one: &Arc<dyn Batches>, id: &str, units: &[u64]) {
    one.begin(&order(id)).await.unwrap();
    assert_eq!(claimed(one, id, "a", LONG).await, unit(0, false));
    one.add_units(id, units).await.unwrap();
    let step = BatchTransition {
        counted: Some((100, units.len() as u64)),
        ..BatchTransition::new(&[Status::Validating], Status::InProgress, 7)
    };
    assert!(one.step(id, &step).await.unwrap());
}

async fn the_input_is_looked_at_by_one(one: &Arc<dyn Batches>, two: &Arc<dyn Batches>) {
    let id = "batch_look";
    one.begin(&order(id)).await.unwrap();
    assert_eq!(two.active().await.unwrap(), [id]);
    assert_eq!(two.batches(OWNER).await.unwrap(), [id]);
    assert_eq!(claimed(one, id, "a", SHORT).await, unit(0, false));
    assert_eq!(claimed(two, id, "b", LONG).await, None);
    // The worker dies after adding some units, which must not be available before all are added.
    one.add_units(id, &[1, 17]).await.unwrap();
    assert_eq!(claimed(two, id, "b", LONG).await, None);
    tokio::time::sleep(SHORT * 2).await;
    assert_eq!(claimed(two, id, "b", LONG).await, unit(0, true));
    two.add_units(id, &[1, 17, 33]).await.unwrap();
    let step = BatchTransition {
        counted: Some((40, 3)),
        ..BatchTransition::new(&[Status::Validating], Status::InProgress, 9)
    };
    assert!(two.step(id, &step).await.unwrap());
    assert!(!one.step(id, &step).await.unwrap(), "it was taken");
    let mut units = Vec::new();
    while let Some(unit) = claimed(one, id, "a", LONG).await {
        units.push(unit.number);
    }
    assert_eq!(units, [1, 17, 33]);
    let batch = one.batch(id).await.unwrap().unwrap();
    assert_eq!((batch.total, batch.units), (40, 3));
    assert_eq!(batch.entered_at(Status::InProgress), Some(9));
    assert_eq!(batch.order, order(id));
    let step = BatchTransition {
        wrong: vec![LineError {
            code: "invalid_json_line".into(),
            message: "no".into(),
            line: Some(3),
            param: None,
        }],
        ..BatchTransition::new(&[Status::InProgress], Status::Failed, 10)
    };
    assert!(one.step(id, &step).await.unwrap());
    let batch = two.batch(id).await.unwrap().unwrap();
    assert_eq!(batch.wrong, step.wrong);
    assert!(two.active().await.unwrap().is_empty());
}

async fn a_row_has_one_result(one: &Arc<dyn Batches>, two: &Arc<dyn Batches>) {
    let id = "batch_rows";
    in_progress(one, id, &[1, 17]).await;
    assert_eq!(claimed(one, id, "a", SHORT).await, unit(1, false));
    let report = |unit, results: Vec<RowResult>, done| Report {
        unit,
        results,
        again: 0,
        done,
    };
    let some = report(1, vec![result(2, false), result(1, true)], false);
    assert_eq!(
        one.report(id, &some, 8).await.unwrap(),
        Some(Status::InProgress)
    );
    // The worker is lost. The next worker sees the existing results and does not write any row
    // twice.
    tokio::time::sleep(SHORT * 2).await;
    assert_eq!(claimed(two, id, "b", LONG).await, unit(1, true));
    let mut answered = two.answered(id, 1, 16).await.unwrap();
    answered.sort_unstable();
    assert_eq!(answered, [1, 2]);
    let all = Report {
        again: 1,
        ..report(
            1,
            vec![result(1, false), result(2, true), result(3, false)],
            true,
        )
    };
    assert_eq!(
        two.report(id, &all, 8).await.unwrap(),
        Some(Status::InProgress)
    );
    // The lost worker returns and reports its results.
    assert_eq!(
        one.report(id, &all, 8).await.unwrap(),
        Some(Status::InProgress)
    );
    assert_eq!(claimed(one, id, "a", LONG).await, unit(17, false));
    let last = report(17, vec![result(20, false)], true);
    assert_eq!(
        one.report(id, &last, 11).await.unwrap(),
        Some(Status::Finalizing)
    );
    let late = report(17, vec![result(21, false)], true);
    assert_eq!(
        two.report(id, &late, 12).await.unwrap(),
        Some(Status::Finalizing)
    );
    let batch = two.batch(id).await.unwrap().unwrap();
    assert_eq!((batch.completed, batch.failed, batch.units), (3, 1, 0));
    assert_eq!((batch.output_bytes, batch.error_bytes), (6 + 6 + 7, 6));
    assert_eq!(batch.again, 2);
    assert_eq!(batch.entered_at(Status::Finalizing), Some(11));
    assert_eq!(
        text(one, &batch.order.output()).await,
        "row 2\nrow 3\nrow 20\n"
    );
    assert_eq!(text(one, &batch.order.errors()).await, "row 1\n");
    let end = BatchTransition::new(&[Status::Finalizing], Status::Completed, 13);
    assert!(one.step(id, &end).await.unwrap());
    assert!(two.active().await.unwrap().is_empty());
}

async fn units_are_renewed_and_given_back(one: &Arc<dyn Batches>, two: &Arc<dyn Batches>) {
    let id = "batch_hold";
    in_progress(one, id, &[1, 2, 3]).await;
    let lease = Duration::from_millis(400);
    assert_eq!(claimed(one, id, "a", lease).await, unit(1, false));
    assert_eq!(claimed(one, id, "a", lease).await, unit(2, false));
    for _ in 0..4 {
        tokio::time::sleep(lease / 3).await;
        one.renew(id, "a", &[1], lease).await.unwrap();
        // Renewing the unit of another worker has no effect.
        two.renew(id, "b", &[2], lease).await.unwrap();
    }
    assert_eq!(claimed(two, id, "b", LONG).await, unit(2, true));
    assert_eq!(claimed(two, id, "b", LONG).await, unit(3, false));
    assert_eq!(claimed(two, id, "b", LONG).await, None);
    two.release_chunk(id, "a", 3).await.unwrap();
    assert_eq!(claimed(one, id, "a", LONG).await, None, "it is not its own");
    two.release_chunk(id, "b", 3).await.unwrap();
    assert_eq!(claimed(one, id, "a", LONG).await, unit(3, true));
    let cancel = BatchTransition::new(&[Status::InProgress], Status::Cancelling, 8);
    assert!(two.step(id, &cancel).await.unwrap());
    assert_eq!(claimed(one, id, "a", LONG).await, None);
    let late = Report {
        unit: 3,
        results: vec![result(3, false)],
        again: 0,
        done: true,
    };
    assert_eq!(
        one.report(id, &late, 9).await.unwrap(),
        Some(Status::Cancelling)
    );
    assert_eq!(one.batch(id).await.unwrap().unwrap().completed, 0);
    let end = BatchTransition::new(&[Status::Cancelling], Status::Cancelled, 9);
    assert!(two.step(id, &end).await.unwrap());
    assert_eq!(one.report("batch_none", &late, 9).await.unwrap(), None);
    assert_eq!(one.batch("batch_none").await.unwrap(), None);
}

async fn all(one: &Arc<dyn Batches>, two: &Arc<dyn Batches>) {
    files_are_pieces(one, two).await;
    the_input_is_looked_at_by_one(one, two).await;
    a_row_has_one_result(one, two).await;
    units_are_renewed_and_given_back(one, two).await;
    let ids = one.batches(OWNER).await.unwrap();
    assert_eq!(ids, ["batch_hold", "batch_rows", "batch_look"]);
}

#[tokio::test]
async fn in_memory() {
    let one = opened("memory:").await;
    assert_eq!(one.describe(), "memory");
    all(&one, &one.clone()).await;
}

#[tokio::test]
async fn in_sqlite() {
    let folder = TempDir::new();
    let address = format!("sqlite:{}", folder.path().join("b.db").display());
    all(&opened(&address).await, &opened(&address).await).await;
}

#[tokio::test]
async fn in_redis() {
    let redis = RedisServer::start();
    all(&opened(&redis.url()).await, &opened(&redis.url()).await).await;
    // All keys of a batch expire.
    for name in redis.cli(&["--raw", "KEYS", "*"]).lines() {
        let is_list = name.starts_with("shenma:owners:") || name == "shenma:batches";
        let lives = redis.cli(&["--raw", "TTL", name]);
        assert_eq!(lives.trim() == "-1", is_list, "{name}: {lives}");
    }
}

/// Tests the permissions in docs/stores.md, in addition to `+ping`, which every connection needs.
#[tokio::test]
async fn in_redis_with_few_rights() {
    let redis = RedisServer::start();
    let rights = "ACL SETUSER few on >pw ~shenma:* +ping +eval +get +set +zadd +zrem +zrange \
        +zrevrange +zscore +zremrangebyscore +@hash +@stream +unlink +expireat +time";
    let rights: Vec<&str> = rights.split_whitespace().collect();
    assert_eq!(redis.cli(&rights), "OK");
    let address = redis.url().replace("//", "//few:pw@");
    all(&opened(&address).await, &opened(&address).await).await;
}

#[tokio::test]
async fn in_a_cluster() {
    let cluster = Cluster::start();
    all(&opened(&cluster.url()).await, &opened(&cluster.url()).await).await;
}

#[tokio::test]
async fn what_has_expired_goes_from_a_file() {
    let one = opened("memory:").await;
    let pieces: Vec<FileChunk> = (1..=12_000).map(|n| piece(n, "x\n")).collect();
    one.add_pieces("file-1", &pieces, now() + 60).await.unwrap();
    one.keep_file(&file("file-1")).await.unwrap();
    one.begin(&order("batch_1")).await.unwrap();
    one.sweep(now()).await.unwrap();
    assert!(one.file("file-1").await.unwrap().is_some());
    one.sweep(now() + 200_000).await.unwrap();
    assert!(one.file("file-1").await.unwrap().is_none());
    assert_eq!(text(&one, "file-1").await, "");
    assert!(one.batch("batch_1").await.unwrap().is_none());
}

#[tokio::test]
async fn memory_is_bounded() {
    let one = opened("memory:").await;
    let large = vec![piece(1, &"x".repeat(1 << 20))];
    let mut refused = None;
    for n in 0..400 {
        if let Err(error) = one
            .add_pieces(&format!("file-{n}"), &large, now() + 60)
            .await
        {
            refused = Some((n, error));
            break;
        }
    }
    let (n, error) = refused.unwrap();
    assert!((200..=256).contains(&n), "{n}");
    assert!(error.message.contains("full"), "{error}");
}
