//! Limits on the number of versions and the length of a text.

use quillet_core::history::{Commit, DefinitionContent, LabelMove, LabelTarget, STORE};
use quillet_core::store::{EntryKey, EntryKind, StoreErrorKind};
use quillet_store::StoreOptions;

use super::{Bench, history, keep, keep_all, numbers, prompt, texts, versions, write};

pub(super) async fn hold(bench: &Bench) {
    spare_what_is_labelled_and_newest(bench).await;
    hold_how_many_are_kept(bench).await;
    hold_how_long_a_text_is(bench).await;
}

async fn spare_what_is_labelled_and_newest(bench: &Bench) {
    let key = EntryKey::new("bound:collect");
    let six = ["one", "two", "three", "two", "five", "six"];
    keep_all(&bench.store, &key, &six).await;
    let label = |name: &str, to: Option<LabelTarget>| LabelMove {
        name: name.to_owned(),
        to,
        expect: None,
    };
    let moves = [label("production", Some(LabelTarget::Version(2)))];
    let relabel = history(&bench.store).relabel(EntryKind::Prompt, &key, &moves);
    relabel.await.unwrap();
    let collect = |keep| history(&bench.other).collect(EntryKind::Prompt, &key, keep);
    let sorted = |mut dropped: Vec<u64>| {
        dropped.sort_unstable();
        dropped
    };
    assert!(collect(6).await.unwrap().is_empty());
    assert_eq!(sorted(collect(2).await.unwrap()), [1, 3, 4]);
    assert_eq!(numbers(&versions(&bench.store, &key).await), [2, 5, 6]);
    assert_eq!(
        texts(&bench.store, &key).await,
        ["two", "five", "six"].map(prompt)
    );
    assert!(collect(2).await.unwrap().is_empty());
    let moves = [label("production", None)];
    let relabel = history(&bench.store).relabel(EntryKind::Prompt, &key, &moves);
    relabel.await.unwrap();
    assert_eq!(sorted(collect(0).await.unwrap()), [2, 5]);
    assert_eq!(texts(&bench.store, &key).await, [prompt("six")]);
    // No number is reused, and dropped content may be committed again.
    assert_eq!(keep_all(&bench.store, &key, &["two"]).await.number, 7);
    assert_eq!(texts(&bench.other, &key).await, ["six", "two"].map(prompt));
    let nobody = EntryKey::new("bound:nobody");
    let none = history(&bench.store).collect(EntryKind::Prompt, &nobody, 1);
    assert!(none.await.unwrap().is_empty());
}

async fn hold_how_many_are_kept(bench: &Bench) {
    let options = StoreOptions {
        max_versions: 3,
        ..StoreOptions::default()
    };
    let store = bench.with(&options).await;
    let key = EntryKey::new("bound:many");
    let labelled = Commit {
        labels: vec!["production".to_owned()],
        ..write(&key, "0")
    };
    keep(&store, &labelled).await.unwrap();
    for number in 1..=9 {
        keep_all(&store, &key, &[&number.to_string()]).await;
        let kept = versions(&store, &key).await;
        assert!(kept.len() <= 4, "{kept:?}");
        assert_eq!(kept[0].number, 1, "a label names it");
    }
    assert_eq!(numbers(&versions(&store, &key).await), [1, 8, 9, 10]);
    assert_eq!(texts(&store, &key).await, ["0", "7", "8", "9"].map(prompt));
    let keys = [key.clone()];
    for round in 0..3 {
        let text = prompt(&format!("raw {round}"));
        store.put(EntryKind::Prompt, &key, &text).await.unwrap();
        let seen = history(&store).observe(EntryKind::Prompt, &keys, STORE);
        assert_eq!(seen.await.unwrap().len(), 1);
    }
    assert_eq!(numbers(&versions(&store, &key).await), [1, 11, 12, 13]);
}

async fn hold_how_long_a_text_is(bench: &Bench) {
    let options = StoreOptions {
        max_file_bytes: 5 << 20,
        max_value_bytes: 5 << 20,
        ..StoreOptions::default()
    };
    let store = bench.with(&options).await;
    let key = EntryKey::new("bound:long");
    let text = |bytes: usize, c: &str| prompt(&c.repeat(bytes / c.len()));
    let commit = |text: String| {
        let content = DefinitionContent::new(text);
        Commit::new(EntryKind::Prompt, key.clone(), Some(content), "ada")
    };
    for (number, c) in (1..).zip(["x", "ü\\n"]) {
        let long = commit(text(4 << 20, c));
        let done = keep(&store, &long).await.unwrap();
        assert_eq!(done.version.number, number);
        let wanted = [(key.clone(), number)];
        let kept = history(&store)
            .load_versions(EntryKind::Prompt, &wanted)
            .await
            .unwrap();
        let kept = kept.into_iter().flatten().next().unwrap();
        assert!(kept.content == long.content, "{c}: another text");
    }
    if bench.is_memory() {
        return;
    }
    let error = keep(&store, &commit(text(6 << 20, "x"))).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Refused, "{error}");
    assert!(error.message.contains("_bytes)"), "{error}");
    assert_eq!(versions(&store, &key).await.len(), 2);
}
