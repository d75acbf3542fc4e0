//! Tests: who waits for what. Time stands still here but for those who sleep, so that whoever
//! waited shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quillet_core::BoxFuture;
use quillet_core::chat::Bytes4;
use quillet_store::{ArchiveOptions, MemoryArchive, MemoryStore};
use tokio::time::Instant;

use super::*;
use crate::chain::BuiltIn;
use crate::database::Checked;
use crate::stream::{Ended, RowSink};
use crate::{Database, Dialect};

/// A database that is compared for ever.
#[derive(Debug, Default)]
struct Slow {
    compared: AtomicUsize,
}

impl Database for Slow {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn describe(&self) -> String {
        "a slow database".to_owned()
    }

    fn check(&self) -> BoxFuture<'_, Result<Checked, DatabaseError>> {
        Box::pin(std::future::ready(Ok(Checked::default())))
    }

    fn catalogue<'a>(&'a self, _: Progress<'a>) -> BoxFuture<'a, Result<Catalogue, DatabaseError>> {
        let catalogue = Catalogue::new(
            Dialect::Sqlite,
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
    ) -> BoxFuture<'a, Result<Ended, DatabaseError>> {
        Box::pin(std::future::ready(Ok(Ended::Whole)))
    }
}

#[tokio::test(start_paused = true)]
async fn no_query_waits_until_a_catalogue_is_compared() {
    let databases = Databases::new(Parts {
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
    let definition = Definition::of("sqlite:slow.db");
    databases.lend("slow", &definition).unwrap();
    let text = databases.text("slow").await.unwrap();
    let slow = Arc::new(Slow::default());
    let mut slot = Slot::open("slow", text, &databases.inner.parts).unwrap();
    slot.database = slow.clone();
    locked(&databases.inner.slots).insert("slow".to_owned(), Arc::new(slot));
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
    // And one comparison is under way, behind them all.
    assert_eq!(slow.compared.load(Ordering::Relaxed), 1);
}
