//! All database archives return the same results for any sequence of operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quillet_core::archive::{Archive, QueryPage, QueryRecord};
use quillet_store::{ArchiveOptions, open_archive};
use quillet_test_support::RedisServer;
use tokio::runtime::Runtime;

use crate::support::patient;

#[derive(Clone, Debug)]
enum Step {
    Keep(String, Vec<u8>),
    Catalogue(String),
    Record(QueryRecord),
    KeepValues(String, Vec<u8>),
    Values(String),
    Accept(String, u64),
    Unaccept(String, u64),
    Accepted(String),
    /// The database, the index of the record number that ends the page, and the page size.
    History(String, Option<usize>, usize),
    Search(String, String, usize),
    Forget(String),
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[abc]", "[{}:%a]{1,3}", Just("商城".to_owned())]
}

/// Few words with many spellings, so searches find matches.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[aAbB ]{1,3}",
        4 => "[订单数量]{1,3}",
        1 => any::<String>(),
        1 => "[\"'*()_%. -]{1,3}",
    ];
    vec(part, 0..5).prop_map(|parts| parts.concat())
}

fn record() -> impl Strategy<Value = QueryRecord> {
    let texts = (name(), text(), proptest::option::of(text()));
    (texts, any::<[u64; 3]>()).prop_map(|((database, sql, question), numbers)| {
        let [row_count, execution_ms, executed_at] = numbers;
        QueryRecord {
            id: 0,
            database,
            sql,
            question,
            row_count,
            execution_ms,
            executed_at,
            accepted: false,
        }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let page = (name(), proptest::option::of(0_usize..20), 0_usize..6);
    prop_oneof![
        1 => (name(), vec(any::<u8>(), 0..60)).prop_map(|(name, bytes)| Step::Keep(name, bytes)),
        1 => name().prop_map(Step::Catalogue),
        6 => record().prop_map(Step::Record),
        1 => (name(), vec(any::<u8>(), 0..60)).prop_map(|(name, bytes)| Step::KeepValues(name, bytes)),
        1 => name().prop_map(Step::Values),
        2 => (name(), 0_u64..9).prop_map(|(name, id)| Step::Accept(name, id)),
        1 => (name(), 0_u64..9).prop_map(|(name, id)| Step::Unaccept(name, id)),
        1 => name().prop_map(Step::Accepted),
        2 => page.prop_map(|(name, before, limit)| Step::History(name, before, limit)),
        4 => (name(), text(), 0_usize..6).prop_map(|(name, words, limit)| Step::Search(name, words, limit)),
        1 => name().prop_map(Step::Forget),
    ]
}

/// Returns the result of a step, with record numbers replaced by their indexes.
async fn answer(archive: &Arc<dyn Archive>, given: &mut Vec<u64>, step: &Step) -> String {
    match step {
        Step::Keep(name, bytes) => {
            let done = archive.keep_catalogue(name, bytes).await;
            format!("{:?}", done.map_err(|error| error.kind))
        }
        Step::Catalogue(name) => format!("{:?}", archive.catalogue(name).await.unwrap()),
        Step::Record(record) => match archive.record(record).await {
            Ok(number) => {
                assert!(given.last().is_none_or(|last| *last < number));
                given.push(number);
                "kept".to_owned()
            }
            Err(error) => format!("{:?}", error.kind),
        },
        Step::History(name, before, limit) => {
            let before = before.map(|place| given.get(place).copied().unwrap_or(u64::MAX));
            shown(archive.history(name, before, *limit).await.unwrap(), given)
        }
        Step::Search(name, words, limit) => {
            shown(archive.search(name, words, *limit).await.unwrap(), given)
        }
        Step::KeepValues(name, bytes) => {
            let values = Some(bytes.as_slice()).filter(|bytes| !bytes.is_empty());
            let done = archive.keep_values(name, values).await;
            format!("{:?}", done.map_err(|error| error.kind))
        }
        Step::Values(name) => format!("{:?}", archive.values(name).await.unwrap()),
        Step::Accept(name, id) => {
            let record = QueryRecord {
                id: *id,
                database: name.clone(),
                sql: format!("SELECT {id}"),
                ..QueryRecord::default()
            };
            let done = archive.accept(&record).await;
            format!("{:?}", done.map_err(|error| error.kind))
        }
        Step::Unaccept(name, id) => format!("{:?}", archive.unaccept(name, *id).await.unwrap()),
        Step::Accepted(name) => format!("{:?}", archive.accepted(name).await.unwrap()),
        Step::Forget(name) => format!("{:?}", archive.forget(name).await.is_ok()),
    }
}

fn shown(mut page: QueryPage, given: &[u64]) -> String {
    for record in &mut page.items {
        let place = given.iter().position(|number| *number == record.id);
        record.id = place.unwrap() as u64;
    }
    format!("{page:?}")
}

#[test]
fn memory_sqlite_and_redis_say_the_same() {
    let server = RedisServer::start();
    let runtime = Runtime::new().unwrap();
    let config = Config {
        cases: 48,
        failure_persistence: None,
        ..Config::default()
    };
    let options = ArchiveOptions {
        max_records: 6,
        max_history_bytes: 1000,
        max_catalogue_bytes: 40,
        ..ArchiveOptions::default()
    };
    // Each case uses separate keys.
    let round = AtomicU32::new(0);
    TestRunner::new(config)
        .run(&vec(step(), 1..30), |steps| {
            let round = round.fetch_add(1, Ordering::Relaxed);
            let redis = format!("{}?prefix=r{round}:", server.url());
            runtime.block_on(async {
                let mut all = Vec::new();
                for address in ["memory:", "sqlite::memory:", &redis] {
                    let archive = open_archive(address, &patient(), &options).await.unwrap();
                    all.push((archive, Vec::new()));
                }
                for step in &steps {
                    let (first, others) = all.split_first_mut().unwrap();
                    let expected = answer(&first.0, &mut first.1, step).await;
                    for (other, given) in others {
                        let got = answer(other, given, step).await;
                        prop_assert_eq!(&got, &expected, "{:?} on {}", step, other.describe());
                    }
                }
                Ok(())
            })
        })
        .unwrap();
}
