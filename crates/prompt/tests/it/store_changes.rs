//! Fetching and caching of definitions and variables, and the effects of store changes.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::Map;
use quillet_core::store::EntryKind::{Environ, Prompt, Tool};
use quillet_core::store::{EntryKey, EntryKind, Store};
use quillet_prompt::{PromptService, RenderInput, RenderedPrompt};
use quillet_test_support::TestStore;
use tokio::time::{Instant, advance};

use crate::{loaded, render, service_over};

/// Renders until the result is this text, for at most a minute.
async fn until(service: &PromptService, id: &str, expected: &str) {
    let mut last = None;
    for _ in 0..12_000 {
        let got = render(service, id, "{}").await;
        if got.as_deref().is_ok_and(|text| text == expected) {
            return;
        }
        last = Some(got);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{id} never gave {expected:?}, but {last:?}");
}

async fn put(store: &Arc<TestStore>, kind: EntryKind, key: &str, text: &str) {
    store.put(kind, &EntryKey::new(key), text).await.unwrap();
}

#[tokio::test]
async fn only_referenced_variables_are_fetched_in_one_round_trip() {
    let many: Vec<String> = (0..1000).map(|n| format!("m:k{n}")).collect();
    let mut entries: Vec<(EntryKind, &str, &str)> = many
        .iter()
        .map(|key| (Environ, key.as_str(), "1"))
        .collect();
    entries.push((
        Prompt,
        "p",
        r#"{"prompt":"{{.m.k1}}{{.m.k2}}{{if .variables.x}}{{.m.k3}}{{end}}"}"#,
    ));
    entries.push((Prompt, "all", r#"{"prompt":"{{len .m}}"}"#));
    let store = TestStore::new(&entries);
    let service = loaded(&store).await;
    let args = r#"{"x":false}"#;
    assert_eq!(render(&service, "p", args).await.unwrap(), "11");
    assert_eq!(
        store.take_gets(),
        (1, vec!["m:k1".into(), "m:k2".into(), "m:k3".into()])
    );
    assert_eq!(render(&service, "p", args).await.unwrap(), "11");
    assert_eq!(store.take_gets(), (0, vec![]), "kept");
    assert_eq!(render(&service, "all", args).await.unwrap(), "1000");
    assert_eq!(
        store.take_gets().0,
        1,
        "a whole subtree is one round trip too"
    );
}

#[tokio::test(start_paused = true)]
async fn values_are_kept_for_five_seconds_at_most() {
    let store = TestStore::new(&[(Environ, "v", "1"), (Prompt, "p", r#"{"prompt":"{{.v}}"}"#)]);
    let service = loaded(&store).await;
    assert_eq!(render(&service, "p", "{}").await.unwrap(), "1");
    store.take_gets();
    // No watcher runs here, so only the cache expiry can reveal the change.
    put(&store, Environ, "v", "2").await;
    tokio::time::advance(Duration::from_millis(4900)).await;
    assert_eq!(render(&service, "p", "{}").await.unwrap(), "1");
    tokio::time::advance(Duration::from_millis(200)).await;
    assert_eq!(render(&service, "p", "{}").await.unwrap(), "2");
    assert_eq!(store.take_gets().0, 1);
}

#[tokio::test]
async fn changes_show_by_themselves() {
    let store = TestStore::new(&[(Environ, "v", "1"), (Prompt, "p", r#"{"prompt":"{{.v}}"}"#)]);
    let service = Arc::new(service_over(&store));
    let watched = service.clone();
    let watch = tokio::spawn(async move { watched.watch().await });
    until(&service, "p", "1").await;
    put(&store, Environ, "v", "2").await;
    until(&service, "p", "2").await;
    put(&store, Prompt, "p", r#"{"prompt":"new {{.w}} {{t 1}}"}"#).await;
    put(&store, Environ, "w", "3").await;
    // The tool is added after the template that calls it.
    put(
        &store,
        Tool,
        "t",
        r#"{"parameters":{"properties":{"a":{}}}}"#,
    )
    .await;
    until(&service, "p", r#"new 3 t{"a":1}"#).await;
    store.remove(Prompt, &EntryKey::new("p")).await.unwrap();
    while render(&service, "p", "{}").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(service.catalogue().snapshot().prompts.is_empty());
    watch.abort();
}

#[tokio::test]
async fn a_store_that_is_away_is_served_from_what_is_known() {
    let store = TestStore::new(&[
        (Environ, "v", "1"),
        (Environ, "w", "1"),
        (Prompt, "p", r#"{"prompt":"{{.v}}"}"#),
        (Prompt, "q", r#"{"prompt":"{{.w}}"}"#),
    ]);
    let service = loaded(&store).await;
    assert_eq!(render(&service, "p", "{}").await.unwrap(), "1");
    store.set_away(true);
    assert_eq!(render(&service, "p", "{}").await.unwrap(), "1");
    let error = render(&service, "q", "{}").await.unwrap_err();
    assert_eq!(error.code(), "store.unavailable");
    store.set_away(false);
    assert_eq!(render(&service, "q", "{}").await.unwrap(), "1");
}

#[tokio::test]
async fn a_store_that_is_away_at_the_start_is_loaded_when_it_comes_back() {
    let store = TestStore::new(&[(Prompt, "p", r#"{"prompt":"here"}"#)]);
    store.set_away(true);
    let service = Arc::new(service_over(&store));
    assert!(service.load().await.is_err());
    assert_eq!(
        render(&service, "p", "{}").await.unwrap_err().code(),
        "store.unavailable"
    );
    let watched = service.clone();
    let watch = tokio::spawn(async move { watched.watch().await });
    store.set_away(false);
    until(&service, "p", "here").await;
    watch.abort();
}

/// Returns the text, and whether it is marked as stale.
async fn marked(service: &PromptService, id: &str) -> (String, bool) {
    let variables = Map::default();
    let outcome = service
        .render(id, &RenderInput::new(&variables, "test"))
        .await
        .unwrap();
    match outcome.prompt {
        RenderedPrompt::Text(text) => (text, outcome.stale),
        RenderedPrompt::Messages(_) => panic!("it is a text"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_waited_for_once_and_asked_by_one() {
    let store = TestStore::new(&[
        (Environ, "v", "1"),
        (Environ, "w", "1"),
        (Prompt, "p", r#"{"prompt":"{{.v}}"}"#),
        (Prompt, "q", r#"{"prompt":"{{.w}}"}"#),
    ]);
    let service = loaded(&store).await;
    assert_eq!(marked(&service, "p").await, ("1".into(), false));
    store.take_gets();
    store.set_hung(true);
    advance(Duration::from_secs(6)).await;

    let began = Instant::now();
    assert_eq!(marked(&service, "p").await, ("1".into(), true));
    let first = began.elapsed();
    assert!((50..=100).contains(&first.as_millis()), "{first:?}");
    for _ in 0..10 {
        // Stale values are checked again after a short time.
        advance(Duration::from_millis(300)).await;
        let began = Instant::now();
        assert_eq!(marked(&service, "p").await, ("1".into(), true));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
    assert_eq!(store.take_gets().0, 1, "one question is on its way");
    // Without a cached value, the render fails within its time limit.
    let began = Instant::now();
    let error = render(&service, "q", "{}").await.unwrap_err();
    assert_eq!(error.code(), "store.unavailable");
    assert!(began.elapsed() <= Duration::from_millis(501));

    // After a cancelled fetch, a single new one starts.
    store.take_gets();
    advance(Duration::from_secs(6)).await;
    for _ in 0..5 {
        tokio::task::yield_now().await;
        advance(Duration::from_millis(300)).await;
        assert_eq!(marked(&service, "p").await, ("1".into(), true));
    }
    assert_eq!(store.take_gets().0, 1);

    store.set_hung(false);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    advance(Duration::from_secs(6)).await;
    put(&store, Environ, "v", "2").await;
    assert_eq!(marked(&service, "p").await, ("2".into(), false));
}

#[tokio::test]
async fn what_is_served_from_the_cache_of_a_store_that_is_away_is_marked_at_once() {
    let store = TestStore::new(&[
        (Environ, "v", "1"),
        (Prompt, "p", r#"{"prompt":"{{.v}}"}"#),
        (Prompt, "plain", r#"{"prompt":"no variable"}"#),
    ]);
    let service = loaded(&store).await;
    assert_eq!(marked(&service, "p").await, ("1".into(), false));
    store.set_away(true);
    assert_eq!(marked(&service, "p").await, ("1".into(), true));
    assert_eq!(
        marked(&service, "plain").await,
        ("no variable".into(), false)
    );
    store.set_away(false);
    assert_eq!(marked(&service, "p").await, ("1".into(), false));
}
