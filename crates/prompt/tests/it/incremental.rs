//! Changing one entry costs one entry, and gives the same snapshot as a full load.

use std::fmt::Write;
use std::sync::Arc;

use proptest::prelude::*;
use quillet_core::store::EntryKind::{Extension, Prompt, Tool};
use quillet_core::store::{EntryKey, EntryKind, Store};
use quillet_prompt::{CatalogueSnapshot, Definition, DefinitionState, PromptEntry};
use quillet_test_support::TestStore;

use crate::{loaded, service_over};

/// Describes everything that is visible in a snapshot.
fn shown(snapshot: &CatalogueSnapshot) -> String {
    let mut out = String::new();
    for extension in snapshot.extensions.values() {
        line(&mut out, "extension", extension);
    }
    for prompt in snapshot.prompts.values() {
        line(&mut out, "prompt", prompt);
        calls(&mut out, prompt);
    }
    for tool in snapshot.tools.values() {
        line(&mut out, "tool", tool);
    }
    for (name, tool) in snapshot.functions.iter() {
        let spec = tool.spec();
        writeln!(out, "function {name}: {} {:?}", spec.name, spec.default).unwrap();
    }
    out
}

fn line<T>(out: &mut String, kind: &str, it: &Definition<T>) {
    let (id, status, origin, text) = (&it.id, it.status(), &it.origin, &it.text);
    let revision = it.revision;
    let found = &it.diagnostics;
    writeln!(
        out,
        "{kind} {id} {status} {origin} {revision} {text} {found:?}"
    )
    .unwrap();
}

fn calls(out: &mut String, prompt: &Definition<PromptEntry>) {
    if let DefinitionState::Valid(entry) = &prompt.state {
        let called: Vec<_> = entry.called().collect();
        let owners: Vec<_> = called.iter().map(|(name, _)| entry.owner(name)).collect();
        writeln!(out, "  {:?} {called:?} {owners:?}", entry.origin).unwrap();
    }
}

/// A few keys, some of which map to the same id or function name.
fn key() -> impl Strategy<Value = &'static str> {
    let names = [
        "a", "b", "A", "x:a", "x:b", "x.a", "x:_p", "x:_q", "x:y:_p", "x:y:c", "_p", "x_a", "X:a",
    ];
    prop::sample::select(names.to_vec())
}

/// Valid and invalid definitions, and definitions that call each other.
fn text(kind: EntryKind) -> BoxedStrategy<String> {
    let texts: Vec<&'static str> = match kind {
        Prompt => vec![
            r#"{"prompt":"plain"}"#,
            r#"{"prompt":"plain {{.args.x}}","parameters":[{"name":"x","default":1}]}"#,
            r#"{"prompt":"{{template \"x.a\" .}}"}"#,
            r#"{"prompt":"{{template \"b\" .}}{{template \"e.one\" .}}"}"#,
            r#"{"prompt":"{{template \"_p\" .}}"}"#,
            r#"{"prompt":"{{template \"x.y.c\" .}}{{define \"inner\"}}i{{end}}"}"#,
            r#"{"prompt":"{{if"}"#,
            r#"{"format":"jinja","prompt":"{% include 'x.a' %}{{ y }}"}"#,
            r#"{"format":"handlebars","prompt":"{{> x.b}}{{> _q}}"}"#,
            r#"{"format":"dotprompt","prompt":"{{> p}}{{> a}}"}"#,
            r#"{"format":"mustache","prompt":"{{> a}}"}"#,
            r#"{"messages":[{"role":"user","content":"{{template \"a\" .}}"},{"role":"system","content":"s"}]}"#,
            r#"{"name":"neither"}"#,
            "no json",
        ],
        Extension => vec![
            r#"{"name":"e","contributes":{"prompts":[{"name":"one","prompt":"1"},{"name":"two","prompt":"{{template \"a\" .}}"}]}}"#,
            r#"{"name":"x","contributes":{"prompts":[{"name":"a","prompt":"of the extension"},{"name":"_p","prompt":"partial"},{"name":"a","prompt":"again"}]}}"#,
            r#"{"name":"e","contributes":{"prompts":[{"name":"one","prompt":"{{if"},{"name":"three"}]}}"#,
            r#"{"name":""}"#,
            "[]",
        ],
        _ => vec![
            r#"{"default":1}"#,
            r#"{"default":2}"#,
            "{",
            r#"{"parameters":{}}"#,
        ],
    };
    prop::sample::select(texts).prop_map(str::to_owned).boxed()
}

fn step() -> impl Strategy<Value = (EntryKind, &'static str, Option<String>)> {
    let kind = prop_oneof![6 => Just(Prompt), 2 => Just(Extension), 2 => Just(Tool)];
    kind.prop_flat_map(|kind| (Just(kind), key(), prop::option::weighted(0.75, text(kind))))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn after_any_changes_it_is_as_if_loaded_anew(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = TestStore::new(&[]);
            let service = Arc::new(loaded(&store).await);
            let watched = service.clone();
            let watch = tokio::spawn(async move { watched.watch().await });
            tokio::task::yield_now().await;
            for (number, (kind, key, text)) in steps.iter().enumerate() {
                let key = EntryKey::new(*key);
                match text {
                    Some(text) => store.put(*kind, &key, text).await.unwrap(),
                    None => drop(store.remove(*kind, &key).await.unwrap()),
                }
                // Some changes are applied separately, and others together.
                if number % 3 != 0 && number + 1 != steps.len() {
                    continue;
                }
                service.catalogue().sync().await.unwrap();
                let anew = loaded(&store).await;
                let (is, should) = (service.catalogue().snapshot(), anew.catalogue().snapshot());
                assert_eq!(shown(&is), shown(&should));
            }
            watch.abort();
        });
    }
}

/// Measures the cost of a change: keys read, and compilations with and without a cache hit.
async fn cost(count: usize, kind: EntryKind, key: &str, text: Option<&str>) -> (usize, usize, u64) {
    let keys: Vec<String> = (0..count).map(|n| format!("m{}:p{n}", n % 7)).collect();
    let prompt = r#"{"prompt":"plain {{.args.x}}","parameters":[{"name":"x"}]}"#;
    let mut entries: Vec<_> = keys
        .iter()
        .map(|key| (Prompt, key.as_str(), prompt))
        .collect();
    entries.extend([
        (Prompt, "base", r#"{"prompt":"base"}"#),
        (Prompt, "caller", r#"{"prompt":"{{template \"base\" .}}"}"#),
        (Tool, "t", "{}"),
        (
            Extension,
            "e",
            r#"{"name":"e","contributes":{"prompts":[{"name":"one","prompt":"1"}]}}"#,
        ),
    ]);
    let store = TestStore::new(&entries);
    let service = Arc::new(service_over(&store));
    service.load().await.unwrap();
    let watched = service.clone();
    let watch = tokio::spawn(async move { watched.watch().await });
    tokio::task::yield_now().await;
    service.catalogue().sync().await.unwrap();
    store.take_gets();
    assert_eq!(
        store.take_loads(),
        4,
        "each kind once, whoever loads and whoever follows"
    );
    let compiled = |service: &quillet_prompt::PromptService| {
        let counts = service.counts();
        counts.template_hits + counts.template_misses
    };
    let before = compiled(&service);
    let key = EntryKey::new(key);
    match text {
        Some(text) => store.put(kind, &key, text).await.unwrap(),
        None => drop(store.remove(kind, &key).await.unwrap()),
    }
    service.catalogue().sync().await.unwrap();
    watch.abort();
    let (_, read) = store.take_gets();
    (store.take_loads(), read.len(), compiled(&service) - before)
}

#[tokio::test]
async fn what_a_change_costs_does_not_grow_with_the_store() {
    let changes = [
        (Prompt, "m1:p1", Some(r#"{"prompt":"other"}"#)),
        (Prompt, "m1:new", Some(r#"{"prompt":"new"}"#)),
        (Prompt, "m1:p1", Some("broken")),
        (Prompt, "m1:p1", None),
        (Prompt, "base", Some(r#"{"prompt":"another base"}"#)),
        (Tool, "t", Some(r#"{"default":1}"#)),
        (Tool, "t", None),
        (
            Extension,
            "e",
            Some(r#"{"name":"e","contributes":{"prompts":[{"name":"two","prompt":"2"}]}}"#),
        ),
        (Extension, "e", None),
    ];
    for (kind, key, text) in changes {
        let few = cost(20, kind, key, text).await;
        let many = cost(2_000, kind, key, text).await;
        assert_eq!(few, many, "{kind:?} {key} {text:?}");
        let (loads, read, compiled) = many;
        assert_eq!((loads, read), (0, 1), "{kind:?} {key} {text:?}");
        assert!(compiled <= 4, "{kind:?} {key} {text:?}: {compiled}");
    }
}
