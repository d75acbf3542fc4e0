//! Contract tests of all database archives.

use std::sync::Arc;

use futures_util::future::join_all;
use quillet_core::archive::{Archive, QueryPage, QueryRecord};
use quillet_core::store::StoreErrorKind;
use quillet_store::{ArchiveOptions, open_archive};
use quillet_test_support::{Cluster, RedisServer, SentinelSet, TempDir};

use crate::support::patient;

async fn archive(address: &str, options: &ArchiveOptions) -> Arc<dyn Archive> {
    open_archive(address, &patient(), options).await.unwrap()
}

fn query(database: &str, sql: &str, question: Option<&str>) -> QueryRecord {
    QueryRecord {
        id: 0,
        database: database.to_owned(),
        sql: sql.to_owned(),
        question: question.map(str::to_owned),
        row_count: 3,
        execution_ms: 12,
        executed_at: 1_700_000_000_123,
        accepted: false,
    }
}

fn texts(page: &QueryPage) -> Vec<&str> {
    page.items
        .iter()
        .map(|record| record.sql.as_str())
        .collect()
}

async fn keeps_catalogues(archive: &Arc<dyn Archive>) {
    assert_eq!(archive.catalogue("shop").await.unwrap(), None);
    let every_byte: Vec<u8> = (0..=255).collect();
    let long = "{\"tableName\":\"订单\"},".repeat(100_000).into_bytes();
    for bytes in [&b""[..], b"{}", &every_byte, &long] {
        archive.keep_catalogue("shop", bytes).await.unwrap();
        let kept = archive.catalogue("shop").await.unwrap();
        assert!(kept.as_deref() == Some(bytes), "of {} bytes", bytes.len());
    }
    assert_eq!(archive.catalogue("Shop").await.unwrap(), None);
}

async fn keeps_values(archive: &Arc<dyn Archive>) {
    assert_eq!(archive.values("valued").await.unwrap(), None);
    archive.keep_catalogue("valued", b"{}").await.unwrap();
    for bytes in [&b"{\"a\":1}"[..], b"", "订单".as_bytes()] {
        archive.keep_values("valued", Some(bytes)).await.unwrap();
        let kept = archive.values("valued").await.unwrap();
        assert_eq!(kept.as_deref(), Some(bytes));
    }
    let catalogue = archive.catalogue("valued").await.unwrap();
    assert_eq!(catalogue.as_deref(), Some(&b"{}"[..]));
    archive.keep_values("valued", None).await.unwrap();
    archive.keep_values("valued", None).await.unwrap();
    assert_eq!(archive.values("valued").await.unwrap(), None);
    archive.keep_values("valued", Some(b"x")).await.unwrap();
    archive.forget("valued").await.unwrap();
    assert_eq!(archive.values("valued").await.unwrap(), None);
}

/// An accepted query is a copy with the number of its record. It remains when the record is removed
/// from the history, and belongs to one database.
async fn keeps_what_is_accepted(archive: &Arc<dyn Archive>) {
    let mut records = Vec::new();
    for n in 0..3 {
        let record = query("liked", &format!("SELECT {n}"), Some("多少?"));
        let id = archive.record(&record).await.unwrap();
        records.push(QueryRecord {
            id,
            accepted: true,
            ..record
        });
    }
    for record in [&records[2], &records[0], &records[2]] {
        archive.accept(record).await.unwrap();
    }
    let expected = vec![records[2].clone(), records[0].clone()];
    assert_eq!(archive.accepted("liked").await.unwrap(), expected);
    assert_eq!(archive.accepted("Liked").await.unwrap(), []);
    let history = archive.history("liked", None, 9).await.unwrap();
    assert!(history.items.iter().all(|record| !record.accepted));
    assert!(!archive.unaccept("liked", records[1].id).await.unwrap());
    assert!(!archive.unaccept("other", records[0].id).await.unwrap());
    assert!(archive.unaccept("liked", records[0].id).await.unwrap());
    assert!(!archive.unaccept("liked", records[0].id).await.unwrap());
    assert_eq!(archive.accepted("liked").await.unwrap().len(), 1);
    for n in 0..600 {
        let record = query("liked", &n.to_string(), None);
        let id = records[2].id + 1 + n;
        archive.accept(&QueryRecord { id, ..record }).await.unwrap();
    }
    let kept = archive.accepted("liked").await.unwrap();
    assert_eq!((kept.len(), kept[0].sql.as_str()), (500, "599"));
    archive.forget("liked").await.unwrap();
    assert_eq!(archive.accepted("liked").await.unwrap(), []);
}

async fn keeps_records_exactly(archive: &Arc<dyn Archive>) {
    let odd = QueryRecord {
        id: 99,
        row_count: u64::MAX,
        execution_ms: 0,
        executed_at: u64::MAX,
        ..query("exact", "SELECT '\0', \"列\" -- ☂\r\n", Some(""))
    };
    let plain = query("exact", "SELECT 1", None);
    let first = archive.record(&odd).await.unwrap();
    let second = archive.record(&plain).await.unwrap();
    assert!(first < second, "{first} {second}");
    let page = archive.history("exact", None, 9).await.unwrap();
    let kept = [
        QueryRecord {
            id: second,
            ..plain
        },
        QueryRecord { id: first, ..odd },
    ];
    assert_eq!(page.items, kept);
    assert_eq!((page.total, page.more), (2, false));
}

async fn pages_go_from_new_to_old(archive: &Arc<dyn Archive>) {
    let mut numbers = Vec::new();
    for n in 0..7 {
        let same = query("pages", if n < 2 { "0" } else { "1" }, None);
        numbers.push(archive.record(&same).await.unwrap());
        archive.record(&query("others", "x", None)).await.unwrap();
    }
    numbers.reverse();
    let (mut before, mut seen) = (None, Vec::new());
    loop {
        let page = archive.history("pages", before, 3).await.unwrap();
        assert_eq!(page.total, 7);
        seen.extend(page.items.iter().map(|record| record.id));
        before = seen.last().copied();
        assert_eq!(page.more, seen.len() < 7);
        if !page.more {
            break;
        }
    }
    assert_eq!(seen, numbers);
    let cases = [
        (None, 7, 7, false),
        (None, 0, 0, true),
        (Some(0), 5, 0, false),
    ];
    for (before, limit, items, more) in cases {
        let page = archive.history("pages", before, limit).await.unwrap();
        assert_eq!((page.items.len(), page.total, page.more), (items, 7, more));
    }
    let all = archive
        .history("pages", Some(u64::MAX), usize::MAX)
        .await
        .unwrap();
    assert_eq!(all.items.len(), 7);
    assert_eq!(
        archive.history("nobody", None, 5).await.unwrap(),
        QueryPage::default()
    );
}

async fn finds_words(archive: &Arc<dyn Archive>) {
    let records = [
        (
            "SELECT \"Name\" FROM order_items JOIN customers USING (id)",
            Some("每个客户的订单数量"),
        ),
        (
            "SELECT count(*) FROM 订单明细 WHERE 状态 = '已发货'",
            Some("How many orders were shipped?"),
        ),
        ("SELECT sum(price) FROM Products -- Café", None),
        (
            "SELECT * FROM t WHERE a LIKE '100%' AND note = 'NOT \"x\" OR NEAR'",
            Some("北京大学的学生"),
        ),
    ];
    for (sql, question) in records {
        archive
            .record(&query("words", sql, question))
            .await
            .unwrap();
        archive
            .record(&query("elsewhere", sql, question))
            .await
            .unwrap();
    }
    let cases: [(&str, &[usize]); 24] = [
        ("select", &[3, 2, 1, 0]),
        ("SELECT from", &[3, 2, 1, 0]),
        ("订单", &[1, 0]),
        ("订单数量", &[0]),
        ("单数", &[0]),
        ("客", &[0]),
        ("数量订单", &[]),
        ("订单 customers", &[0]),
        ("orders 订单", &[1]),
        ("SHIPPED 已发货", &[1]),
        ("order items", &[0]),
        ("order_items", &[0]),
        ("Order-Items", &[0]),
        ("cafe", &[2]),
        ("ＰＲＩＣＥ", &[2]),
        ("pric", &[]),
        ("大学生", &[]),
        ("北京 学生", &[3]),
        ("not near", &[3]),
        ("\"", &[]),
        ("*", &[]),
        ("100%", &[3]),
        ("count* OR 'x", &[]),
        ("", &[]),
    ];
    for (search, expected) in cases {
        let page = archive.search("words", search, 9).await.unwrap();
        let expected: Vec<&str> = expected.iter().map(|n| records[*n].0).collect();
        assert_eq!(texts(&page), expected, "{search}");
        assert_eq!((page.total, page.more), (expected.len() as u64, false));
        assert!(page.items.iter().all(|record| record.database == "words"));
    }
    for (limit, items) in [(0, 0), (3, 3), (4, 4), (usize::MAX, 4)] {
        let page = archive.search("words", "from", limit).await.unwrap();
        let seen = (page.items.len(), page.total, page.more);
        assert_eq!(seen, (items, 4, items < 4));
    }
    let none = archive.search("nobody", "select", 9).await.unwrap();
    assert_eq!(none, QueryPage::default());
}

async fn forgets_everything_of_one(archive: &Arc<dyn Archive>) {
    for database in ["gone", "stays"] {
        archive.keep_catalogue(database, b"{}").await.unwrap();
        archive
            .record(&query(database, "select", None))
            .await
            .unwrap();
    }
    let last = archive
        .record(&query("gone", "select", None))
        .await
        .unwrap();
    archive.forget("gone").await.unwrap();
    archive.forget("gone").await.unwrap();
    assert_eq!(archive.catalogue("gone").await.unwrap(), None);
    for page in [
        archive.history("gone", None, 9).await.unwrap(),
        archive.search("gone", "select", 9).await.unwrap(),
    ] {
        assert_eq!(page, QueryPage::default());
    }
    assert_eq!(archive.search("stays", "select", 9).await.unwrap().total, 1);
    assert!(archive.catalogue("stays").await.unwrap().is_some());
    let next = archive.record(&query("gone", "again", None)).await.unwrap();
    assert!(
        next > last,
        "numbers go on after a forgotten one: {next} {last}"
    );
}

async fn keeps_hostile_names_apart(archive: &Arc<dyn Archive>) {
    let odd = [
        "{a}",
        "a}",
        "{",
        "a:queries",
        "%7Ba%7D",
        "*",
        "a b",
        "'; DROP",
        "商城",
        "{}",
    ];
    for name in odd {
        archive.keep_catalogue(name, name.as_bytes()).await.unwrap();
        archive.record(&query(name, name, None)).await.unwrap();
    }
    for name in odd {
        let catalogue = archive.catalogue(name).await.unwrap().unwrap();
        assert_eq!(&*catalogue, name.as_bytes());
        assert_eq!(
            texts(&archive.history(name, None, 9).await.unwrap()),
            [name]
        );
    }
    for name in ["", "a\nb", &"x".repeat(1000)] {
        let error = archive.record(&query(name, "x", None)).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Refused);
        assert!(archive.keep_catalogue(name, b"").await.is_err());
        assert!(archive.history(name, None, 1).await.is_err());
    }
}

async fn gives_each_record_a_number_of_its_own(address: &str) {
    let replicas = [
        archive(address, &ArchiveOptions::default()).await,
        archive(address, &ArchiveOptions::default()).await,
    ];
    let record = query("replicas", "x", None);
    let adding = (0..40).map(|n| replicas[n % 2].record(&record));
    let mut numbers: Vec<u64> = join_all(adding)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 40);
    let page = replicas[0].history("replicas", None, 99).await.unwrap();
    let kept: Vec<u64> = page.items.iter().rev().map(|record| record.id).collect();
    assert_eq!(kept, numbers);
}

async fn holds(address: &str) {
    let archive = archive(address, &ArchiveOptions::default()).await;
    keeps_catalogues(&archive).await;
    keeps_values(&archive).await;
    keeps_what_is_accepted(&archive).await;
    keeps_values(&archive).await;
    keeps_what_is_accepted(&archive).await;
    keeps_records_exactly(&archive).await;
    pages_go_from_new_to_old(&archive).await;
    finds_words(&archive).await;
    forgets_everything_of_one(&archive).await;
    keeps_hostile_names_apart(&archive).await;
}

async fn keeps_bounds(address: &str) {
    let size = serde_json::to_string(&query("d", "0", None)).unwrap().len();
    let options = ArchiveOptions {
        max_records: 3,
        max_history_bytes: size * 3 + 40,
        max_catalogue_bytes: 10,
        ..ArchiveOptions::default()
    };
    let archive = archive(address, &options).await;
    for n in 0..5 {
        archive
            .record(&query("d", &n.to_string(), None))
            .await
            .unwrap();
    }
    let kept = async || archive.history("d", None, 9).await.unwrap();
    assert_eq!(texts(&kept().await), ["4", "3", "2"]);
    assert_eq!(kept().await.total, 3);
    assert_eq!(archive.search("d", "1", 9).await.unwrap().total, 0);
    let longer = "x".repeat(100);
    archive.record(&query("d", &longer, None)).await.unwrap();
    assert_eq!(texts(&kept().await), [longer.as_str(), "4"]);
    let error = archive
        .record(&query("d", &longer.repeat(9), None))
        .await
        .unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Refused);
    assert!(error.message.contains("max_history_bytes"), "{error}");
    assert_eq!(kept().await.total, 2);

    archive.keep_catalogue("d", &[1; 10]).await.unwrap();
    let error = archive.keep_catalogue("d", &[2; 11]).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Refused);
    assert!(error.message.contains("11 bytes"), "{error}");
    assert!(error.message.contains("max_catalogue_bytes"), "{error}");
    assert_eq!(
        archive.catalogue("d").await.unwrap().as_deref(),
        Some(&[1; 10][..])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_keeps_what_is_learned() {
    holds("memory:").await;
    keeps_bounds("memory:").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_forgets_the_database_used_longest_ago() {
    let options = ArchiveOptions {
        max_memory_bytes: 1000,
        ..ArchiveOptions::default()
    };
    let archive = archive("memory:", &options).await;
    for (database, bytes) in [("a", 400), ("b", 400), ("a", 300), ("c", 500)] {
        archive
            .keep_catalogue(database, &vec![0; bytes])
            .await
            .unwrap();
    }
    for (database, there) in [("a", true), ("b", false), ("c", true)] {
        let kept = archive.catalogue(database).await.unwrap();
        assert_eq!(kept.is_some(), there, "{database}");
    }
    for n in 0..100 {
        archive
            .record(&query("c", &n.to_string(), None))
            .await
            .unwrap();
    }
    let history = archive.history("c", None, 1).await.unwrap();
    assert!((1..100).contains(&history.total), "{history:?}");
    assert_eq!(texts(&history), ["99"]);
    assert_eq!(archive.catalogue("a").await.unwrap(), None);
    assert!(archive.catalogue("c").await.unwrap().is_some());
    let error = archive.keep_catalogue("d", &[0; 1001]).await.unwrap_err();
    assert!(error.message.contains("max_memory_bytes"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_what_is_learned() {
    let dir = TempDir::new();
    let address = |name: &str| format!("sqlite:{}/{name}.db", dir.path().display());
    holds(&address("holds")).await;
    keeps_bounds(&address("bounds")).await;
    gives_each_record_a_number_of_its_own(&address("replicas")).await;
    holds("sqlite::memory:").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_read_again_and_holds_other_things_too() {
    let dir = TempDir::new();
    let address = format!("sqlite:{}/q.db", dir.path().display());
    let _definitions = crate::support::open(&address).await;
    for round in 1..=2 {
        let archive = archive(&address, &ArchiveOptions::default()).await;
        archive.record(&query("d", "select", None)).await.unwrap();
        archive.keep_catalogue("d", b"{}").await.unwrap();
        let found = archive.search("d", "select", 9).await.unwrap();
        let numbers: Vec<u64> = found.items.iter().map(|record| record.id).collect();
        assert_eq!(numbers, (1..=round).rev().collect::<Vec<u64>>());
    }
}

/// Each test of limits uses separate keys.
async fn redis_holds(url: &str) {
    let address = |prefix: &str| {
        if url.contains('?') {
            format!("{url}&prefix={prefix}:")
        } else {
            format!("{url}?prefix={prefix}:")
        }
    };
    holds(&address("holds")).await;
    keeps_bounds(&address("bounds")).await;
    gives_each_record_a_number_of_its_own(&address("replicas")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_what_is_learned() {
    let server = RedisServer::start();
    redis_holds(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn few_rights_are_enough_for_what_is_learned() {
    let server = RedisServer::start();
    holds(&server.url_of_a_user_with_few_rights()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_by_sentinels_keeps_what_is_learned() {
    let set = SentinelSet::start();
    redis_holds(&set.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_cluster_keeps_what_is_learned() {
    let cluster = Cluster::start();
    redis_holds(&cluster.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_rests_in_redis_and_is_something_else_is_named() {
    let server = RedisServer::start();
    let archive = archive(&server.url(), &ArchiveOptions::default()).await;
    server.cli(&["SET", "shenma:archive:{d}:catalogue", "no deflate"]);
    server.cli(&["ZADD", "shenma:archive:{d}:queries", "1", "1 {}"]);
    server.cli(&["LPUSH", "shenma:archive:{e}:queries", "x"]);
    let errors = [
        archive.catalogue("d").await.unwrap_err(),
        archive.history("d", None, 1).await.unwrap_err(),
        archive.search("d", "x", 1).await.unwrap_err(),
        archive.history("e", None, 1).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind, StoreErrorKind::Corrupt, "{error}");
        assert!(error.message.contains("shenma:archive:{"), "{error}");
    }
    archive.forget("d").await.unwrap();
    assert_eq!(archive.catalogue("d").await.unwrap(), None);
    // These few bytes decompress to more than the limit.
    let bomb = ArchiveOptions {
        max_catalogue_bytes: 1000,
        ..ArchiveOptions::default()
    };
    archive.keep_catalogue("d", &[0; 100_000]).await.unwrap();
    let small = open_archive(&server.url(), &patient(), &bomb)
        .await
        .unwrap();
    let error = small.catalogue("d").await.unwrap_err();
    assert!(error.message.contains("max_catalogue_bytes"), "{error}");
}

/// A folder only stores definitions.
#[tokio::test(flavor = "multi_thread")]
async fn beside_a_folder_what_is_learned_rests_in_memory() {
    let archive = archive("dir:.", &ArchiveOptions::default()).await;
    assert_eq!(archive.describe(), "memory");
}
