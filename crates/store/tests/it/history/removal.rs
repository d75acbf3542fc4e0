//! Definitions that are removed and restored.

use quillet_core::history::{Commit, WritePrecondition};
use quillet_core::store::{EntryKey, EntryKind, StoreErrorKind};

use super::{Bench, history, keep, keep_all, prompt, texts, versions, write};
use crate::support::one;

pub(super) async fn hold(bench: &Bench) {
    takes_labels_and_keeps_versions(bench).await;
    of_nothing_is_an_error(bench).await;
}

fn remove(key: &EntryKey) -> Commit {
    Commit::new(EntryKind::Prompt, key.clone(), None, "ada")
}

async fn takes_labels_and_keeps_versions(bench: &Bench) {
    let key = EntryKey::new("gone:one");
    let labels = vec!["production".to_owned(), "next".to_owned()];
    let labelled = Commit {
        labels,
        ..write(&key, "one")
    };
    let first = keep(&bench.store, &labelled).await.unwrap();
    assert_eq!(first.labels.0.len(), 2);
    let stale = Commit {
        expect: WritePrecondition::Version(7),
        ..remove(&key)
    };
    let error = keep(&bench.other, &stale).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Conflict);

    let gone = keep(&bench.other, &remove(&key)).await.unwrap();
    let version = &gone.version;
    assert!(version.removed && gone.is_new && gone.labels.0.is_empty());
    assert_eq!((version.number, version.parent), (2, Some(1)));
    assert_eq!((version.digest, version.bytes), (first.version.digest, 0));
    bench.store.sync().await.unwrap();
    assert_eq!(bench.now(&key).await, None);
    assert_eq!(
        one(&bench.store, EntryKind::Label, "prompt:gone:one").await,
        None
    );
    let again = keep(&bench.store, &remove(&key)).await.unwrap();
    assert_eq!((&again.version, again.is_new), (version, false));

    let known = history(&bench.store).keys(EntryKind::Prompt).await.unwrap();
    assert!(known.contains(&key));
    let digits = version.digest.to_string();
    let found = history(&bench.store).find(EntryKind::Prompt, &key, &digits);
    assert_eq!(found.await.unwrap(), Some(first.version));

    let back = keep(&bench.store, &write(&key, "one")).await.unwrap();
    assert_eq!((back.version.number, back.is_new), (3, true));
    assert!(back.labels.0.is_empty());
    assert_eq!(
        texts(&bench.other, &key).await,
        [prompt("one"), "-".to_owned(), prompt("one")]
    );
}

async fn of_nothing_is_an_error(bench: &Bench) {
    let key = EntryKey::new("gone:never");
    let error = keep(&bench.store, &remove(&key)).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::NoVersion, "{error}");
    assert_eq!(versions(&bench.store, &key).await, []);
    // Unrecorded content is recorded before its removal.
    bench.raw(&key, &prompt("raw")).await;
    let gone = keep(&bench.other, &remove(&key)).await.unwrap();
    assert_eq!(gone.version.number, 2);
    assert_eq!(
        texts(&bench.store, &key).await,
        [prompt("raw"), "-".to_owned()]
    );
    let last = keep_all(&bench.store, &key, &["back"]).await;
    assert_eq!(last.number, 3);
}
