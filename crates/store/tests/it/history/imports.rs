//! Imports of histories.

use std::sync::Arc;

use quillet_core::history::{
    Commit, DefinitionContent, HistoryImport, LabelTarget, Labels, STORE, Version, VersionRecord,
};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreErrorKind};

use super::{Bench, history, keep, keep_all, numbers, prompt, texts, versions, whole, write};
use crate::support::one;

pub(super) async fn hold(bench: &Bench) {
    come_back_as_they_were(bench).await;
    go_on_where_they_broke_off(bench).await;
    conflict_with_others(bench).await;
    follow_what_stands_already(bench).await;
    end_with_a_removal(bench).await;
    keep_how_files_are_read(bench).await;
    may_be_long(bench).await;
}

fn import(key: &EntryKey, versions: Vec<VersionRecord>) -> HistoryImport {
    HistoryImport {
        kind: EntryKind::Prompt,
        key: key.clone(),
        versions,
        labels: Labels::default(),
    }
}

async fn bring(store: &Arc<dyn Store>, import: &HistoryImport) -> usize {
    history(store).import(import).await.unwrap()
}

/// The current content must be recorded in the history.
async fn is_settled(bench: &Bench, key: &EntryKey) {
    let keys = [key.clone()];
    let new = history(&bench.other).observe(EntryKind::Prompt, &keys, STORE);
    assert_eq!(new.await.unwrap(), [], "{key}");
}

async fn come_back_as_they_were(bench: &Bench) {
    let (from, key) = (EntryKey::new("import:from"), EntryKey::new("import:to"));
    keep_all(&bench.store, &from, &["one", "two", "one", "three"]).await;
    let exported = whole(&bench.store, &from).await;
    let labels = r#"{"next": {"versions": {"3": 1, "4": 1}}, "production": 2}"#;
    let import = HistoryImport {
        labels: Labels::parse(labels).unwrap(),
        ..import(&key, exported.clone())
    };
    assert_eq!(bring(&bench.other, &import).await, 4);
    assert_eq!(whole(&bench.store, &key).await, exported);
    bench.store.sync().await.unwrap();
    assert_eq!(bench.now(&key).await, Some(prompt("three")));
    let stored = one(&bench.store, EntryKind::Label, "prompt:import:to").await;
    assert_eq!(Labels::parse(&stored.unwrap()).unwrap(), import.labels);
    is_settled(bench, &key).await;
    assert_eq!(bring(&bench.store, &import).await, 0);
    assert_eq!(whole(&bench.store, &key).await, exported);
    assert_eq!(keep_all(&bench.store, &key, &["four"]).await.number, 5);
}

async fn go_on_where_they_broke_off(bench: &Bench) {
    let (from, key) = (EntryKey::new("import:long"), EntryKey::new("import:part"));
    keep_all(&bench.store, &from, &["one", "two", "three", "four"]).await;
    let exported = whole(&bench.store, &from).await;
    let first = import(&key, exported[..2].to_vec());
    assert_eq!(bring(&bench.store, &first).await, 2);
    bench.store.sync().await.unwrap();
    assert_eq!(bench.now(&key).await, Some(prompt("two")));
    let all = import(&key, exported.clone());
    assert_eq!(bring(&bench.other, &all).await, 2);
    assert_eq!(whole(&bench.store, &key).await, exported);
    bench.store.sync().await.unwrap();
    assert_eq!(bench.now(&key).await, Some(prompt("four")));
    // Numbers may have gaps, because versions may have been dropped.
    let gaps = EntryKey::new("import:gaps");
    let some = import(&gaps, vec![exported[1].clone(), exported[3].clone()]);
    assert_eq!(bring(&bench.store, &some).await, 2);
    assert_eq!(numbers(&versions(&bench.other, &gaps).await), [2, 4]);
    assert_eq!(bring(&bench.other, &some).await, 0);
}

async fn conflict_with_others(bench: &Bench) {
    let from = EntryKey::new("import:theirs");
    keep_all(&bench.store, &from, &["one", "two", "three"]).await;
    let exported = whole(&bench.store, &from).await;
    let missing = HistoryImport {
        labels: Labels([("production".to_owned(), LabelTarget::Version(9))].into()),
        ..import(&EntryKey::new("import:none"), exported.clone())
    };
    for (key, here, import, kind) in [
        (
            "import:differs",
            vec!["one", "2"],
            import(&EntryKey::new("import:differs"), exported.clone()),
            StoreErrorKind::Conflict,
        ),
        (
            "import:longer",
            vec!["one", "two", "three", "four"],
            import(&EntryKey::new("import:longer"), exported.clone()),
            StoreErrorKind::Conflict,
        ),
        ("import:none", vec![], missing, StoreErrorKind::NoVersion),
    ] {
        let key = EntryKey::new(key);
        if !here.is_empty() {
            keep_all(&bench.store, &key, &here).await;
        }
        let before = (texts(&bench.store, &key).await, bench.now(&key).await);
        let error = history(&bench.other).import(&import).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        bench.store.sync().await.unwrap();
        let after = (texts(&bench.store, &key).await, bench.now(&key).await);
        assert_eq!(before, after, "{key}");
    }
}

async fn follow_what_stands_already(bench: &Bench) {
    let (from, key) = (
        EntryKey::new("import:origin"),
        EntryKey::new("import:stands"),
    );
    keep_all(&bench.store, &from, &["one", "two"]).await;
    let all = import(&key, whole(&bench.store, &from).await);
    bench.raw(&key, &prompt("one")).await;
    assert_eq!(bring(&bench.other, &all).await, 1);
    assert_eq!(texts(&bench.store, &key).await, ["one", "two"].map(prompt));
    is_settled(bench, &key).await;
    let other = EntryKey::new("import:occupied");
    bench.raw(&other, &prompt("mine")).await;
    let all = HistoryImport {
        key: other.clone(),
        ..all
    };
    let error = history(&bench.other).import(&all).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Conflict, "{error}");
    bench.store.sync().await.unwrap();
    assert_eq!(bench.now(&other).await, Some(prompt("mine")));
}

async fn end_with_a_removal(bench: &Bench) {
    let (from, key) = (EntryKey::new("import:went"), EntryKey::new("import:gone"));
    keep_all(&bench.store, &from, &["one"]).await;
    let gone = Commit::new(EntryKind::Prompt, from.clone(), None, "ada");
    keep(&bench.store, &gone).await.unwrap();
    let exported = whole(&bench.store, &from).await;
    let first = import(&key, exported[..1].to_vec());
    assert_eq!(bring(&bench.store, &first).await, 1);
    assert_eq!(
        bring(&bench.other, &import(&key, exported.clone())).await,
        1
    );
    bench.store.sync().await.unwrap();
    assert_eq!(bench.now(&key).await, None);
    assert_eq!(whole(&bench.store, &key).await, exported);
    is_settled(bench, &key).await;
}

/// A version contains its file format. A store without files preserves the format, and recognizes
/// its text as that version.
async fn keep_how_files_are_read(bench: &Bench) {
    let key = EntryKey::new("import:file");
    let file = DefinitionContent {
        text: "---\nmodel: m\n---\nHello {{name}}\n".into(),
        file: "file.prompt".into(),
        companion: None,
    };
    let mut commit = write(&key, "");
    commit.content = Some(file.clone());
    let done = keep(&bench.store, &commit).await.unwrap();
    assert_eq!(done.version.digest, file.digest());
    is_settled(bench, &key).await;
    let again = keep(&bench.other, &commit).await.unwrap();
    assert_eq!((again.version.number, again.is_new), (1, false));
    let exported = whole(&bench.other, &key).await;
    assert_eq!(exported[0].content, Some(file.clone()));
    bench.store.sync().await.unwrap();
    assert_eq!(bench.now(&key).await.as_deref(), Some(&*file.text));
    let brought = EntryKey::new("import:brought");
    assert_eq!(bring(&bench.store, &import(&brought, exported)).await, 1);
    is_settled(bench, &brought).await;
}

async fn may_be_long(bench: &Bench) {
    const LONG: u64 = 10_000;
    let key = EntryKey::new("import:thousands");
    let one = |number: u64| {
        let content = DefinitionContent::new(prompt(&number.to_string()));
        let version = Version {
            number,
            digest: content.digest(),
            parent: (number > 1).then(|| number - 1),
            author: "ada".into(),
            message: "".into(),
            created_ms: 1_700_000_000_000 + number,
            bytes: content.bytes() as u64,
            removed: false,
        };
        VersionRecord {
            version,
            content: Some(content),
        }
    };
    let all = import(&key, (1..=LONG).map(one).collect());
    assert_eq!(bring(&bench.store, &all).await, 10_000);
    let page = history(&bench.other).versions(EntryKind::Prompt, &key, None, 20);
    let expected: Vec<u64> = (LONG - 19..=LONG).rev().collect();
    assert_eq!(numbers(&page.await.unwrap()), expected);
    let wanted = [(key.clone(), 5_000)];
    let kept = history(&bench.other)
        .load_versions(EntryKind::Prompt, &wanted)
        .await;
    assert_eq!(kept.unwrap(), [Some(one(5_000))]);
    is_settled(bench, &key).await;
    // One more version removes the oldest.
    assert_eq!(keep_all(&bench.other, &key, &["more"]).await.number, 10_001);
    let all = versions(&bench.store, &key).await;
    assert_eq!((all.len(), all[0].number), (10_000, 2));
}
