//! Commits of one writer and of several concurrent ones.

use quillet_core::history::{Commit, DefinitionContent, WritePrecondition};
use quillet_core::store::{EntryKey, EntryKind, StoreErrorKind};

use super::{Bench, history, keep, keep_all, numbers, prompt, texts, versions, write};

pub(super) async fn hold(bench: &Bench) {
    number_what_is_committed(bench).await;
    keep_every_kind(bench).await;
    make_nothing_of_the_same_again(bench).await;
    hold_what_is_expected(bench).await;
    lose_nothing_between_two_writers(bench).await;
    let_one_of_two_win(bench).await;
}

async fn number_what_is_committed(bench: &Bench) {
    let key = EntryKey::new("commit:numbers");
    for (number, text) in (1..).zip(["one", "two", "three"]) {
        let commit = Commit {
            message: format!("because of {text}").into(),
            ..write(&key, text)
        };
        let done = keep(&bench.store, &commit).await.unwrap();
        let version = &done.version;
        assert_eq!((version.number, done.is_new), (number, true));
        assert_eq!(version.parent, (number > 1).then(|| number - 1));
        assert_eq!(&*version.author, "ada");
        assert_eq!(*version.message, format!("because of {text}"));
        assert_eq!(
            version.digest,
            DefinitionContent::new(prompt(text)).digest()
        );
        assert_eq!(version.bytes, prompt(text).len() as u64);
        assert!(version.created_ms > 1_700_000_000_000 && !version.removed);
        assert_eq!(bench.now(&key).await, Some(prompt(text)));
        bench.other.sync().await.unwrap();
        let seen = versions(&bench.other, &key).await;
        assert_eq!(seen.last(), Some(version));
    }
    let all = texts(&bench.other, &key).await;
    assert_eq!(all, ["one", "two", "three"].map(prompt));
}

async fn keep_every_kind(bench: &Bench) {
    let key = EntryKey::new("commit:kinds");
    for kind in EntryKind::ALL
        .into_iter()
        .filter(|kind| kind.has_versions())
    {
        let text = format!(r#"{{"of":"{}"}}"#, kind.word());
        let commit = Commit::new(
            kind,
            key.clone(),
            Some(DefinitionContent::new(&*text)),
            "ada",
        );
        let done = keep(&bench.store, &commit).await.unwrap();
        assert_eq!(done.version.number, 1, "{kind:?}");
        let wanted = [(key.clone(), 1)];
        let kept = history(&bench.other)
            .load_versions(kind, &wanted)
            .await
            .unwrap();
        let kept = kept.into_iter().flatten().next().unwrap();
        assert_eq!(
            kept.content,
            Some(DefinitionContent::new(&*text)),
            "{kind:?}"
        );
    }
}

async fn make_nothing_of_the_same_again(bench: &Bench) {
    let key = EntryKey::new("commit:same");
    let first = keep_all(&bench.store, &key, &["one"]).await;
    let again = keep(&bench.other, &write(&key, "one")).await.unwrap();
    assert_eq!((&again.version, again.is_new), (&first, false));
    // White space and the order of members do not matter.
    let mut spaced = write(&key, "one");
    spaced.content = Some(DefinitionContent::new("{ \"prompt\" : \"one\" }\n"));
    let again = keep(&bench.store, &spaced).await.unwrap();
    assert_eq!((&again.version, again.is_new), (&first, false));
    let always = Commit {
        always: true,
        ..write(&key, "one")
    };
    let done = keep(&bench.store, &always).await.unwrap();
    assert_eq!((done.version.number, done.is_new), (2, true));
    assert_eq!(done.version.digest, first.digest);
    // Earlier content becomes a new version.
    keep_all(&bench.store, &key, &["two", "one"]).await;
    assert_eq!(
        numbers(&versions(&bench.store, &key).await),
        [1, 2, 3, 4],
        "one, one, two, one"
    );
}

async fn hold_what_is_expected(bench: &Bench) {
    let digest = |text: &str| DefinitionContent::new(prompt(text)).digest();
    for (name, raw, expect, holds) in [
        ("absent", None, WritePrecondition::Absent, false),
        ("number", None, WritePrecondition::Version(2), true),
        ("old", None, WritePrecondition::Version(1), false),
        ("future", None, WritePrecondition::Version(3), false),
        (
            "digest",
            None,
            WritePrecondition::Digest(digest("two")),
            true,
        ),
        (
            "old-digest",
            None,
            WritePrecondition::Digest(digest("one")),
            false,
        ),
        // The next case has an edit that is not recorded yet.
        ("raw", Some("raw"), WritePrecondition::Version(2), false),
        (
            "raw-digest",
            Some("raw"),
            WritePrecondition::Digest(digest("raw")),
            true,
        ),
    ] {
        let key = EntryKey::new(format!("expect:{name}"));
        keep_all(&bench.store, &key, &["one", "two"]).await;
        if let Some(raw) = raw {
            bench.raw(&key, &prompt(raw)).await;
        }
        let before = bench.now(&key).await;
        let commit = Commit {
            expect,
            labels: vec!["production".to_owned()],
            ..write(&key, "mine")
        };
        let done = keep(&bench.other, &commit).await;
        assert_eq!(done.is_ok(), holds, "{name}: {done:?}");
        bench.store.sync().await.unwrap();
        if holds {
            assert_eq!(bench.now(&key).await, Some(prompt("mine")), "{name}");
            continue;
        }
        let error = done.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Conflict, "{name}: {error}");
        assert!(error.message.contains(&key.id()), "{error}");
        assert_eq!(bench.now(&key).await, before, "{name}");
        assert_eq!(versions(&bench.store, &key).await.len(), 2, "{name}");
    }
    let key = EntryKey::new("expect:new");
    let commit = Commit {
        expect: WritePrecondition::Absent,
        ..write(&key, "one")
    };
    assert_eq!(keep(&bench.store, &commit).await.unwrap().version.number, 1);
    let error = keep(&bench.other, &commit).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Conflict, "{error}");
}

async fn lose_nothing_between_two_writers(bench: &Bench) {
    const EACH: u64 = 50;
    let key = EntryKey::new("race:commits");
    let writers = [("first", &bench.store), ("second", &bench.other)];
    let writers = writers.map(|(name, store)| {
        let (store, key) = (store.clone(), key.clone());
        tokio::spawn(async move {
            let mut answered = Vec::new();
            for round in 0..EACH {
                let commit = write(&key, &format!("{name} {round}"));
                answered.push(keep(&store, &commit).await.unwrap().version);
            }
            answered
        })
    });
    let mut answered = Vec::new();
    for writer in writers {
        answered.extend(writer.await.unwrap());
    }
    answered.sort_by_key(|version| version.number);
    let expected: Vec<u64> = (1..=2 * EACH).collect();
    assert_eq!(numbers(&answered), expected);
    for store in [&bench.store, &bench.other] {
        assert_eq!(versions(store, &key).await, answered);
    }
    bench.store.sync().await.unwrap();
    let all = texts(&bench.store, &key).await;
    assert_eq!(bench.now(&key).await.as_ref(), all.last());
}

async fn let_one_of_two_win(bench: &Bench) {
    let key = EntryKey::new("race:expect");
    let mut newest = keep_all(&bench.store, &key, &["start"]).await.number;
    for round in 0..20 {
        let writers = [("first", &bench.store), ("second", &bench.other)];
        let writers = writers.map(|(name, store)| {
            let commit = Commit {
                expect: WritePrecondition::Version(newest),
                ..write(&key, &format!("{name} {round}"))
            };
            let store = store.clone();
            tokio::spawn(async move { keep(&store, &commit).await })
        });
        let mut won = Vec::new();
        for writer in writers {
            match writer.await.unwrap() {
                Ok(done) => won.push(done.version.number),
                Err(error) => assert_eq!(error.kind, StoreErrorKind::Conflict, "{error}"),
            }
        }
        newest += 1;
        assert_eq!(won, [newest], "round {round}");
    }
}
