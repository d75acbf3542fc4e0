//! Tests exports: repairs, interruptions, and the recorded history.

use std::sync::Arc;

use quillet_core::BoxFuture;
use quillet_sql::export::{ByteSink, CsvOptions, ExportFormat, RowExport};
use quillet_sql::stream::{SinkClosed, StreamEnd};
use quillet_sql::{QueryLimits, RunOptions, SqlConfig, SqlDialect};

use super::shop::{Shop, serving};
use crate::scripted::Scripted;

/// A file in memory with an optional size limit.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    most: Option<usize>,
}

impl ByteSink for Kept {
    fn bytes<'a>(&'a mut self, mut bytes: Vec<u8>) -> BoxFuture<'a, Result<(), SinkClosed>> {
        self.bytes.append(&mut bytes);
        let is_full = self.most.is_some_and(|most| self.bytes.len() > most);
        Box::pin(std::future::ready(if is_full {
            Err(SinkClosed)
        } else {
            Ok(())
        }))
    }
}

fn csv(kept: &mut Kept) -> RowExport<'_> {
    RowExport::new(ExportFormat::Csv, CsvOptions::default(), kept)
}

fn options() -> RunOptions {
    RunOptions {
        limits: Some(QueryLimits {
            rows: 60_000,
            bytes: 1 << 30,
            ..QueryLimits::default()
        }),
        ..RunOptions::default()
    }
}

/// Fails after most of its rows were sent.
const BREAKS: &str = "SELECT 1 / (50000 - i) AS n FROM generate_series(1, 50000) AS g(i)";
const AT_ONCE: &str = r#"{"sql": "SELECT 1 / (total - total) AS n FROM orders"}"#;
const RIGHT: &str = r#"{"sql": "SELECT COUNT(*) AS n FROM orders"}"#;

#[tokio::test]
async fn a_query_is_mended_as_long_as_none_of_its_rows_is_out() {
    let bounds = options();
    let shop = Shop::open(SqlDialect::PostgreSql);
    let model = Arc::new(Scripted::texts(&[AT_ONCE, RIGHT]));
    let databases = serving(&shop, &model, SqlConfig::default()).await;
    let mut kept = Kept::default();
    let asked = databases.ask_export("shop", "how many?", &bounds, csv(&mut kept));
    let (generated, ran) = asked.await.unwrap();
    assert_eq!(generated.repairs[0].code, "sql.failed");
    assert_eq!((ran.row_count, ran.ended), (1, StreamEnd::Whole));
    assert!(kept.bytes.starts_with(b"n\r\n"), "{:?}", kept.bytes);
    assert_eq!(model.asked().len(), 2);

    let late = format!("{{\"sql\": \"{BREAKS}\"}}");
    let model = Arc::new(Scripted::texts(&[&late, RIGHT]));
    let databases = serving(&shop, &model, SqlConfig::default()).await;
    let mut kept = Kept::default();
    let asked = databases.ask_export("shop", "how many?", &bounds, csv(&mut kept));
    let error = asked.await.unwrap_err();
    assert_eq!(error.code(), "sql.failed");
    assert!(kept.bytes.len() > 10_000, "{}", kept.bytes.len());
    assert_eq!(model.asked().len(), 1, "other rows cannot follow");
}

#[tokio::test]
async fn a_file_that_is_full_stops_the_query() {
    let bounds = options();
    let shop = Shop::open(SqlDialect::PostgreSql);
    let model = Arc::new(Scripted::texts(&[RIGHT]));
    let databases = serving(&shop, &model, SqlConfig::default()).await;
    let mut kept = Kept {
        most: Some(10_000),
        ..Kept::default()
    };
    let many = "SELECT i FROM generate_series(1, 50000) AS g(i)";
    let ran = databases.export("shop", many, &bounds, csv(&mut kept));
    let ran = ran.await.unwrap();
    assert_eq!(ran.ended, StreamEnd::Stopped);
    assert!(ran.row_count < 10_000, "{}", ran.row_count);
    assert!(kept.bytes.len() < 20_000, "{}", kept.bytes.len());
}

#[tokio::test]
async fn the_history_has_what_was_exported_and_not_what_failed() {
    let bounds = options();
    let shop = Shop::open(SqlDialect::PostgreSql);
    let model = Arc::new(Scripted::texts(&[RIGHT]));
    let databases = serving(&shop, &model, SqlConfig::default()).await;
    let many = "SELECT i FROM generate_series(1, 50000) AS g(i)";
    for (sql, is_kept) in [(many, true), (BREAKS, false)] {
        let mut kept = Kept::default();
        let ran = databases.export("shop", sql, &bounds, csv(&mut kept));
        assert_eq!(ran.await.is_ok(), is_kept, "{sql}");
    }
    let history = databases.history("shop", None, 10).await.unwrap();
    let counts: Vec<u64> = history.items.iter().map(|it| it.row_count).collect();
    assert_eq!(counts, [50_000]);
}
