//! Tests of waiting times. The clock is paused and advances only for sleeping tasks, so every wait
//! is visible.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quillet_core::BoxFuture;
use quillet_core::chat::Bytes4;
use quillet_store::{ArchiveOptions, MemoryArchive, MemoryStore};
use tokio::time::Instant;

use super::*;
use crate::chain::BuiltIn;
use crate::database::ConnectionReport;
use crate::stream::{RowSink, StreamEnd};
use crate::{Database, QueryLimits, SqlDialect};

/// A database whose fingerprint query never returns.
#[derive(Debug, Default)]
struct SlowDatabase {
    compared: AtomicUsize,
}

impl Database for SlowDatabase {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Sqlite
    }

    fn describe(&self) -> String {
        "a slow database".to_owned()
    }

    fn check(&self) -> BoxFuture<'_, Result<ConnectionReport, DatabaseError>> {
        Box::pin(std::future::ready(Ok(ConnectionReport::default())))
    }

    fn catalogue<'a>(
        &'a self,
        _: ProgressFn<'a>,
    ) -> BoxFuture<'a, Result<Catalogue, DatabaseError>> {
        let catalogue = Catalogue::new(
            SqlDialect::Sqlite,
            "3".to_owned(),
            Vec::new(),
            Vec::new(),
            "1".to_owned(),
        );
        Box::pin(std::future::ready(Ok(catalogue)))
    }

    fn fingerprint(&self) -> BoxFuture<'_, Result<String, DatabaseError>> {
        self.compared.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::pending())
    }

    fn query_into<'a>(
        &'a self,
        _: &'a str,
        _: &'a QueryLimits,
        _: &'a mut dyn RowSink,
    ) -> BoxFuture<'a, Result<StreamEnd, DatabaseError>> {
        Box::pin(std::future::ready(Ok(StreamEnd::Whole)))
    }
}

#[tokio::test(start_paused = true)]
async fn no_query_waits_until_a_catalogue_is_compared() {
    let databases = Databases::new(ServiceParts {
        store: Arc::new(MemoryStore::new()),
        archive: Arc::new(MemoryArchive::new(ArchiveOptions::default())),
        model: None,
        embedder: None,
        tokens: Arc::new(Bytes4),
        prompts: Arc::new(BuiltIn::new().unwrap()),
        config: SqlConfig {
            catalogue_age: Duration::ZERO,
            ..SqlConfig::default()
        },
    });
    let definition = ConnectionDefinition::of("sqlite:slow.db");
    databases.add_temporary("slow", &definition).unwrap();
    let text = databases.definition_text("slow").await.unwrap();
    let slow = Arc::new(SlowDatabase::default());
    let mut slot = ConnectionSlot::open("slow", text, &databases.inner.parts).unwrap();
    slot.database = slow.clone();
    lock(&databases.inner.slots).insert("slow".to_owned(), Arc::new(slot));
    let run = || async {
        let options = RunOptions::default();
        databases.run("slow", "SELECT 1", &options).await.unwrap();
    };
    run().await;
    let begun = Instant::now();
    for _ in 0..3 {
        run().await;
        tokio::task::yield_now().await;
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    // Only one comparison runs for all of these queries.
    assert_eq!(slow.compared.load(Ordering::Relaxed), 1);
}
