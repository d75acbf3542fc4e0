//! Direct writes to the store become versions.

use quillet_core::store::{EntryKey, EntryKind};
use serde_json::json;

use super::place::{Place, start};
use crate::test_server::eventually;

async fn authors(place: &Place, kind: EntryKind, key: &str) -> Vec<(u64, String, bool)> {
    let history = place.served.store.history().unwrap();
    let versions = history
        .versions(kind, &EntryKey::new(key), None, 100)
        .await
        .unwrap();
    let told = versions.into_iter().rev();
    told.map(|version| (version.number, version.author.to_string(), version.removed))
        .collect()
}

#[tokio::test]
async fn what_is_there_and_what_is_written_later_are_versions_by_the_store() {
    let place = start(&[]).await;
    let by_store = |number: u64, removed: bool| (number, "store".to_owned(), removed);
    for (kind, key) in [
        (EntryKind::Prompt, "greet:hello"),
        (EntryKind::Tool, "greet:look"),
        (EntryKind::Extension, "greet:ext"),
        (EntryKind::Agent, "greet:helper"),
    ] {
        eventually(key, async || {
            authors(&place, kind, key).await == [by_store(1, false)]
        })
        .await;
    }
    let store = &place.served.store;
    let key = EntryKey::new("greet:hello");
    let raw = r#"{"userPrompt":"Written by hand"}"#;
    store.put(EntryKind::Prompt, &key, raw).await.unwrap();
    let two = [by_store(1, false), by_store(2, false)];
    eventually("a second version", async || {
        authors(&place, EntryKind::Prompt, "greet:hello").await == two
    })
    .await;
    // An identical write creates no version, and a write over HTTP is recorded only once, with its
    // author.
    store.put(EntryKind::Prompt, &key, raw).await.unwrap();
    let body = json!({"userPrompt": "Over HTTP"}).to_string();
    let path = "/api/v1/prompts/greet.hello";
    let written = place.ok("", "PUT", path, &body).await;
    assert_eq!(written["version"], 3);
    store.remove(EntryKind::Prompt, &key).await.unwrap();
    let four = [
        two[0].clone(),
        two[1].clone(),
        (3, "anonymous".to_owned(), false),
        by_store(4, true),
    ];
    eventually("a removal", async || {
        authors(&place, EntryKind::Prompt, "greet:hello").await == four
    })
    .await;
    // Labels and shared variables have no versions.
    assert_eq!(authors(&place, EntryKind::Environ, "greet:lang").await, []);
}

#[tokio::test]
async fn many_writes_at_once_are_all_seen() {
    let place = start(&[]).await;
    for number in 0..500 {
        let key = EntryKey::new(format!("many:p{number}"));
        let text = format!(r#"{{"userPrompt":"{number}"}}"#);
        place
            .served
            .store
            .put(EntryKind::Prompt, &key, &text)
            .await
            .unwrap();
    }
    for number in [0, 250, 499] {
        let key = format!("many:p{number}");
        eventually(&key, async || {
            authors(&place, EntryKind::Prompt, &key).await.len() == 1
        })
        .await;
    }
}
