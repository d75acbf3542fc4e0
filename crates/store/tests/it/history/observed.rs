//! Writes by programs that do not use histories.

use quillet_core::history::{DefinitionContent, STORE, Version};
use quillet_core::store::{EntryKey, EntryKind};

use super::{Bench, history, keep, keep_all, numbers, prompt, texts, versions, write};

pub(super) async fn hold(bench: &Bench) {
    are_versions_once(bench).await;
    are_versions_before_what_is_committed(bench).await;
    are_versions_once_for_many_who_see_them(bench).await;
    are_removals(bench).await;
}

async fn observe(bench: &Bench, keys: &[EntryKey]) -> Vec<(EntryKey, Version)> {
    let seen = history(&bench.other).observe(EntryKind::Prompt, keys, STORE);
    seen.await.unwrap()
}

async fn are_versions_once(bench: &Bench) {
    let keys = ["seen:a", "seen:b", "seen:nobody"].map(EntryKey::new);
    for (number, text) in (1..).zip(["one", "two", "one"]) {
        bench.raw(&keys[0], &prompt(text)).await;
        let new = observe(bench, &keys).await;
        assert_eq!(new.len(), 1, "{text}: {new:?}");
        let (key, version) = &new[0];
        assert_eq!((key, version.number), (&keys[0], number));
        assert_eq!(&*version.author, STORE);
        assert_eq!(
            version.digest,
            DefinitionContent::new(prompt(text)).digest()
        );
        assert_eq!(observe(bench, &keys).await, []);
    }
    assert_eq!(
        texts(&bench.store, &keys[0]).await,
        ["one", "two", "one"].map(prompt)
    );
    assert_eq!(versions(&bench.store, &keys[2]).await, []);
    // Committed content is already recorded.
    keep_all(&bench.store, &keys[1], &["mine"]).await;
    assert_eq!(observe(bench, &keys).await, []);
    // The author of the write may be known.
    bench.raw(&keys[1], &prompt("theirs")).await;
    let new = history(&bench.other).observe(EntryKind::Prompt, &keys, "joe");
    assert_eq!(&*new.await.unwrap()[0].1.author, "joe");
    // Text that is not valid JSON is also recorded.
    bench.raw(&keys[1], "{not json").await;
    assert_eq!(observe(bench, &keys).await.len(), 1);
    assert_eq!(observe(bench, &keys).await, []);
}

async fn are_versions_before_what_is_committed(bench: &Bench) {
    let key = EntryKey::new("seen:late");
    bench.raw(&key, &prompt("raw")).await;
    let done = keep(&bench.other, &write(&key, "mine")).await.unwrap();
    assert_eq!((done.version.number, done.version.parent), (2, Some(1)));
    let all = versions(&bench.store, &key).await;
    let authors: Vec<&str> = all.iter().map(|version| &*version.author).collect();
    assert_eq!(authors, [STORE, "ada"]);
    assert_eq!(
        texts(&bench.store, &key).await,
        [prompt("raw"), prompt("mine")]
    );
    // Committing the same text returns the recorded version.
    bench.raw(&key, &prompt("again")).await;
    let done = keep(&bench.other, &write(&key, "again")).await.unwrap();
    assert_eq!((done.version.number, done.is_new), (3, false));
    assert_eq!(&*done.version.author, STORE);
}

async fn are_versions_once_for_many_who_see_them(bench: &Bench) {
    let keys: Vec<EntryKey> = (0..40)
        .map(|at| EntryKey::new(format!("many:{at}")))
        .collect();
    for round in 1..=3 {
        for key in &keys {
            bench.raw(key, &prompt(&format!("round {round}"))).await;
        }
        let seers = [&bench.store, &bench.other, &bench.store, &bench.other];
        let seers = seers.map(|store| {
            let (store, keys) = (store.clone(), keys.clone());
            tokio::spawn(async move {
                let seen = history(&store).observe(EntryKind::Prompt, &keys, STORE);
                seen.await.unwrap()
            })
        });
        let mut new = Vec::new();
        for seer in seers {
            new.extend(seer.await.unwrap().into_iter().map(|(key, _)| key));
        }
        new.sort();
        let mut expected = keys.clone();
        expected.sort();
        assert_eq!(new, expected, "round {round}");
    }
    for key in &keys {
        assert_eq!(numbers(&versions(&bench.store, key).await), [1, 2, 3]);
    }
}

async fn are_removals(bench: &Bench) {
    let key = EntryKey::new("seen:gone");
    let first = keep_all(&bench.store, &key, &["one"]).await;
    assert!(bench.store.remove(EntryKind::Prompt, &key).await.unwrap());
    let keys = [key];
    let new = observe(bench, &keys).await;
    let (key, version) = &new[0];
    assert!(version.removed);
    assert_eq!((version.number, version.digest), (2, first.digest));
    assert_eq!(observe(bench, &keys).await, []);
    bench.raw(key, &prompt("back")).await;
    assert_eq!(observe(bench, &keys).await[0].1.number, 3);
    assert_eq!(
        texts(&bench.store, key).await,
        [prompt("one"), "-".to_owned(), prompt("back")]
    );
}
