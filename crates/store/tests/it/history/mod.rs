//! Contract tests of version histories for all stores.
//!
//! To test another store, add a test that calls [`holds`] with its address.

mod bounds;
mod commits;
mod imports;
mod in_folder;
mod in_redis;
mod in_redis_lost;
mod in_sqlite;
mod killed;
mod labels;
mod log;
mod names;
mod observed;
mod reading;
mod removal;

use std::sync::Arc;

use quillet_core::history::{
    Commit, CommitResult, DefinitionContent, HistoryStore, Version, VersionRecord,
};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreError};
use quillet_store::StoreOptions;
use quillet_test_support::TempDir;

use crate::support::{becomes, open_with};

/// The store under test.
struct Bench {
    address: String,
    store: Arc<dyn Store>,
    /// A second connection to the store, as in another process.
    other: Arc<dyn Store>,
}

impl Bench {
    async fn new(address: &str) -> Self {
        let options = StoreOptions::default();
        let store = ready(address, &options).await;
        let other = match address {
            "memory:" => store.clone(),
            _ => ready(address, &options).await,
        };
        Bench {
            address: address.to_owned(),
            store,
            other,
        }
    }

    /// Opens the store with other options. An in-memory store is then empty.
    async fn with(&self, options: &StoreOptions) -> Arc<dyn Store> {
        ready(&self.address, options).await
    }

    fn is_folder(&self) -> bool {
        self.address.starts_with("dir:")
    }

    fn is_memory(&self) -> bool {
        self.address == "memory:"
    }

    /// Writes like a program that does not use histories.
    async fn raw(&self, key: &EntryKey, text: &str) {
        self.store.put(EntryKind::Prompt, key, text).await.unwrap();
    }

    async fn now(&self, key: &EntryKey) -> Option<String> {
        crate::support::one(&self.store, EntryKind::Prompt, key.as_str()).await
    }
}

async fn ready(address: &str, options: &StoreOptions) -> Arc<dyn Store> {
    let store = open_with(address, options).await;
    becomes(&store, true).await;
    store
}

async fn holds(address: &str) {
    let bench = &Bench::new(address).await;
    commits::hold(bench).await;
    observed::hold(bench).await;
    removal::hold(bench).await;
    labels::hold(bench).await;
    reading::hold(bench).await;
    imports::hold(bench).await;
    bounds::hold(bench).await;
    names::hold(bench).await;
    log::hold(bench).await;
}

fn history(store: &Arc<dyn Store>) -> &dyn HistoryStore {
    store.history().expect("this store keeps no history")
}

fn prompt(text: &str) -> String {
    format!(r#"{{"prompt":"{text}"}}"#)
}

/// Returns a commit of a prompt by Ada.
fn write(key: &EntryKey, text: &str) -> Commit {
    let content = DefinitionContent::new(prompt(text));
    Commit::new(EntryKind::Prompt, key.clone(), Some(content), "ada")
}

async fn keep(store: &Arc<dyn Store>, commit: &Commit) -> Result<CommitResult, StoreError> {
    history(store).commit(commit).await
}

/// Commits prompts with these texts in order, and returns the last version.
async fn keep_all(store: &Arc<dyn Store>, key: &EntryKey, texts: &[&str]) -> Version {
    let mut last = None;
    for text in texts {
        last = Some(keep(store, &write(key, text)).await.unwrap().version);
    }
    last.expect("no text to commit")
}

/// Returns all versions, oldest first.
async fn versions(store: &Arc<dyn Store>, key: &EntryKey) -> Vec<Version> {
    let page = history(store).versions(EntryKind::Prompt, key, None, usize::MAX);
    let mut versions = page.await.unwrap();
    versions.reverse();
    versions
}

fn numbers(versions: &[Version]) -> Vec<u64> {
    versions.iter().map(|version| version.number).collect()
}

/// Returns all versions with their content, oldest first.
async fn whole(store: &Arc<dyn Store>, key: &EntryKey) -> Vec<VersionRecord> {
    let numbers = numbers(&versions(store, key).await);
    let wanted: Vec<(EntryKey, u64)> = numbers.into_iter().map(|it| (key.clone(), it)).collect();
    let kept = history(store)
        .load_versions(EntryKind::Prompt, &wanted)
        .await
        .unwrap();
    kept.into_iter()
        .map(|kept| kept.expect("a version without its row"))
        .collect()
}

/// Returns the texts of all versions, oldest first; `-` for a removal.
async fn texts(store: &Arc<dyn Store>, key: &EntryKey) -> Vec<String> {
    let text = |kept: VersionRecord| {
        kept.content
            .map_or("-".to_owned(), |it| it.text.to_string())
    };
    whole(store, key).await.into_iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_keeps_histories() {
    holds("memory:").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_histories() {
    let dir = TempDir::new();
    holds(&format!("sqlite:{}/q.db", dir.path().display())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_keep_histories() {
    let dir = TempDir::new();
    let folder = dir.path().join("store");
    std::fs::create_dir(&folder).unwrap();
    holds(&format!("dir:{}", folder.display())).await;
}
