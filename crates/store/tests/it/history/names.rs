//! Unusual names of definitions, and the list of all names.

use quillet_core::history::{Commit, DefinitionContent, LabelMove, LabelTarget, STORE};
use quillet_core::store::{EntryKey, EntryKind, StoreErrorKind};

use super::{Bench, history, keep, numbers, prompt, texts, versions, write};
use crate::support::one;

pub(super) async fn hold(bench: &Bench) {
    are_kept_as_they_are(bench).await;
    are_listed(bench).await;
}

/// Keys, and whether they are also valid file names.
const NAMES: [(&str, bool); 13] = [
    ("name:a@b", true),
    ("name:a@7", true),
    ("name:with space", true),
    ("name:问候:你好", true),
    ("name:ünï-☂", true),
    ("name:a.b", true),
    ("name:a", true),
    ("name:a:b", true),
    ("name:{braces}", true),
    ("name:a/b", false),
    ("name:%2F", false),
    ("name:a\"b", false),
    ("name:a*?[b]", false),
];

async fn are_kept_as_they_are(bench: &Bench) {
    for (name, is_file) in NAMES {
        let key = EntryKey::new(name);
        let labelled = Commit {
            labels: vec!["production".to_owned()],
            ..write(&key, name.replace('"', "'").as_str())
        };
        let done = keep(&bench.store, &labelled).await;
        if bench.is_folder() && !is_file {
            let error = done.unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Refused, "{name}: {error}");
            assert!(error.message.contains("cannot be a file"), "{error}");
            assert_eq!(versions(&bench.store, &key).await, []);
            continue;
        }
        assert_eq!(done.unwrap().version.number, 1, "{name}");
    }
    bench.other.sync().await.unwrap();
    for (name, is_file) in NAMES {
        if bench.is_folder() && !is_file {
            continue;
        }
        let key = EntryKey::new(name);
        let expected = prompt(&name.replace('"', "'"));
        assert_eq!(texts(&bench.other, &key).await, [expected], "{name}");
        let labels = one(&bench.other, EntryKind::Label, &format!("prompt:{name}")).await;
        assert!(labels.unwrap().contains("production"), "{name}");
        bench.raw(&key, &prompt("raw")).await;
        let keys = [key.clone()];
        let seen = history(&bench.other).observe(EntryKind::Prompt, &keys, STORE);
        assert_eq!(seen.await.unwrap().len(), 1, "{name}");
        let moves = [LabelMove {
            name: "production".to_owned(),
            to: Some(LabelTarget::Version(2)),
            expect: Some(Some(LabelTarget::Version(1))),
        }];
        let moved = history(&bench.store).relabel(EntryKind::Prompt, &key, &moves);
        moved.await.unwrap();
        assert_eq!(numbers(&versions(&bench.store, &key).await), [1, 2]);
    }
}

async fn are_listed(bench: &Bench) {
    let tool = |name: &str, text: Option<&str>| {
        let content = text.map(DefinitionContent::new);
        Commit::new(EntryKind::Tool, EntryKey::new(name), content, "ada")
    };
    for name in ["list:b", "list:a:c", "list:a", "list"] {
        keep(&bench.store, &tool(name, Some("{}"))).await.unwrap();
    }
    keep(&bench.store, &tool("list:b", None)).await.unwrap();
    // A definition that was never recorded has no history.
    let raw = EntryKey::new("list:raw");
    bench.store.put(EntryKind::Tool, &raw, "{}").await.unwrap();
    let known = history(&bench.other).keys(EntryKind::Tool).await.unwrap();
    let known = known.iter().map(EntryKey::as_str);
    let known: Vec<&str> = known.filter(|key| key.starts_with("list")).collect();
    assert_eq!(known, ["list", "list:a", "list:a:c", "list:b"]);
    let prompts = history(&bench.other).keys(EntryKind::Prompt).await.unwrap();
    let is_listed = |name: &str| prompts.contains(&EntryKey::new(name));
    for (name, is_file) in NAMES {
        assert_eq!(is_listed(name), is_file || !bench.is_folder(), "{name}");
    }
}
