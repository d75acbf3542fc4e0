//! Labels: moves are atomic and visible to all clients.

use quillet_core::history::{Commit, LabelMove, LabelTarget, Labels};
use quillet_core::store::{EntryKey, EntryKind, StoreError, StoreErrorKind};

use super::{Bench, history, keep, keep_all, prompt, versions, write};
use crate::support::{arrives, one};

pub(super) async fn hold(bench: &Bench) {
    move_with_a_commit(bench).await;
    move_by_themselves(bench).await;
    hold_where_they_have_to_be(bench).await;
    name_what_is_there(bench).await;
    are_entries_that_others_see(bench).await;
    are_not_lost_where_they_are_broken(bench).await;
    are_moved_by_many(bench).await;
}

fn labels(text: &str) -> Labels {
    Labels::parse(text).unwrap()
}

fn to(name: &str, number: u64) -> LabelMove {
    LabelMove {
        name: name.to_owned(),
        to: Some(LabelTarget::Version(number)),
        expect: None,
    }
}

async fn relabel(bench: &Bench, key: &EntryKey, moves: &[LabelMove]) -> Result<Labels, StoreError> {
    history(&bench.other)
        .relabel(EntryKind::Prompt, key, moves)
        .await
}

/// Returns the labels as the second connection reads them.
async fn stored(bench: &Bench, key: &EntryKey) -> Option<Labels> {
    bench.other.sync().await.unwrap();
    let place = format!("prompt:{key}");
    let all = bench.other.load(EntryKind::Label).await.unwrap();
    let entry = all.iter().find(|entry| entry.key.as_str() == place);
    let text = one(&bench.other, EntryKind::Label, &place).await;
    assert_eq!(text.as_deref(), entry.map(|entry| &*entry.text));
    text.map(|text| labels(&text))
}

async fn move_with_a_commit(bench: &Bench) {
    let key = EntryKey::new("label:commit");
    let labelled = |text: &str, names: &[&str]| Commit {
        labels: names.iter().map(|name| (*name).to_owned()).collect(),
        ..write(&key, text)
    };
    keep_all(&bench.store, &key, &["one"]).await;
    assert_eq!(stored(bench, &key).await, None);
    let done = keep(&bench.store, &labelled("two", &["production", "next"])).await;
    let expected = labels(r#"{"next": 2, "production": 2}"#);
    assert_eq!(done.unwrap().labels, expected);
    assert_eq!(stored(bench, &key).await, Some(expected));
    let done = keep(&bench.store, &labelled("three", &["next"])).await;
    let expected = labels(r#"{"next": 3, "production": 2}"#);
    assert_eq!(done.unwrap().labels, expected);
    assert_eq!(stored(bench, &key).await, Some(expected.clone()));
    let done = keep(&bench.store, &write(&key, "four")).await;
    assert_eq!(done.unwrap().labels, expected);
    // An unchanged definition creates no version, but its labels move.
    let done = keep(&bench.other, &labelled("four", &["production"]))
        .await
        .unwrap();
    let expected = labels(r#"{"next": 3, "production": 4}"#);
    assert_eq!((done.is_new, &done.labels), (false, &expected));
    assert_eq!(stored(bench, &key).await, Some(expected.clone()));
    // An invalid name rejects the whole commit.
    for wrong in ["latest", "7", "", "a b"] {
        let error = keep(&bench.store, &labelled("five", &["next", wrong])).await;
        assert_eq!(error.unwrap_err().kind, StoreErrorKind::Refused, "{wrong}");
    }
    assert_eq!(versions(&bench.store, &key).await.len(), 4);
    assert_eq!(bench.now(&key).await, Some(prompt("four")));
    assert_eq!(stored(bench, &key).await, Some(expected));
}

async fn move_by_themselves(bench: &Bench) {
    let key = EntryKey::new("label:moves");
    keep_all(&bench.store, &key, &["one", "two", "three"]).await;
    let moves = [to("production", 1), to("next", 3)];
    let now = relabel(bench, &key, &moves).await.unwrap();
    assert_eq!(now, labels(r#"{"next": 3, "production": 1}"#));
    let split = r#"{"versions": {"1": 90, "3": 10}, "by": "user", "salt": "s"}"#;
    let text = format!(r#"{{"next": 3, "production": {split}}}"#);
    let shares = labels(&text).get("production").cloned();
    let moves = [LabelMove {
        to: shares,
        ..to("production", 1)
    }];
    let now = relabel(bench, &key, &moves).await.unwrap();
    assert_eq!(now, labels(&text));
    assert_eq!(stored(bench, &key).await, Some(now));
    let away = |name: &str| LabelMove {
        to: None,
        ..to(name, 1)
    };
    let now = relabel(bench, &key, &[away("production")]).await.unwrap();
    assert_eq!(now, labels(r#"{"next": 3}"#));
    let now = relabel(bench, &key, &[away("next"), away("nobody")]).await;
    assert_eq!(now.unwrap(), Labels::default());
    assert_eq!(stored(bench, &key).await, None);
    assert_eq!(versions(&bench.store, &key).await.len(), 3);
}

async fn hold_where_they_have_to_be(bench: &Bench) {
    let key = EntryKey::new("label:expect");
    keep_all(&bench.store, &key, &["one", "two"]).await;
    relabel(bench, &key, &[to("production", 1)]).await.unwrap();
    for (name, expect, holds) in [
        ("production", Some(Some(LabelTarget::Version(1))), true),
        ("production", Some(Some(LabelTarget::Version(1))), false),
        ("production", Some(Some(LabelTarget::Version(2))), true),
        ("production", Some(None), false),
        ("next", Some(Some(LabelTarget::Version(1))), false),
        ("next", Some(None), true),
        ("next", None, true),
    ] {
        let before = stored(bench, &key).await;
        // A failed precondition rejects all moves.
        let moves = [
            to("other", 2),
            LabelMove {
                expect: expect.clone(),
                ..to(name, 2)
            },
        ];
        let done = relabel(bench, &key, &moves).await;
        match done {
            Ok(now) => assert!(holds && stored(bench, &key).await == Some(now)),
            Err(error) => {
                assert_eq!(error.kind, StoreErrorKind::Conflict, "{name} {expect:?}");
                assert!(!holds && stored(bench, &key).await == before, "{error}");
            }
        }
    }
}

async fn name_what_is_there(bench: &Bench) {
    let key = EntryKey::new("label:there");
    keep_all(&bench.store, &key, &["one", "two"]).await;
    let gone = Commit::new(EntryKind::Prompt, key.clone(), None, "ada");
    keep(&bench.store, &gone).await.unwrap();
    let split = labels(r#"{"x": {"versions": {"1": 1, "9": 1}}}"#);
    let zero = LabelMove {
        to: Some(LabelTarget::Version(0)),
        ..to("production", 1)
    };
    for (wrong, kind) in [
        (to("production", 9), StoreErrorKind::NoVersion),
        (to("production", 3), StoreErrorKind::NoVersion),
        (
            LabelMove {
                to: split.get("x").cloned(),
                ..to("production", 1)
            },
            StoreErrorKind::NoVersion,
        ),
        (to("latest", 1), StoreErrorKind::Refused),
        (zero, StoreErrorKind::Refused),
    ] {
        let error = relabel(bench, &key, &[to("next", 1), wrong.clone()]).await;
        assert_eq!(error.unwrap_err().kind, kind, "{wrong:?}");
        assert_eq!(stored(bench, &key).await, None, "{wrong:?}");
    }
    let now = relabel(bench, &key, &[to("production", 2)]).await.unwrap();
    assert_eq!(now, labels(r#"{"production": 2}"#));
    let error = relabel(bench, &EntryKey::new("label:nobody"), &[to("a", 1)]).await;
    assert_eq!(error.unwrap_err().kind, StoreErrorKind::NoVersion);
}

async fn are_entries_that_others_see(bench: &Bench) {
    let key = EntryKey::new("label:seen");
    let place = "prompt:label:seen";
    keep_all(&bench.store, &key, &["one", "two"]).await;
    for number in [1, 2] {
        let mut changes = bench.store.changes();
        let now = relabel(bench, &key, &[to("production", number)]).await;
        arrives(&mut changes, EntryKind::Label, place).await;
        let text = one(&bench.store, EntryKind::Label, place).await.unwrap();
        assert_eq!(labels(&text), now.unwrap());
    }
    // Both changes of a commit are reported.
    let mut changes = bench.other.changes();
    let commit = Commit {
        labels: vec!["production".to_owned()],
        ..write(&key, "three")
    };
    keep(&bench.store, &commit).await.unwrap();
    arrives(&mut changes, EntryKind::Label, place).await;
    let mut changes = bench.other.changes();
    keep(&bench.store, &write(&key, "four")).await.unwrap();
    arrives(&mut changes, EntryKind::Prompt, key.as_str()).await;
    // Labels may also be written directly.
    let text = r#"{"by-hand": 2}"#;
    let hand = EntryKey::new(place);
    bench
        .store
        .put(EntryKind::Label, &hand, text)
        .await
        .unwrap();
    let now = relabel(bench, &key, &[to("next", 3)]).await.unwrap();
    assert_eq!(now, labels(r#"{"by-hand": 2, "next": 3}"#));
}

async fn are_not_lost_where_they_are_broken(bench: &Bench) {
    let key = EntryKey::new("label:broken");
    let place = EntryKey::new("prompt:label:broken");
    keep_all(&bench.store, &key, &["one", "two"]).await;
    let broken = r#"{"production": "three"}"#;
    bench
        .store
        .put(EntryKind::Label, &place, broken)
        .await
        .unwrap();
    let error = relabel(bench, &key, &[to("next", 1)]).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Corrupt, "{error}");
    assert!(error.message.contains("label:broken"), "{error}");
    let labelled = Commit {
        labels: vec!["next".to_owned()],
        ..write(&key, "three")
    };
    let error = keep(&bench.other, &labelled).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Corrupt, "{error}");
    // The labels are unreadable, so no version is dropped.
    let error = history(&bench.other)
        .collect(EntryKind::Prompt, &key, 1)
        .await;
    assert_eq!(error.unwrap_err().kind, StoreErrorKind::Corrupt);
    assert_eq!(versions(&bench.store, &key).await.len(), 2);
    bench.other.sync().await.unwrap();
    let entry = bench
        .other
        .entries(EntryKind::Label, &[place])
        .await
        .unwrap();
    let entry = entry.into_iter().flatten().next().unwrap();
    assert_eq!(&*entry.text, broken);
    // Removing the definition removes its labels, even if they are invalid.
    let gone = Commit::new(EntryKind::Prompt, key.clone(), None, "ada");
    keep(&bench.other, &gone).await.unwrap();
    assert_eq!(stored(bench, &key).await, None);
}

async fn are_moved_by_many(bench: &Bench) {
    let key = EntryKey::new("label:many");
    keep_all(&bench.store, &key, &["one", "two"]).await;
    let movers = (0..20).map(|at| {
        let store = if at % 2 == 0 {
            &bench.store
        } else {
            &bench.other
        };
        let (store, key) = (store.clone(), key.clone());
        tokio::spawn(async move {
            let moves = [to(&format!("label-{at}"), 1 + at % 2)];
            history(&store)
                .relabel(EntryKind::Prompt, &key, &moves)
                .await
        })
    });
    for mover in movers.collect::<Vec<_>>() {
        mover.await.unwrap().unwrap();
    }
    let now = stored(bench, &key).await.unwrap();
    assert_eq!(now.0.len(), 20, "{now:?}");
}
