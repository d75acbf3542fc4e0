//! Reading versions by page, by number and by digest.

use quillet_core::history::{DefinitionContent, Digest};
use quillet_core::store::{EntryKey, EntryKind};

use super::{Bench, history, keep_all, numbers, prompt, versions};

pub(super) async fn hold(bench: &Bench) {
    by_page(bench).await;
    by_number_of_many_at_once(bench).await;
    by_digest(bench).await;
}

async fn by_page(bench: &Bench) {
    let key = EntryKey::new("read:pages");
    let texts: Vec<String> = (1..=7).map(|number| number.to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    keep_all(&bench.store, &key, &texts).await;
    for (before, limit, expected) in [
        (None, 3, vec![7, 6, 5]),
        (Some(5), 3, vec![4, 3, 2]),
        (Some(2), 3, vec![1]),
        (Some(1), 3, vec![]),
        (Some(0), 3, vec![]),
        (None, 0, vec![]),
        (Some(u64::MAX), 2, vec![7, 6]),
        (None, usize::MAX, vec![7, 6, 5, 4, 3, 2, 1]),
    ] {
        let page = history(&bench.other).versions(EntryKind::Prompt, &key, before, limit);
        assert_eq!(
            numbers(&page.await.unwrap()),
            expected,
            "{before:?} {limit}"
        );
    }
    let other = EntryKey::new("read:nobody");
    assert_eq!(versions(&bench.store, &other).await, []);
    let tools = history(&bench.store).versions(EntryKind::Tool, &key, None, 9);
    assert_eq!(tools.await.unwrap(), []);
}

async fn by_number_of_many_at_once(bench: &Bench) {
    let keys = ["read:a", "read:b"].map(EntryKey::new);
    keep_all(&bench.store, &keys[0], &["a1", "a2"]).await;
    keep_all(&bench.store, &keys[1], &["b1", "b2"]).await;
    let nobody = EntryKey::new("read:nobody");
    let wanted = [
        (keys[1].clone(), 2),
        (nobody.clone(), 1),
        (keys[0].clone(), 1),
        (keys[0].clone(), 3),
        (keys[1].clone(), 2),
        (keys[0].clone(), 0),
        (keys[0].clone(), u64::MAX),
    ];
    let kept = history(&bench.other)
        .load_versions(EntryKind::Prompt, &wanted)
        .await;
    let texts: Vec<Option<String>> = kept
        .unwrap()
        .into_iter()
        .map(|kept| Some(kept?.content?.text.to_string()))
        .collect();
    let (b2, a1) = (Some(prompt("b2")), Some(prompt("a1")));
    assert_eq!(texts, [b2.clone(), None, a1, None, b2, None, None]);
    let none = history(&bench.other)
        .load_versions(EntryKind::Prompt, &[])
        .await;
    assert_eq!(none.unwrap(), []);
}

async fn by_digest(bench: &Bench) {
    let key = EntryKey::new("read:digest");
    keep_all(&bench.store, &key, &["one", "two", "one"]).await;
    let digits = |text: &str| DefinitionContent::new(prompt(text)).digest().to_string();
    let (one, two) = (digits("one"), digits("two"));
    let nobody = "0".repeat(64);
    for (digits, expected) in [
        (one.as_str(), Some(3)),
        (&one[..8], Some(3)),
        (&two[..12], Some(2)),
        (&two, Some(2)),
        (&nobody, None),
    ] {
        let found = history(&bench.other).find(EntryKind::Prompt, &key, digits);
        let found = found.await.unwrap().map(|version| version.number);
        assert_eq!(found, expected, "{digits}");
    }
    let elsewhere = EntryKey::new("read:a");
    let found = history(&bench.other).find(EntryKind::Prompt, &elsewhere, &one);
    assert_eq!(found.await.unwrap(), None);
    assert!(Digest::parse(&one).is_some());
}
